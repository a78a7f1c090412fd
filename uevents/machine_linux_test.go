package uevents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// This file has what happens to a machine under a program: mounts, limits, namespaces, signals.

// TestUnmountedWhileOpen: an open provider does not need the mount. A new one says what is missing, and works when
// tracefs is mounted again.
func TestUnmountedWhileOpen(t *testing.T) {
	fs := kerneltest.Require(t)
	if oldKernel(t) {
		t.Skip("not on this kernel: it has status files, which Open maps")
	}
	c := startChild(t, childOptions{setup: "private", task: "remount"})
	require.Equal(t, "ok", c.says())
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(c.event)
	c.tell()
	require.Equal(t, "remounted", c.says())
	var texts []string
	for _, r := range i.Records() {
		texts = append(texts, strings.TrimRight(string(r.Payload), "\x00"))
	}
	assert.Equal(t, []string{"without tracefs", "mounted again"}, texts)
	c.tell()
	c.mustWrite(i)
	i.Detach()
}

// TestExecItself: a program that executes itself starts anew. A tool stays attached to its event and reads the records of
// both runs; nothing is inherited.
func TestExecItself(t *testing.T) {
	fs := kerneltest.Require(t)
	c := startChild(t, childOptions{task: "execute itself"})
	require.Equal(t, "ok", c.says())
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(c.event)
	c.tell()
	require.Equal(t, "ok", c.says(), "of the second run")
	c.tell()
	c.mustWrite(i)
	i.Detach()
}

// TestChildren: a child that the program starts inherits nothing of it. Both share the event, and the end of one changes
// nothing for the other.
func TestChildren(t *testing.T) {
	fs := kerneltest.Require(t)
	p := kernel{fs}.provider(t)
	c := startChild(t, childOptions{setup: "executed"})
	require.Equal(t, "ok", c.says())
	own := mustRegister(t, p, c.event, nil)
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(c.event)
	require.True(t, own.Enabled())
	c.tell()
	c.mustWrite(i)
	require.NoError(t, c.cmd.Wait())
	assert.True(t, own.Enabled())
	mustWrite(t, own, buffer("x"))
	assert.Len(t, i.Records(), 1)
	i.Detach()
	assert.False(t, own.Enabled())
}

// TestPIDNamespace: a program in a PID namespace of its own works. Tools see its number on the machine.
func TestPIDNamespace(t *testing.T) {
	fs := kerneltest.Require(t)
	c := startChild(t, childOptions{attr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}})
	require.Equal(t, "ok", c.says())
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(c.event)
	c.tell()
	writer := c.mustWrite(i)
	assert.GreaterOrEqual(t, int(writer.PID), c.cmd.Process.Pid, "a thread of the program")
	i.Detach()
}

// TestStopped: a program that is stopped while its event is enabled keeps no tool waiting, and sees what changed meanwhile
// as soon as it goes on.
func TestStopped(t *testing.T) {
	fs := kerneltest.Require(t)
	c := startChild(t, childOptions{})
	require.Equal(t, "ok", c.says())
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(c.event)
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGSTOP))
	stat := fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid)
	testscale.Eventually(t, func() bool {
		b, err := os.ReadFile(stat)
		return err == nil && strings.Contains(string(b), ") T ")
	}, "the program is not stopped")
	i.Detach()
	for range 3 { // tools come and go
		other := kerneltest.NewInstance(t, fs, 64)
		other.Attach(c.event)
		other.Detach()
	}
	i.Attach(c.event)
	c.tell()
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGCONT))
	c.mustWrite(i)
	i.Detach()
}

// TestTooManyEventsOnMachine: at kernel.user_events_max a registration fails with a remedy, other events are not affected,
// and it works as soon as the limit is raised.
func TestTooManyEventsOnMachine(t *testing.T) {
	fs := kerneltest.Require(t)
	const limit = "/proc/sys/kernel/user_events_max"
	before, err := os.ReadFile(limit)
	if os.IsNotExist(err) {
		t.Skip("not on this kernel: user_events_max is no setting")
	}
	require.NoError(t, err)
	w := kernel{fs}
	p := w.provider(t)
	ev := mustRegister(t, p, newName(), nil)
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(ev.Name())
	t.Cleanup(func() { assert.NoError(t, os.WriteFile(limit, before, 0)) })
	require.NoError(t, os.WriteFile(limit, []byte("1"), 0))

	g := p.NewGroup()
	name := newName()
	for range 3 {
		refused, err := p.Register(declare(t, name), in(g))
		require.ErrorIs(t, err, errno.EMFILE)
		require.ErrorContains(t, err, "kernel.user_events_max")
		assert.False(t, refused.Enabled() || g.Enabled())
		assert.NoError(t, refused.Close())
	}
	assert.False(t, w.exists(t, name))
	mustRegister(t, p, ev.Name(), nil) // it exists
	mustWrite(t, ev, buffer("x"))
	assert.Len(t, i.Records(), 1)
	require.NoError(t, os.WriteFile(limit, before, 0))
	mustRegister(t, p, name, in(g))
}

// TestMemoryLimit: when a cgroup has no memory left for the kernel's part of a registration, it fails with ENOMEM. The
// program goes on, and registers again once there is memory.
func TestMemoryLimit(t *testing.T) {
	if os.Getenv("USEREVENTS_MEMORY_LIMIT") == "" {
		t.Skip("only by hand: USEREVENTS_MEMORY_LIMIT is not set; Go's runtime sometimes ends the program when it cannot get a thread")
	}
	fs := kerneltest.Require(t)
	if oldKernel(t) {
		t.Skip("not on this kernel: it does not charge registrations to a cgroup")
	}
	root := t.TempDir()
	require.NoError(t, syscall.Mount("cgroup2", root, "cgroup2", 0, ""))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(root, 0)) })
	write := func(file, text string) { require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0)) }
	write("cgroup.subtree_control", "+memory")
	t.Cleanup(func() { write("cgroup.subtree_control", "-memory") })
	require.NoError(t, os.Mkdir(filepath.Join(root, "uevents"), 0o755))

	c := startChild(t, childOptions{setup: "unkillable", task: "register until refused"})
	t.Cleanup(func() {
		write("uevents/memory.max", "max") // else it may not get to its end
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		testscale.Eventually(t, func() bool { return os.Remove(filepath.Join(root, "uevents")) == nil }, "the cgroup is in use")
	})
	require.Equal(t, "ok", c.says())
	write("uevents/cgroup.procs", strconv.Itoa(c.cmd.Process.Pid))
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(c.event)
	c.tell()
	require.Equal(t, "ready", c.says())
	current, err := os.ReadFile(filepath.Join(root, "uevents/memory.current"))
	require.NoError(t, err)
	used, err := strconv.Atoi(strings.TrimSpace(string(current)))
	require.NoError(t, err)
	write("uevents/memory.max", strconv.Itoa(used+256<<10))
	// The program can wait for memory, as a page of its own is refused, too.
	relief := time.AfterFunc(testscale.Patience, func() { write("uevents/memory.max", "max") }) //nolint:forbidigo // guards against hanging
	c.tell()
	said := c.says()
	require.True(t, relief.Stop(), "the program waited for memory: %s", said)
	assert.True(t, strings.HasPrefix(said, "true after some: true"), said)
	assert.Contains(t, said, "cannot allocate memory")
	write("uevents/memory.max", "max")
	c.tell()
	require.Equal(t, "registered", c.says())
	c.tell()
	c.mustWrite(i)
	i.Detach()
}

// TestSubBufferSize: ftrace's sub-buffers can be made larger and smaller while a program writes. Records up to the default limit
// arrive at each size. Larger ones are lost with the default size, although the kernel takes them, and on Linux 6.12 with
// larger ones, too: the limit is for that.
func TestSubBufferSize(t *testing.T) {
	fs := kerneltest.Require(t)
	p, err := uevents.Open(&uevents.Options{MaxPayload: 40_000})
	require.NoError(t, err)
	defer p.Close()
	ev := mustRegister(t, p, newName(), nil)
	i := kerneltest.NewInstance(t, fs, 1024)
	size := i.Path("buffer_subbuf_size_kb")
	if _, err := os.Stat(size); os.IsNotExist(err) {
		t.Skip("not on this kernel: ftrace's sub-buffers have one page")
	}
	i.Attach(ev.Name())
	entries := func() int { return int(i.Stats().Entries) }
	for _, kib := range []string{"4", "64", "4"} {
		require.NoError(t, os.WriteFile(size, []byte(kib), 0))
		before := entries()
		mustWrite(t, ev, buffer(strings.Repeat("x", tracepoint.MaxPayload)))
		assert.Equal(t, before+1, entries(), "sub-buffers of %s KiB", kib)
		mustWrite(t, ev, buffer(strings.Repeat("x", 4096)))
		if kib == "4" {
			assert.Equal(t, before+1, entries(), "sub-buffers of %s KiB", kib)
		}
	}
	assert.EqualValues(t, 6, ev.Stats().Written, "the kernel takes them all")

	// Under writers, the buffers change without an error, and the event stays enabled.
	var stop atomic.Bool
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			for !stop.Load() {
				written, err := ev.WriteRecord(buffer("record"))
				assert.True(t, written && err == nil, err)
			}
		})
	}
	for n := range testscale.CountConcurrent(40, 10) {
		require.NoError(t, os.WriteFile(size, []byte([]string{"64", "4"}[n%2]), 0))
	}
	stop.Store(true)
	writing.Wait()
	mustWrite(t, ev, buffer("record"))
	assert.Positive(t, entries())
	i.Detach()
	assert.False(t, ev.Enabled())
}

// TestSignals: signals that come while records are written interrupt no write. Each record is written once.
func TestSignals(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := mustRegister(t, kernel{fs}.provider(t), newName()+" u32 a", nil)
	i := kerneltest.NewInstance(t, fs, 4096)
	i.Attach(ev.Name())
	var stop atomic.Bool
	var signals sync.WaitGroup
	signals.Go(func() {
		for !stop.Load() {
			// SIGURG is what Go preempts goroutines with; the program handles no other.
			assert.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGURG))
		}
	})
	const each = 3000
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			for range each {
				written, err := ev.WriteRecord(buffer("1234"))
				assert.True(t, written && err == nil, err)
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	signals.Wait()
	s := i.Stats()
	assert.EqualValues(t, 4*each, s.Entries+s.Overrun+s.CommitOverrun)
	assert.Equal(t, uevents.EventStats{Written: 4 * each}, ev.Stats())
}

// TestReadOnlyAfterwards: a mount that becomes read-only takes nothing from an open provider.
func TestReadOnlyAfterwards(t *testing.T) {
	fs := kerneltest.Require(t)
	dir := t.TempDir()
	require.NoError(t, syscall.Mount(fs.Path(), dir, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	p, err := uevents.Open(&uevents.Options{Path: filepath.Join(dir, tracefs.DataFile)})
	require.NoError(t, err)
	defer p.Close()
	// The kernel refuses while a file of the mount is open for writing: the mount of a container is another one.
	err = syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
	require.ErrorIs(t, err, syscall.EBUSY)
	ev := mustRegister(t, p, newName(), nil)
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(ev.Name())
	mustWrite(t, ev, buffer("x"))
	assert.Len(t, i.Records(), 1)
	i.Detach()
}

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
