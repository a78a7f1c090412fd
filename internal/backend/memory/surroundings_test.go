//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/testscale"
)

// asRoot skips a test of other users, namespaces and control groups where it cannot have them.
func asRoot(t *testing.T) {
	t.Helper()
	testscale.NeedRoot(t, "to run children as other users and in namespaces")
}

// mustServe attaches a tool, which gets the records of a program.
func mustServe(t *testing.T, tool, program *child) {
	t.Helper()
	require.Equal(t, "attached", tool.asked("attach %d 65536", program.pid))
	require.Equal(t, "wrote", program.asked("write 10 12"))
	require.Equal(t, "read 10 lost 0", tool.asked("read 10"))
	require.Equal(t, "detached", tool.asked("detach"))
}

// TestNoGoroutine: a program has no goroutine and no thread of the transport, also while a tool is attached.
func TestNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	p := openSubject(t)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "registered")
	a, err := attach.Open(os.Getpid())
	require.NoError(t, err)
	s, err := a.Attach(attach.Options{Patterns: []string{"ue_env"}})
	require.NoError(t, err)
	p.write(10, 12)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "with a tool")
	assert.Len(t, s.Read(), 10)
	require.NoError(t, errors.Join(s.Detach(), a.Close()))
	p.close(t)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "closed")
}

// TestReadOnlyRoot: a program needs no directory that it can write to, no /proc and no /dev.
func TestReadOnlyRoot(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "program", setup: "root", attr: &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}})
	tool := startReady(t, childOptions{role: "tool"})
	mustServe(t, tool, program)
	require.Equal(t, "closed", program.asked("close"))
	program.end()
	tool.end()
}

// TestLimits: a limit that leaves no room for the memory is an error that names it, and the program goes on.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ setup, says string }{
		{"fsize=0", "RLIMIT_FSIZE"},
		{"fsize=1000000", "RLIMIT_FSIZE"},
		{"fsize=" + strconv.Itoa(layout.FileSize-1), "RLIMIT_FSIZE"},
		{"fsize=" + strconv.Itoa(layout.FileSize), ""},
		{"space=100000000", "RLIMIT_AS"},
		{"space=" + strconv.Itoa(layout.FileSize-1<<20), "RLIMIT_AS"},
		{"nofile=3", "too many open files"},
	} {
		t.Run(c.setup, func(t *testing.T) {
			program := startChild(t, childOptions{role: "program", setup: c.setup})
			said := program.says()
			if c.says == "" {
				assert.Contains(t, said, "ready")
			} else {
				assert.Contains(t, said, "refused: ")
				assert.Contains(t, said, c.says)
				t.Log(said)
			}
			program.end()
		})
	}
}

// TestLimitLowered: a limit that a program lowers between Open and its first event gives an error too, and leaves nothing behind.
func TestLimitLowered(t *testing.T) {
	for _, c := range []struct{ setup, says string }{
		{"fsize=0", "RLIMIT_FSIZE"},
		{"space=100000000", "RLIMIT_AS"},
		{"nofile=4", "too many open files"}, // for one of the files
	} {
		t.Run(c.setup, func(t *testing.T) {
			program := startChild(t, childOptions{role: "lowered", env: []string{envLowered + "=" + c.setup}})
			said := program.says()
			assert.Contains(t, said, "refused: ")
			assert.Contains(t, said, c.says)
			t.Log(said)
			assert.NotContains(t, program.says(), "memfd", "left behind")
			program.end()
		})
	}
}

// TestBrief: programs that end at once are no trouble for themselves nor for a tool that looks at them at any moment.
func TestBrief(t *testing.T) {
	attached := 0
	for range testscale.Count(50, 10) {
		program := startChild(t, childOptions{role: "brief"})
		done := make(chan error)
		go func() { done <- program.cmd.Wait() }()
		for ended := false; !ended; {
			select {
			case err := <-done:
				require.NoError(t, err)
				ended = true
			default:
				p, err := attach.Open(program.pid)
				if err != nil {
					continue // nothing there yet, or no longer
				}
				s, err := p.Attach(attach.Options{Patterns: []string{"ue_env"}, RingSize: layout.MinRing})
				require.NoError(t, err)
				attached++
				s.Read()
				require.NoError(t, errors.Join(s.Detach(), p.Close()))
			}
		}
		_, err := attach.Open(program.pid)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	t.Logf("attached %d times", attached)
}

// TestToolWithoutSpace: a tool that cannot map the memory gets an error, and leaves nothing behind.
func TestToolWithoutSpace(t *testing.T) {
	program := startReady(t, childOptions{role: "program"})
	for _, c := range []struct{ left, size int }{
		{1 << 20, layout.MinRing},           // for the files
		{layout.DataSize + 4<<20, 64 << 20}, // for the rings
	} {
		tool := startReady(t, childOptions{role: "tool", setup: "space=" + strconv.Itoa(c.left)})
		before := tool.asked("files")
		assert.Contains(t, tool.asked("attach %d %d", program.pid, c.size), "cannot allocate memory")
		assert.Equal(t, before, tool.asked("files"))
		tool.end()
	}
	other := startReady(t, childOptions{role: "tool"})
	mustServe(t, other, program)
	other.end()
	program.end()
}
