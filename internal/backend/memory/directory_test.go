//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/testscale"
)

// inDirectory is a program whose memory consists of files.
func inDirectory(dir string) childOptions {
	return childOptions{role: "program", env: []string{envDir + "=" + dir}}
}

// filesIn returns the names of the files in a directory.
func filesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestDirectory: files in a directory serve tools as memory does, are the user's alone, and go with the program's last event.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	program, tool := startReady(t, inDirectory(dir)), startReady(t, childOptions{role: "tool"})
	mustServe(t, tool, program)
	list := filesIn(t, dir)
	require.Len(t, list, 2)
	for i, name := range []string{layout.ControlName, layout.DataName} {
		assert.True(t, strings.HasPrefix(list[i], name+"-"), list[i])
		st, err := os.Stat(filepath.Join(dir, list[i]))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), st.Mode())
	}
	require.Equal(t, "closed", program.asked("close"))
	assert.Empty(t, filesIn(t, dir))
	program.end()
	tool.end()
}

// TestDeadFiles: a program removes the files of those that were killed, and of no others.
func TestDeadFiles(t *testing.T) {
	dir := t.TempDir()
	living, killed := startReady(t, inDirectory(dir)), startReady(t, inDirectory(dir))
	require.Len(t, filesIn(t, dir), 4)
	require.NoError(t, killed.cmd.Process.Kill())
	_ = killed.cmd.Wait()
	foreign := filepath.Join(dir, layout.DataName+"-pipe")
	require.NoError(t, syscall.Mkfifo(foreign, 0o200)) // opening it would wait
	require.NoError(t, os.Symlink(self, filepath.Join(dir, layout.DataName+"-link")))

	other := startReady(t, inDirectory(dir))
	tool := startReady(t, childOptions{role: "tool"})
	for _, program := range []*child{living, other} {
		mustServe(t, tool, program)
	}
	after := filesIn(t, dir)
	assert.Len(t, after, 6, "of two programs, and two that are no files")
	ofKilled := fmt.Sprintf("-%d-", killed.pid)
	for _, name := range after {
		assert.NotContains(t, name, ofKilled)
	}
	living.end()
	other.end()
	tool.end()
}

// TestCutOff: a file that another program of the user cuts off costs the events, and not the program.
func TestCutOff(t *testing.T) {
	for _, size := range []int{0, 4096, layout.FileSize / 2} {
		dir := t.TempDir()
		program, tool := startReady(t, inDirectory(dir)), startReady(t, childOptions{role: "tool"})
		mustServe(t, tool, program)
		require.Equal(t, "attached", tool.asked("attach %d 65536", program.pid))
		data, err := filepath.Glob(filepath.Join(dir, layout.DataName+"-*"))
		require.NoError(t, err)
		require.Len(t, data, 1)
		if size < layout.DataSize {
			require.NoError(t, os.Truncate(data[0], int64(size)))
			assert.Contains(t, program.asked("fail"), "was cut off")
		} else {
			require.NoError(t, os.Truncate(data[0], int64(size))) // behind the rings of the tool
			require.Equal(t, "wrote", program.asked("write 10 12"))
		}
		require.Equal(t, "closed", program.asked("close"))
		program.end()
		assert.Empty(t, filesIn(t, dir))
	}
}

// TestFullDisk: a program goes on where its disk has no room for the files, or for what is written to them.
func TestFullDisk(t *testing.T) {
	asRoot(t)
	for _, c := range []struct{ size, says string }{
		{"64k", "refused: shared memory: write: no space left on device"},
		{"132k", "refused: shared memory: write: no space left on device"}, // for the control file alone
		{"140k", "refused: "}, // for the events, too
		{"400k", "ready"},
	} {
		t.Run(c.size, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+c.size))
			t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
			program := startChild(t, inDirectory(dir))
			said := program.says()
			t.Log(said)
			require.Contains(t, said, c.says)
			if c.says != "ready" {
				program.end()
				return
			}
			assert.Contains(t, program.asked("fail 524288"), "its disk is full")
			require.Equal(t, "closed", program.asked("close"))
			program.end()
		})
	}
}

// TestUsersDirectory: without memory, a program takes the user's directory, if it is that of no other.
func TestUsersDirectory(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", temp)
	dir, err := directory()
	require.NoError(t, err)
	assert.Regexp(t, temp+"/userevents-[0-9]+$", dir)
	again, err := directory()
	require.NoError(t, err)
	assert.Equal(t, dir, again)

	require.NoError(t, os.Chmod(dir, 0o722))
	_, err = directory()
	require.ErrorContains(t, err, "is not a directory that only this user can write to")
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Symlink(temp, dir))
	_, err = directory()
	require.ErrorIs(t, err, os.ErrPermission)

	t.Setenv("XDG_RUNTIME_DIR", temp)
	dir, err = directory()
	require.NoError(t, err)
	assert.Equal(t, temp+"/userevents", dir)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(dir, 1000, 1000))
		_, err = directory()
		require.ErrorIs(t, err, os.ErrPermission)
	}
	t.Setenv("XDG_RUNTIME_DIR", temp+"/none")
	_, err = directory()
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestSeals: a seal that the kernel does not enforce, as in gVisor, counts as none.
func TestSeals(t *testing.T) {
	testscale.HostOnly(t)
	p := openSubject(t)
	sealed := p.f.(*file).p.files
	assert.Zero(t, sealed.data.Unsealed)
	p.close(t)

	program := startReady(t, inDirectory(t.TempDir()))
	assert.Equal(t, "unsealed 1", program.asked("sealed"))
	program.end()
}
