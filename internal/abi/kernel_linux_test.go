package abi_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
)

func open(t *testing.T) (*abi.File, *tracefs.Dir) {
	t.Helper()
	tfs := kerneltest.Require(t)
	f, err := abi.Open(tfs.Path(tracefs.DataFile))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() }) // some tests have
	return f, tfs
}

// enableAddress skips on kernels without enable addresses.
func enableAddress(t *testing.T) (*abi.File, *tracefs.Dir) {
	t.Helper()
	f, tfs := open(t)
	if f.ABI() != backend.EnableAddress {
		t.Skip("not on this kernel: it has no enable addresses")
	}
	return f, tfs
}

var names atomic.Uint32

// newName returns a name that no other test uses: kernels before 6.4 keep every event.
func newName() string { return fmt.Sprintf("abi_test_%d_%d", os.Getpid(), names.Add(1)) }

// newWord returns a word that is unregistered, on this thread, and freed with the test.
func newWord(t *testing.T, f *abi.File) *atomic.Uintptr {
	t.Helper()
	w, err := f.NewWord()
	require.NoError(t, err)
	t.Cleanup(func() {
		cleaner, err := abi.Open(f.Path()) // the test may have closed f
		require.NoError(t, err)
		for bit := range uint8(backend.WordBits) {
			_ = cleaner.Unregister(w, bit) // most are not registered
		}
		cleaner.FreeWord(w)
		require.NoError(t, cleaner.Close())
	})
	return w
}

// lockThread keeps the test on its thread, to which what it registers belongs.
func lockThread(t *testing.T) {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
}

// register registers a new event at a new word and returns what the kernel said.
func register(t *testing.T, f *abi.File) (name string, reg backend.Registration) {
	t.Helper()
	name = newName()
	reg, err := f.Register(backend.Request{Command: name, Word: newWord(t, f)})
	require.NoError(t, err)
	return name, reg
}

// The main goroutine keeps the main thread, which Go would park where it ends others.
func init() { runtime.LockOSThread() }

// onThread runs f on a thread of its own and returns when the thread is gone.
func onThread(t *testing.T, f func()) {
	t.Helper()
	tid := make(chan int)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends
		f()
		tid <- syscall.Gettid()
	}()
	id := <-tid
	testscale.Eventually(t, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id))
		return os.IsNotExist(err)
	}, "thread %d does not end", id)
}

// changesTo waits until the kernel has changed a word.
func changesTo(t *testing.T, w *atomic.Uintptr, want uintptr) {
	t.Helper()
	testscale.Eventually(t, func() bool { return w.Load() == want }, "the word stays %#x", w.Load())
}

// gone waits until the kernel has deleted an event.
func gone(t *testing.T, tfs *tracefs.Dir, name string) {
	t.Helper()
	testscale.Eventually(t, func() bool {
		exists, err := tfs.Event(name).Exists()
		return !exists && err == nil
	}, "%s is still there", name)
}

// Tests that run in a process of their own find its task in this environment variable.
const envTask = "ABI_TEST_TASK"

// process is a copy of the test binary that runs one test.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func start(t *testing.T, task string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")}
	p.cmd.Env = append(os.Environ(), envTask+"="+task)
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewScanner(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// says waits until the process prints a line.
func (p *process) says(line string) {
	p.t.Helper()
	var said []string
	for p.out.Scan() {
		if p.out.Text() == line {
			return
		}
		said = append(said, p.out.Text())
	}
	require.Fail(p.t, "the process did not say "+line, "but %q", said)
}

// tell lets the process go on.
func (p *process) tell() {
	p.t.Helper()
	_, err := io.WriteString(p.in, "\n")
	require.NoError(p.t, err)
}

// told waits, in the process, until it may go on.
func told(t *testing.T) {
	t.Helper()
	_, err := os.Stdin.Read(make([]byte, 1))
	require.NoError(t, err)
}

func wait(t *testing.T, pid int) syscall.WaitStatus {
	t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if err != syscall.EINTR {
			require.NoError(t, err)
			return status
		}
	}
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
