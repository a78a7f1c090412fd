//go:build amd64 || arm64

package abi_test

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/uevents/internal/abi"
)

// waitFor returns the exit status of a child.
func waitFor(t *testing.T, pid uintptr) int {
	t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(int(pid), &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		require.NoError(t, err)
		return status.ExitStatus()
	}
}

// TestFork holds what the kernel's selftest forks holds. No Go program forks like this;
// what it starts, it executes.
func TestFork(t *testing.T) {
	f, fs := enableAddress(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, name := newWord(t, f), newName()
	_, err := f.Register(backend.Request{Command: name, Word: w})
	require.NoError(t, err)
	i := kerneltest.NewInstance(t, fs, 64)

	child, errno := abi.ForkAndWatch(w)
	require.Zero(t, errno)
	i.Attach(name)
	assert.Zero(t, waitFor(t, child), "the child's copy of the word is told, too")
	assert.EqualValues(t, 1, w.Load())

	child, errno = abi.ForkAndUnregister(f, w)
	require.Zero(t, errno)
	assert.Zero(t, waitFor(t, child), "the child can unregister its copy")
	assert.EqualValues(t, 1, w.Load(), "which leaves the parent's alone")
	i.Detach()
	// The page may still be shared with the child that is gone; then the kernel has to copy
	// it first.
	require.Eventually(t, func() bool { return w.Load() == 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, f.Unregister(w, 0))
}

// TestWriteFault holds what the selftest write_fault holds: a payload in a page that is not
// in memory is read as what it is, zeros.
func TestWriteFault(t *testing.T) {
	f, fs := enableAddress(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, name := newWord(t, f), newName()
	_, err := f.Register(backend.Request{Command: name + " u64 anon", Word: w}) // index 0, like the page
	require.NoError(t, err)
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(name)
	page, err := sys.MapAnonymous(4096)
	require.NoError(t, err)
	require.NoError(t, f.Write(page[:12]))
	require.NoError(t, syscall.Madvise(page, syscall.MADV_DONTNEED))
	require.NoError(t, f.Write(page[:12]))
	records := i.Records()
	require.Len(t, records, 2)
	assert.Equal(t, make([]byte, 8), records[1].Payload[:8])
	require.NoError(t, f.Unregister(w, 0))
}
