package abi_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/words"
)

// TestFork holds what the selftest forks of the kernel holds: a child's copy of the memory
// is told like the parent's, and what the child does is its own business. No Go program forks
// like this; what it starts, it executes. After a fork the
// word is in a page that both share until one of them writes, and the kernel needs a moment
// to make a copy.
func TestFork(t *testing.T) {
	f, tfs := enableAddress(t)
	lockThread(t) // whose registrations the child gets
	name, reg := register(t, f)
	i := kerneltest.NewInstance(t, tfs, 64)

	pids, attached := forkWriting(t, f, reg, 1)
	i.Attach(name)
	attached.Store(1)
	changesTo(t, reg.Word, 1)
	assert.Zero(t, wait(t, pids[0]).ExitStatus(), "the child was told")

	pid, err := abi.ForkUnregister(f, reg.Word, 0)
	require.NoError(t, err)
	assert.Equal(t, 0, wait(t, pid).ExitStatus(), "the child's own")
	assert.EqualValues(t, 1, reg.Word.Load(), "not the parent's")
	i.Detach()
	changesTo(t, reg.Word, 0)
	require.NoError(t, f.Unregister(reg.Word, 0))

	pid, err = abi.ForkUnregister(f, reg.Word, 0)
	require.NoError(t, err)
	assert.Equal(t, int(syscall.ENOENT), wait(t, pid).ExitStatus(), "nothing to copy")
}

// forkWriting starts children that write a record when their word and attached, which it returns, are not 0. When it returns, each
// of them has a copy of its word, which is 0.
func forkWriting(t *testing.T, f *abi.File, reg backend.Registration, n int) (pids []int, attached *atomic.Uintptr) {
	t.Helper()
	ready, inChildren, err := os.Pipe()
	require.NoError(t, err)
	defer ready.Close()
	defer inChildren.Close()
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { unmap(t, page) })
	attached = words.At(page, 0)
	rec := append(binary.NativeEndian.AppendUint32(nil, reg.Index), "child"...)
	for range n {
		pid, err := abi.ForkWriting(f, reg.Word, attached, int(inChildren.Fd()), rec)
		if !assert.NoError(t, err) { // the others have to end
			break
		}
		pids = append(pids, pid)
	}
	_, err = io.ReadFull(ready, make([]byte, len(pids)))
	require.NoError(t, err)
	return pids, attached
}

// processes is how many share the event of TestManyProcesses. make soak has a thousand, which takes a minute in a guest.
var processes = flag.Int("processes", 100, "how many processes share the event of TestManyProcesses")

// TestManyProcesses: many processes share an event. Attaching a tool enables it in all of them, each of them writes,
// and no record is lost.
func TestManyProcesses(t *testing.T) {
	f, tfs := enableAddress(t)
	lockThread(t)
	name, reg := register(t, f)
	i := kerneltest.NewInstance(t, tfs, 512)
	n := *processes
	pids, attached := forkWriting(t, f, reg, n)
	i.Attach(name)
	attached.Store(1)
	changesTo(t, reg.Word, 1)
	for _, pid := range pids {
		assert.Zero(t, wait(t, pid).ExitStatus())
	}
	writers := map[int32]int{}
	for _, r := range i.Records() {
		writers[r.PID]++
	}
	assert.Len(t, writers, n)
	for _, pid := range pids {
		assert.Equal(t, 1, writers[int32(pid)])
	}
	i.Detach()
	changesTo(t, reg.Word, 0)
	require.NoError(t, f.Unregister(reg.Word, 0))
}

// TestForkWithoutRegistrations: a child of another thread has none.
func TestForkWithoutRegistrations(t *testing.T) {
	f, _ := enableAddress(t)
	lockThread(t)
	_, reg := register(t, f)
	onThread(t, func() {
		pid, err := abi.ForkUnregister(f, reg.Word, 0)
		if assert.NoError(t, err) {
			assert.Equal(t, int(syscall.ENOENT), wait(t, pid).ExitStatus())
		}
	})
	require.NoError(t, f.Unregister(reg.Word, 0))
}

// TestExec: a process that executes another program has no registrations any more.
func TestExec(t *testing.T) {
	const executed = "executed"
	task := os.Getenv(envTask)
	switch task {
	case "":
	case executed:
		fmt.Println("\nexecuted")
		told(t)
		return
	default:
		f, _ := enableAddress(t)
		_, err := f.Register(backend.Request{Command: task, Word: newWord(t, f)})
		require.NoError(t, err)
		fmt.Println("\nregistered")
		told(t)
		t.Setenv(envTask, executed)
		require.NoError(t, syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	_, tfs := enableAddress(t)
	name := newName()
	p := start(t, name)
	p.says("registered")
	exists, err := tfs.Event(name).Exists()
	require.NoError(t, err)
	require.True(t, exists)
	p.tell()
	p.says("executed")
	gone(t, tfs, name)
	assert.NoError(t, p.cmd.Process.Signal(syscall.Signal(0)), "the process lives")
	p.tell()
	require.NoError(t, p.cmd.Wait())
}

// TestChildProcess: a child that comes and goes, as os/exec makes it, changes nothing.
func TestChildProcess(t *testing.T) {
	f, tfs := enableAddress(t)
	lockThread(t)
	name, reg := register(t, f)
	p, err := os.StartProcess("/proc/self/exe", []string{"abi.test", "-test.run=^$"}, &os.ProcAttr{Files: []*os.File{nil, nil, nil}})
	require.NoError(t, err)
	state, err := p.Wait()
	require.NoError(t, err)
	assert.True(t, state.Success(), state)
	i := kerneltest.NewInstance(t, tfs, 64)
	i.Attach(name)
	assert.EqualValues(t, 1, reg.Word.Load())
	i.Detach()
	assert.Zero(t, reg.Word.Load())
	require.NoError(t, f.Unregister(reg.Word, 0))
}

// TestEnd: an event goes with the process that has it, however that ends.
func TestEnd(t *testing.T) {
	if name := os.Getenv(envTask); name != "" {
		f, _ := enableAddress(t)
		_, err := f.Register(backend.Request{Command: name, Word: newWord(t, f)})
		require.NoError(t, err)
		fmt.Println("\nregistered")
		told(t)
		return
	}
	_, tfs := enableAddress(t)
	name := newName()
	p := start(t, name)
	p.says("registered")
	exists, err := tfs.Event(name).Exists()
	require.NoError(t, err)
	require.True(t, exists)
	require.NoError(t, p.cmd.Process.Kill())
	gone(t, tfs, name)
	err = p.cmd.Wait()
	assert.True(t, err != nil && !errors.Is(err, os.ErrProcessDone))
}

// ownProcess runs the test in a process of its own, in which it returns true: threads that a registering thread creates share its
// registrations, and other tests registered on threads that live on.
func ownProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envTask) != "" {
		t.Cleanup(func() {
			if !t.Failed() {
				fmt.Println("\ndone")
			}
		})
		return true
	}
	enableAddress(t)
	p := start(t, "run")
	p.says("done")
	require.NoError(t, p.cmd.Wait())
	return false
}

// TestOtherThread: why all registrations are on one thread.
func TestOtherThread(t *testing.T) {
	if !ownProcess(t) {
		return
	}
	f, _ := enableAddress(t)
	lockThread(t)
	_, reg := register(t, f)
	var other error
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		other = f.Unregister(reg.Word, 0)
		close(done)
	}()
	<-done
	assert.ErrorIs(t, other, errno.ENOENT, "the bit belongs to the thread")
	require.NoError(t, f.Unregister(reg.Word, 0))
}

// TestDeadThread: why that thread never ends.
func TestDeadThread(t *testing.T) {
	if !ownProcess(t) {
		return
	}
	f, tfs := enableAddress(t)
	before, during := newWord(t, f), newWord(t, f)
	early, late := newName(), newName()
	i := kerneltest.NewInstance(t, tfs, 64)
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

// mapPages maps memory that, unlike the package's own, can be unmapped.
func mapPages(t *testing.T, n int) []byte {
	t.Helper()
	pages, err := syscall.Mmap(-1, 0, n*os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	return pages
}

func unmap(t *testing.T, pages []byte) {
	t.Helper()
	require.NoError(t, syscall.Munmap(pages))
}

// TestWordNotInMemory: the kernel brings a page back to change a bit in it.
func TestWordNotInMemory(t *testing.T) {
	f, tfs := enableAddress(t)
	lockThread(t)
	page := mapPages(t, 1)
	w, name := words.At(page, 64), newName()
	require.NoError(t, abi.RegisterRaw(f, name, w, 0, 3, 4, 0), "the page was never touched")
	i := kerneltest.NewInstance(t, tfs, 64)
	for range 3 {
		require.NoError(t, syscall.Madvise(page, syscall.MADV_DONTNEED))
		i.Attach(name)
		changesTo(t, w, 1<<3)
		require.NoError(t, syscall.Madvise(page, syscall.MADV_DONTNEED))
		i.Detach()
		changesTo(t, w, 0)
	}
	require.NoError(t, syscall.Madvise(page, syscall.MADV_DONTNEED))
	require.NoError(t, f.Unregister(w, 3))
	unmap(t, page)
}

// TestWriteNotInMemory: a payload need not be in memory, but it must be the program's.
func TestWriteNotInMemory(t *testing.T) {
	f, tfs := open(t)
	lockThread(t)
	name, reg := register(t, f)
	i := kerneltest.NewInstance(t, tfs, 64)
	i.Attach(name)

	// As the selftest write_fault has it: a page that the program never touched, or that was taken
	// away, is zeros, and zero is the index of a file's first event.
	require.Zero(t, reg.Index)
	zeros := mapPages(t, 1)
	require.NoError(t, f.Write(zeros[:12]))
	require.NoError(t, syscall.Madvise(zeros, syscall.MADV_DONTNEED))
	require.NoError(t, f.Write(zeros[:12]))
	records := i.Records()
	require.Len(t, records, 2)
	for _, r := range records {
		assert.Equal(t, make([]byte, 8), r.Payload[:8])
	}
	unmap(t, zeros)

	size := os.Getpagesize()
	content := make([]byte, size)
	binary.NativeEndian.PutUint32(content, reg.Index)
	for i := 4; i < size; i++ {
		content[i] = byte(i * 7)
	}
	path := filepath.Join(t.TempDir(), "payload")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	page, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	n := 4 + 3000
	require.NoError(t, f.Write(page[:n]), "no byte of it was read yet")
	records = i.Records()
	require.Len(t, records, 1)
	assert.Equal(t, content[4:n], records[0].Payload[:n-4])
	unmap(t, page)

	pages := mapPages(t, 2)
	require.NoError(t, syscall.Mprotect(pages[size:], syscall.PROT_NONE))
	buf := pages[size-8 : size+8]
	binary.NativeEndian.PutUint32(buf, reg.Index)
	assert.ErrorIs(t, f.Write(buf), errno.EFAULT)
	assert.ErrorIs(t, f.Write(pages[size+4:size+16]), errno.EFAULT, "not even the index")
	assert.Empty(t, i.Records())
	unmap(t, pages)
}
