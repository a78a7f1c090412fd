package uevents_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestThreadsDie registers from 64 threads and lets them die: the kernel forgets the enable
// bits of a dead thread, so none of them may have registered itself.
func TestThreadsDie(t *testing.T) {
	fs := kerneltest.Require(t)
	const n = 64
	providers, events := make([]*uevents.Provider, n), make([]*uevents.Event, n)
	threads := make([]int, n)
	var ready, wg sync.WaitGroup
	ready.Add(n)
	for i := range n {
		wg.Go(func() {
			runtime.LockOSThread() // not unlocked: the thread dies with the goroutine
			threads[i] = gettid()
			p, err := uevents.Open(nil)
			if assert.NoError(t, err) {
				providers[i] = p
				events[i], err = p.Register(declare(t, newName()), nil)
				assert.NoError(t, err)
			}
			ready.Done()
			ready.Wait() // all at once, so that there are that many threads
		})
	}
	wg.Wait()
	require.False(t, t.Failed())
	testscale.Eventually(t, func() bool { return !anyThread(threads) }, "a thread does not end")

	i := kerneltest.NewInstance(t, fs, 64)
	for _, ev := range events {
		assert.False(t, ev.Enabled())
		i.Attach(ev.Name())
	}
	for _, ev := range events {
		assert.True(t, ev.Enabled(), ev.Name())
	}
	// Close from yet other threads.
	for _, p := range providers {
		wg.Go(func() {
			runtime.LockOSThread()
			assert.NoError(t, p.Close())
		})
	}
	wg.Wait()
	for _, ev := range events {
		assert.False(t, ev.Enabled(), ev.Name())
	}
}

// TestForgottenProvider drops a provider without closing it.
func TestForgottenProvider(t *testing.T) {
	fs := kerneltest.Require(t)
	w := kernel{fs}
	before := entries("/proc/self/fd")
	name := func() string {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		return mustRegister(t, p, newName(), nil).Name()
	}()
	require.True(t, w.exists(t, name))
	testscale.Eventually(t, func() bool {
		runtime.GC()
		return entries("/proc/self/fd") <= before
	}, "the descriptor stays open")
	if w.provider(t).ABI() == uevents.ABIEnableAddress {
		gone(t, w, name)
	}
}
