package perf_test

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// attached are the reports of Follow.
type attached struct {
	mu   sync.Mutex
	list []*perf.Source
	errs []error
}

func (a *attached) report(_ *tracefs.Event, src *perf.Source, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.errs = append(a.errs, err)
		return
	}
	a.list = append(a.list, src)
}

func (a *attached) sources() []*perf.Source {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list
}

// TestFollow: matching events are attached, existing ones at once and others when they appear, including the second
// format of a name and events that reappear.
func TestFollow(t *testing.T) {
	fs := kerneltest.Require(t)
	prefix := newName()
	first, other := register(t, program(t), prefix+"_first"), newEvent(t)
	s := open(t, fs, nil)
	var a attached
	match := func(e *tracefs.Event) *perf.AttachOptions {
		if strings.HasPrefix(e.Name(), prefix) {
			return &perf.AttachOptions{}
		}
		return nil
	}
	require.NoError(t, s.Follow(match, a.report))
	require.Len(t, a.sources(), 1)
	assert.True(t, first.Enabled())
	assert.False(t, other.Enabled())
	write(t, first, 1, 0)

	p, err := uevents.Open(nil)
	require.NoError(t, err)
	later := register(t, p, prefix+"_later")
	testscale.Eventually(t, later.Enabled, "a new event is not attached")
	testscale.Eventually(t, func() bool { return len(a.sources()) == 2 }, "a new event is not reported")
	src := a.sources()[1]
	assert.Equal(t, "user_events:"+later.Name(), src.String())
	write(t, later, 2, 0)
	assert.Equal(t, []sample{{a.sources()[0], 1, 0}, {src, 2, 0}}, flushed(t, s))

	// The event outlives its program, and its name cannot have other fields until the session detaches.
	require.NoError(t, p.Close())
	tools, exists := usedBy(t, fs, later.Name())
	assert.True(t, exists)
	assert.Equal(t, []string{"perf"}, tools)
	changed := tracepoint.MustParse(later.Name() + " u32 other; u64 writer; u64 seq")
	p, err = uevents.Open(nil)
	require.NoError(t, err)
	_, err = p.Register(changed, &uevents.EventOptions{Naming: uevents.NameExact})
	assert.ErrorIs(t, err, uevents.ErrConflict)
	require.NoError(t, p.Close())
	require.NoError(t, src.Detach())
	testscale.Eventually(t, func() bool {
		_ = fs.Remove(later.Name()) // Linux 6.4 and later do it themselves
		_, exists := usedBy(t, fs, later.Name())
		return !exists
	}, "%s is still there", later.Name())
	s.Look() // it sees that the event is gone
	ev, err := program(t).Register(changed, &uevents.EventOptions{Naming: uevents.NameExact})
	require.NoError(t, err)
	testscale.Eventually(t, ev.Enabled, "an event that is registered again is not attached")
	testscale.Eventually(t, func() bool { return len(a.sources()) == 3 }, "an event that is registered again is not reported")
	written, err := ev.WriteRecord(make([]byte, 4+4+8+8))
	require.NoError(t, err)
	require.True(t, written)
	require.NoError(t, s.Flush())
	var r live.Record
	require.NoError(t, s.ReadInto(&r))
	assert.Same(t, a.sources()[2], r.Tag)
	assert.Len(t, r.Raw[tracepoint.CommonSize:], 20)
	assert.Empty(t, a.errs)
}

// TestFollowRestart: a program restarts with other fields between two polls, and its event is attached again.
func TestFollowRestart(t *testing.T) {
	fs := kerneltest.Require(t)
	name := newName()
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	register(t, p, name)
	s := open(t, fs, &perf.Options{Poll: time.Hour})
	var a attached
	require.NoError(t, s.Follow(func(e *tracefs.Event) *perf.AttachOptions {
		if e.Name() == name {
			return &perf.AttachOptions{}
		}
		return nil
	}, a.report))
	require.Len(t, a.sources(), 1)
	require.NoError(t, p.Close())
	require.NoError(t, a.sources()[0].Detach())
	testscale.Eventually(t, func() bool {
		_ = fs.Remove(name) // Linux 6.4 and later do it themselves
		_, exists := usedBy(t, fs, name)
		return !exists
	}, "%s is still there", name)
	ev, err := program(t).Register(tracepoint.MustParse(name+" u32 other"), &uevents.EventOptions{Naming: uevents.NameExact})
	require.NoError(t, err)
	for range 3 {
		require.Len(t, a.sources(), 1)
		s.Look()
	}
	require.Len(t, a.sources(), 2)
	assert.True(t, ev.Enabled())
	assert.Empty(t, a.errs)
}

// TestFollowMultiFormat: the event of a second format is in another system.
func TestFollowMultiFormat(t *testing.T) {
	fs := kerneltest.Require(t)
	s := open(t, fs, nil)
	d := tracepoint.MustParse(newName() + " u64 seq; u64 writer")
	write := kerneltest.MultiFormat(t, fs, d)
	name := kerneltest.OnlyFormat(t, fs, d.Name)
	var a attached
	require.NoError(t, s.Follow(func(e *tracefs.Event) *perf.AttachOptions {
		if e.Name() == name {
			return &perf.AttachOptions{}
		}
		return nil
	}, a.report))
	require.Len(t, a.sources(), 1, "%v", a.errs)
	assert.Equal(t, tracepoint.MultiSystem+":"+name, a.sources()[0].String())
	write(make([]byte, 16)...)
	assert.Len(t, flushed(t, s), 1)
}

// TestFollowErrors: events that cannot be attached are reported, and the callback can close the session.
func TestFollowErrors(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	var a attached
	require.NoError(t, s.Follow(func(e *tracefs.Event) *perf.AttachOptions {
		if e.Name() == ev.Name() {
			return &perf.AttachOptions{Filter: "nosuch == 1"}
		}
		return nil
	}, func(e *tracefs.Event, src *perf.Source, err error) {
		a.report(e, src, err)
		assert.NoError(t, s.Close())
	}))
	require.Len(t, a.errs, 1)
	assert.ErrorContains(t, a.errs[0], "Field not found")
	assert.Error(t, s.Follow(func(*tracefs.Event) *perf.AttachOptions { return nil }, nil), "it is closed")
	assert.Error(t, open(t, tracefs.At(t.TempDir()), nil).Follow(func(*tracefs.Event) *perf.AttachOptions { return nil }, nil))
}

// cpu1 is 0 while CPU 1 is offline.
const cpu1 = "/sys/devices/system/cpu/cpu1/online"

// requireCPU1 skips the test on a kernel that cannot take CPU 1 offline.
func requireCPU1(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(cpu1); err != nil {
		t.Skip("not on this kernel: no CPU can be taken offline")
	}
}

// setCPU1 takes CPU 1 offline or brings it online.
func setCPU1(t *testing.T, on bool) {
	t.Helper()
	requireCPU1(t)
	value := "0"
	if on {
		value = "1"
	}
	require.NoError(t, os.WriteFile(cpu1, []byte(value), 0))
	if !on {
		t.Cleanup(func() {
			if b, err := os.ReadFile(cpu1); err == nil && strings.TrimSpace(string(b)) == "0" {
				assert.NoError(t, os.WriteFile(cpu1, []byte("1"), 0))
			}
		})
	}
}

// writeOn1 writes until CPU 1 has written, and returns how many records were written and read.
func writeOn1(t *testing.T, s *perf.Session, ev *uevents.Event) (written, read uint64) {
	t.Helper()
	for on1, rounds := false, 0; !on1; rounds++ {
		require.Less(t, rounds, 1000, "CPU 1 writes nothing that is read")
		var writing sync.WaitGroup
		for range 4 {
			writing.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for n := range uint64(20) {
					write(t, ev, n, 0)
				}
			})
		}
		writing.Wait()
		written += 4 * 20
		require.NoError(t, s.Flush())
		for r := (live.Record{}); s.ReadInto(&r) == nil; {
			if r.Kind == live.Sample {
				on1 = on1 || r.CPU == 1
				read++
			}
		}
	}
	return written, read
}

// TestHotplug: a CPU that goes offline and returns has its events again, even if it was offline only between two polls.
func TestHotplug(t *testing.T) {
	for _, c := range []struct {
		name string
		o    perf.Options
	}{{"samples", perf.Options{Poll: time.Hour}}, {"with tasks", perf.Options{Poll: time.Hour, Tasks: true}}} {
		t.Run(c.name, func(t *testing.T) {
			fs := kerneltest.Require(t)
			requireCPU1(t)
			ev := newEvent(t)
			s := open(t, fs, &c.o)
			src := attach(t, s, ev, nil)
			counted := attach(t, s, ev, &perf.AttachOptions{CountOnly: true})
			var written, read uint64
			both := func() {
				w, r := writeOn1(t, s, ev)
				written, read = written+w, read+r
			}
			both()

			setCPU1(t, false)
			setCPU1(t, true)
			s.Look()
			both()

			setCPU1(t, false)
			s.Look()
			write(t, ev, 0, 0)
			written++
			late := newEvent(t)
			lateSrc := attach(t, s, late, nil)
			stats := perf.MustStats(t, s)
			cpus := stats.CPUs
			setCPU1(t, true)
			s.Look()
			both()
			lateWritten, lateRead := writeOn1(t, s, late)
			assert.Equal(t, written, statsOf(t, src).Matched)
			assert.Equal(t, read, statsOf(t, src).Read)
			assert.Equal(t, written, read)
			assert.Equal(t, lateWritten, lateRead)
			assert.Equal(t, lateWritten, statsOf(t, lateSrc).Read)
			st, err := counted.Stats()
			require.NoError(t, err)
			assert.Equal(t, written, st.Matched)
			stats = perf.MustStats(t, s)
			assert.NoError(t, stats.CPUErr)
			assert.Equal(t, cpus+1, stats.CPUs)
			assert.Zero(t, stats.Malformed)
		})
	}
}

// TestCPUFirstOnline: a CPU that was offline when the session was opened gets rings when it comes online.
func TestCPUFirstOnline(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	setCPU1(t, false)
	s := open(t, fs, &perf.Options{Poll: 20 * time.Millisecond})
	attach(t, s, ev, &perf.AttachOptions{Ring: "a"})
	attach(t, s, ev, &perf.AttachOptions{Ring: "b"})
	rings := func() int {
		stats := perf.MustStats(t, s)
		return stats.Rings
	}
	before := rings()
	setCPU1(t, true)
	testscale.Eventually(t, func() bool { return rings() == before+2 }, "CPU 1 has no rings")
	written, read := writeOn1(t, s, ev)
	assert.Equal(t, 2*written, read)
}
