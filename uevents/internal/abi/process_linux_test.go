package abi_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents/internal/abi"
)

// tick is how often tests look.
const tick = time.Millisecond

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

	changesTo := func(want uintptr) {
		t.Helper()
		require.Eventually(t, func() bool { return reg.Word.Load() == want }, eventually, tick)
	}
	// The kernel gives up after ten attempts to copy the page ("Fault for mm" in its log), which the emulated arm64
	// has needed once under load. A child that it never tells would not be told the next time either.
	told := false
	for range 3 {
		pid, err := abi.ForkPolling(reg.Word)
		require.NoError(t, err)
		i.Attach(name)
		changesTo(1)
		if told = wait(t, pid).ExitStatus() == 0; told {
			break
		}
		i.Detach()
		changesTo(0)
	}
	assert.True(t, told, "the child was told")

	pid, err := abi.ForkUnregister(f, reg.Word, 0)
	require.NoError(t, err)
	assert.Equal(t, 0, wait(t, pid).ExitStatus(), "the child's own")
	assert.EqualValues(t, 1, reg.Word.Load(), "not the parent's")
	i.Detach()
	changesTo(0)
	require.NoError(t, f.Unregister(reg.Word, 0))

	pid, err = abi.ForkUnregister(f, reg.Word, 0)
	require.NoError(t, err)
	assert.Equal(t, int(syscall.ENOENT), wait(t, pid).ExitStatus(), "nothing to copy")
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
	ready, inChildren, err := os.Pipe()
	require.NoError(t, err)
	defer ready.Close()
	defer inChildren.Close()
	rec := binary.NativeEndian.AppendUint32(nil, reg.Index)
	rec = append(rec, "child"...)
	var pids []int
	for range n {
		pid, err := abi.ForkWriting(f, reg.Word, int(inChildren.Fd()), rec)
		if !assert.NoError(t, err) { // the others have to end
			break
		}
		pids = append(pids, pid)
	}
	_, err = io.ReadFull(ready, make([]byte, len(pids)))
	require.NoError(t, err)
	i.Attach(name)
	require.NotZero(t, reg.Word.Load())
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
	require.Eventually(t, func() bool { return reg.Word.Load() == 0 }, eventually, tick)
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
	exists := func() bool {
		yes, err := tfs.Event(name).Exists()
		return yes || err != nil
	}
	require.True(t, exists())
	p.tell()
	p.says("executed")
	require.Eventually(t, func() bool { return !exists() }, eventually, tick)
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
	require.Eventually(t, func() bool {
		exists, err := tfs.Event(name).Exists()
		return !exists && err == nil
	}, eventually, tick)
	err = p.cmd.Wait()
	assert.True(t, err != nil && !errors.Is(err, os.ErrProcessDone))
}
