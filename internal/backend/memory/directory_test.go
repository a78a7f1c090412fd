//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/words"
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
	require.NoError(t, os.Mkdir(filepath.Join(dir, layout.DataName+"-directory"), 0o700))
	list, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%s-%d-*", layout.DataName, living.pid)))
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, os.Link(list[0], filepath.Join(dir, layout.DataName+"-hard")))

	other := startReady(t, inDirectory(dir))
	tool := startReady(t, childOptions{role: "tool"})
	for _, program := range []*child{living, other} {
		mustServe(t, tool, program)
	}
	after := filesIn(t, dir)
	assert.Len(t, after, 8, "of two programs, three that are no files, and another name of a file in use")
	ofKilled := fmt.Sprintf("-%d-", killed.pid)
	for _, name := range after {
		assert.NotContains(t, name, ofKilled)
	}
	living.end()
	other.end()
	tool.end()
}

// TestDirectoryNames: the name of the directory can have any characters.
func TestDirectoryNames(t *testing.T) {
	tool := startReady(t, childOptions{role: "tool"})
	for _, name := range []string{"two words", `[a-z]*?\`, "line\nbreak", "memory (deleted)", layout.DataName + "-1"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.Mkdir(dir, 0o700))
			killed := startReady(t, inDirectory(dir))
			require.NoError(t, killed.cmd.Process.Kill())
			_ = killed.cmd.Wait()
			program := startReady(t, inDirectory(dir))
			assert.Len(t, filesIn(t, dir), 2)
			mustServe(t, tool, program)
			require.Equal(t, "closed", program.asked("close"))
			assert.Empty(t, filesIn(t, dir))
			program.end()
		})
	}
	tool.end()
}

// TestRelativeDirectory: a program removes its files also when it has changed its working directory.
func TestRelativeDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	program := startReady(t, inDirectory("."))
	require.Len(t, filesIn(t, dir), 2)
	require.Equal(t, "changed", program.asked("chdir /"))
	require.Equal(t, "closed", program.asked("close"))
	assert.Empty(t, filesIn(t, dir))
	program.end()
}

// TestUnusableDirectory: Open says that no files can be made in a directory.
func TestUnusableDirectory(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(self)
	require.ErrorIs(t, err, syscall.ENOTDIR)
	asRoot(t)
	o := inDirectory(t.TempDir()) // of another user
	o.setup = "uid=1000"
	program := startChild(t, o)
	assert.Contains(t, program.says(), "permission denied")
}

// TestRemovedFiles: files whose names were removed, as programs that clean directories do, serve tools on.
func TestRemovedFiles(t *testing.T) {
	dir := t.TempDir()
	program, tool := startReady(t, inDirectory(dir)), startReady(t, childOptions{role: "tool"})
	for _, name := range filesIn(t, dir) {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	mustServe(t, tool, program)
	require.Equal(t, "closed", program.asked("close"))
	program.end()
	tool.end()
}

// TestManyInDirectory: programs that share a directory are killed at any moment. None loses a file, and those of the dead go.
func TestManyInDirectory(t *testing.T) {
	const atOnce = 10
	dir := t.TempDir()
	o := inDirectory(dir)
	o.role = "comes and goes"
	for range testscale.Count(200, 50) / atOnce {
		var programs []*child
		for range atOnce {
			programs = append(programs, startChild(t, o))
		}
		for _, p := range programs {
			if rand.IntN(4) != 0 { // else it may be starting
				p.ready()
				sys.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			}
			require.NoError(t, p.cmd.Process.Kill())
			var exit *exec.ExitError
			require.ErrorAs(t, p.cmd.Wait(), &exit)
			require.True(t, exit.Sys().(syscall.WaitStatus).Signaled(), exit)
		}
	}
	last := startReady(t, inDirectory(dir))
	assert.Len(t, filesIn(t, dir), 2)
	require.Equal(t, "closed", last.asked("close"))
	assert.Empty(t, filesIn(t, dir))
	last.end()
}

// TestLargeRings: a tool gets large rings in files, whether these are in memory or on a disk.
func TestLargeRings(t *testing.T) {
	program, tool := startReady(t, inDirectory(t.TempDir())), startReady(t, childOptions{role: "tool"})
	require.Equal(t, "attached", tool.asked("attach %d %d", program.pid, 4<<20))
	require.Equal(t, "wrote", program.asked("write 10 12"))
	require.Equal(t, "read 10 lost 0", tool.asked("read 10"))
	program.end()
	tool.end()
}

// TestSecondDirectory: a process has one memory. A file that does not expect it to be one in a directory is refused.
func TestSecondDirectory(t *testing.T) {
	t.Setenv(envDir, t.TempDir())
	memory, err := Open("")
	require.NoError(t, err)
	first := openSubject(t)
	_, err = memory.NewWord()
	require.ErrorIs(t, err, syscall.EBUSY)
	t.Setenv(envDir, t.TempDir())
	second := &subject{}
	second.f, err = Open(os.Getenv(envDir))
	require.NoError(t, err)
	require.NoError(t, second.another("ue_other"))
	assert.Empty(t, filesIn(t, os.Getenv(envDir)))
	require.NoError(t, second.f.Close())
	first.close(t)
	require.NoError(t, (&subject{f: memory}).another("ue_other"))
	require.NoError(t, memory.Close())
}

// TestCutOffThen: whatever a program does next with a file that was cut off, it goes on, its files go, and new ones work.
func TestCutOffThen(t *testing.T) {
	for name, then := range map[string]func(*subject){
		"close": func(*subject) {},
		"word": func(p *subject) {
			word, err := p.f.NewWord()
			require.NoError(t, err)
			p.f.FreeWord(word)
		},
		"register": func(p *subject) {
			for range 3 {
				require.ErrorContains(t, p.another("ue_other"), "was cut off")
			}
		},
		"register the same": func(p *subject) {
			require.NoError(t, p.f.Unregister(p.word, 0))
			_, err := p.f.Register(backend.Request{Command: "ue_env u64 n", Word: p.word})
			require.ErrorContains(t, err, "was cut off")
			_, err = p.f.Register(backend.Request{Command: "ue_env u64 n", Word: p.word})
			require.ErrorContains(t, err, "was cut off", "the bit is free")
			f, err := Open(os.Getenv(envDir))
			require.NoError(t, err)
			require.ErrorContains(t, (&subject{f: f}).another("ue_other"), "was cut off")
			require.NoError(t, f.Close())
			_, err = p.f.Register(backend.Request{Command: "ue_env u64 n", Word: p.word})
			require.ErrorContains(t, err, "was cut off")
			p.word, err = p.f.NewWord()
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(envDir, dir)
			p := openSubject(t)
			require.NoError(t, os.Truncate(process().files.paths[0], 0))
			then(p)
			_ = p.f.Unregister(p.word, 0) // if it is registered
			p.f.FreeWord(p.word)
			if name == "register the same" {
				p.f.FreeWord(process().files.word(0))
			}
			require.NoError(t, p.f.Close())
			require.Nil(t, process().files)
			require.Empty(t, filesIn(t, dir))

			p = openSubject(t)
			s := attached(t, attach.Options{})
			p.write(3, 12)
			assert.Len(t, s.Read(), 3)
			p.close(t)
		})
	}
}

// TestCutOffBusy: many goroutines find at once that a file was cut off. The next memory works.
func TestCutOffBusy(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it touches memory in C, where Go cannot recover from a fault")
	}
	dir := t.TempDir()
	program, tool := startReady(t, inDirectory(dir)), startReady(t, childOptions{role: "tool"})
	for range testscale.CountConcurrent(20, 5) {
		require.Equal(t, "attached", tool.asked("attach %d 65536", program.pid))
		require.Equal(t, "busy", program.asked("busy"))
		sys.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		data, err := filepath.Glob(filepath.Join(dir, layout.DataName+"-*"))
		require.NoError(t, err)
		require.Len(t, data, 1)
		require.NoError(t, os.Truncate(data[0], rand.Int64N(0x112000)))
		require.Equal(t, "enabled=false", program.says())
		require.Equal(t, "closed", program.asked("close"))
		require.Empty(t, filesIn(t, dir))
		require.Equal(t, "opened", program.asked("open"))
		_ = tool.cmd.Process.Kill() // it may not touch what was cut off
		tool = startReady(t, childOptions{role: "tool"})
		mustServe(t, tool, program)
	}
	program.end()
	tool.end()
}

// TestScribbledFiles: another program of the user writes anything into the files, which no seal prevents.
func TestScribbledFiles(t *testing.T) {
	dir := t.TempDir()
	program, tool := startReady(t, inDirectory(dir)), startReady(t, childOptions{role: "tool"})
	require.Equal(t, "attached", tool.asked("attach %d 65536", program.pid))
	var pages [][]byte
	for _, name := range filesIn(t, dir) {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
		require.NoError(t, err)
		size := layout.ControlSize
		if strings.HasPrefix(name, layout.DataName) {
			size = layout.RingsOffset(0) + layout.RingsStart + 65536
		}
		page, err := sys.MapWritable(int(file.Fd()), size)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		t.Cleanup(func() { require.NoError(t, sys.UnmapBytes(page)) })
		pages = append(pages, page)
	}
	var begun, churned atomic.Bool
	var scribbler sync.WaitGroup
	scribbler.Go(func() {
		rng := rand.New(rand.NewPCG(1, 2))
		for !churned.Load() {
			for _, page := range pages {
				for range 4096 {
					words.At(page, rng.IntN(len(page)/8)*8).Store(uintptr(rng.Uint64() >> rng.IntN(64)))
				}
			}
			words.At(pages[1], 16).Store(uintptr(rng.Uint64())) // events in the registry, words in use
			begun.Store(true)
		}
	})
	defer scribbler.Wait() // before the pages are unmapped
	defer churned.Store(true)
	testscale.Eventually(t, begun.Load, "it does not begin")
	said := program.asked("churn 2000")
	churned.Store(true)
	scribbler.Wait()
	require.Equal(t, "churned", said)
	require.Equal(t, "closed", program.asked("close"))
	program.end()
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
	t.Setenv("XDG_RUNTIME_DIR", temp+"/none")
	_, err = directory()
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestDirectoryOfAnotherUser: a program does not take it.
func TestDirectoryOfAnotherUser(t *testing.T) {
	testscale.NeedRoot(t, "to change the owner of a directory")
	temp := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", temp)
	dir, err := directory()
	require.NoError(t, err)
	require.NoError(t, os.Chown(dir, 1000, 1000))
	_, err = directory()
	require.ErrorIs(t, err, os.ErrPermission)
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
