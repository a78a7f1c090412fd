package abi_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents/internal/abi"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

func open(t *testing.T) (*abi.File, *tracefs.FS) {
	t.Helper()
	fs := kerneltest.Require(t)
	f, err := abi.Open(fs.Path(tracefs.DataFile))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() }) // some tests have
	return f, fs
}

// enableAddress skips on kernels without enable addresses.
func enableAddress(t *testing.T) (*abi.File, *tracefs.FS) {
	f, fs := open(t)
	if f.ABI() != backend.EnableAddress {
		t.Skip("not on this kernel: it has no enable addresses")
	}
	return f, fs
}

func newName() string { return fmt.Sprintf("abi_test_%d", time.Now().UnixNano()) }

func newWord(t *testing.T, f *abi.File) *atomic.Uint32 {
	w, err := f.NewWord()
	require.NoError(t, err)
	return w
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
	require.Eventually(t, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id))
		return os.IsNotExist(err)
	}, 10*time.Second, time.Millisecond)
}

// TestDetection leaves nothing behind.
func TestDetection(t *testing.T) {
	f, fs := open(t)
	want := map[string]backend.ABI{"6.12": backend.EnableAddress, "6.1": backend.StatusBit, "6.1-byte": backend.StatusByte}
	if kernel, ok := want[os.Getenv("USEREVENTS_KERNEL")]; ok {
		assert.Equal(t, kernel, f.ABI())
	}
	before, err := fs.Status()
	require.NoError(t, err)
	_, _ = open(t)
	after, err := fs.Status()
	require.NoError(t, err)
	assert.LessOrEqual(t, after.Active, before.Active)
}

// TestWordSizes holds what the selftest bit_sizes of the kernel holds.
func TestWordSizes(t *testing.T) {
	f, _ := enableAddress(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, name := newWord(t, f), newName()
	for _, c := range []struct {
		offset    uint64
		bit, size uint8
		want      error
	}{
		{0, 0, 4, nil},
		{0, 31, 4, nil},
		{0, 32, 4, errno.EINVAL},
		{0, 0, 1, errno.EINVAL}, {0, 0, 2, errno.EINVAL}, {0, 0, 3, errno.EINVAL}, {0, 0, 5, errno.EINVAL},
		{0, 0, 6, errno.EINVAL}, {0, 0, 7, errno.EINVAL}, {0, 0, 9, errno.EINVAL}, {0, 0, 128, errno.EINVAL},
		{1, 0, 4, errno.EINVAL}, {2, 0, 4, errno.EINVAL}, // natural alignment
		{1 << 63, 0, 4, errno.EFAULT}, // not the program's memory
	} {
		err := abi.RegisterRaw(f, name, w, c.offset, c.bit, c.size)
		if c.want == nil {
			require.NoError(t, err, "%+v", c)
			require.NoError(t, f.Unregister(w, c.bit))
		} else {
			assert.ErrorIs(t, err, c.want, "%+v", c)
		}
	}
}

// TestOtherThread: why all registrations are on one thread.
func TestOtherThread(t *testing.T) {
	f, _ := enableAddress(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := newWord(t, f)
	_, err := f.Register(backend.Request{Command: newName(), Word: w})
	require.NoError(t, err)
	var other error
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		other = f.Unregister(w, 0)
		close(done)
	}()
	<-done
	assert.ErrorIs(t, other, errno.ENOENT, "the bit belongs to the thread")
	require.NoError(t, f.Unregister(w, 0))
}

// TestDeadThread: why that thread never ends. It runs in a process of its own: threads that
// a registering thread creates share its registrations, and other tests registered on
// threads that live on.
func TestDeadThread(t *testing.T) {
	f, fs := enableAddress(t)
	if os.Getenv(ownProcess) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestDeadThread$", "-test.v")
		cmd.Env = append(os.Environ(), ownProcess+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "PASS: TestDeadThread")
		return
	}
	before, during := newWord(t, f), newWord(t, f)
	early, late := newName(), newName()+"_late"
	i := kerneltest.NewInstance(t, fs, 64)
	onThread(t, func() {
		_, err := f.Register(backend.Request{Command: early, Word: before})
		assert.NoError(t, err)
		_, err = f.Register(backend.Request{Command: late, Word: during})
		assert.NoError(t, err)
		i.Attach(early)
		assert.NotZero(t, before.Load())
	})
	i.Attach(late)
	assert.Zero(t, during.Load(), "enabled after the thread's death: never told")
	i.Detach()
	assert.NotZero(t, before.Load(), "disabled after the thread's death: never told")
}

// ownProcess is the environment variable of a test that runs in a process of its own.
const ownProcess = "ABI_TEST_OWN_PROCESS"

// TestExec: a program that was executed has no registrations.
func TestExec(t *testing.T) {
	if os.Getenv("ABI_TEST_EXEC") != "" {
		return // the new program; it only has to exist
	}
	f, fs := enableAddress(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	name, w := newName(), newWord(t, f)
	_, err := f.Register(backend.Request{Command: name, Word: w})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	p, err := os.StartProcess(self, []string{self, "-test.run=^TestExec$"}, &os.ProcAttr{Env: []string{"ABI_TEST_EXEC=1"}, Files: []*os.File{nil, nil, nil}})
	require.NoError(t, err)
	state, err := p.Wait()
	require.NoError(t, err)
	assert.True(t, state.Success())
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(name)
	assert.EqualValues(t, 1, w.Load(), "a child that came and went changed nothing")
	i.Detach()
	assert.Zero(t, w.Load())
	require.NoError(t, f.Unregister(w, 0))
}

// TestWords: a word is used again, and only then.
func TestWords(t *testing.T) {
	seen := map[*atomic.Uint32]bool{}
	var list []*atomic.Uint32
	for range 3000 { // more than a page
		w, err := abi.NewWord()
		require.NoError(t, err)
		require.False(t, seen[w], "handed out twice")
		require.Zero(t, w.Load())
		seen[w] = true
		list = append(list, w)
	}
	list[7].Store(42)
	for _, w := range list {
		abi.FreeWord(w)
	}
	w, err := abi.NewWord()
	require.NoError(t, err)
	assert.True(t, seen[w], "used again")
	assert.Zero(t, w.Load())
	abi.FreeWord(w)
}

func TestByteMask(t *testing.T) {
	for i := range uint32(4) {
		var b [4]byte
		b[i] = 0x10
		assert.Equal(t, binary.NativeEndian.Uint32(b[:]), abi.ByteMask(i, 0x10), i)
		b[i] = 0xff
		assert.Equal(t, binary.NativeEndian.Uint32(b[:]), abi.ByteMask(i, 0xff), i)
	}
}

// TestNumberStaysTaken: the number of a closed file is not reused while anybody can reach
// it.
func TestNumberStaysTaken(t *testing.T) {
	fs := kerneltest.Require(t)
	f, err := abi.Open(fs.Path(tracefs.DataFile))
	require.NoError(t, err)
	fd := f.FD()
	require.NoError(t, f.Close())
	var files []*os.File
	for range 50 {
		other, err := os.Open(fs.Path("README"))
		require.NoError(t, err)
		assert.NotEqual(t, fd, int(other.Fd()))
		files = append(files, other)
	}
	assert.ErrorIs(t, f.Write(make([]byte, 8)), errno.EBADF)
	for _, other := range files {
		require.NoError(t, other.Close())
	}
	runtime.KeepAlive(f)
	f = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		_, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d", fd))
		return os.IsNotExist(err)
	}, 10*time.Second, 10*time.Millisecond, "given back once nobody can")
}

func TestBadCommands(t *testing.T) {
	f, _ := open(t)
	_, err := f.Register(backend.Request{Command: "a\x00b"})
	assert.ErrorIs(t, err, errno.EINVAL)
	assert.ErrorIs(t, f.Delete("a\x00b"), errno.EINVAL)
	assert.ErrorIs(t, f.Delete(newName()), errno.ENOENT)
	_, known := f.Fields(newName())
	assert.False(t, known)
}
