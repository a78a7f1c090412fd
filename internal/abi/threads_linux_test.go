package abi_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

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
