package perf_test

import (
	"io/fs"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// TestAttachWhileReading: attaching and detaching events does not lose records of others that are written and read
// meanwhile.
func TestAttachWhileReading(t *testing.T) {
	fs := kerneltest.Require(t)
	const each = 3000
	always, sometimes := newEvent(t), newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1 << 20})
	src := attach(t, s, always, nil)
	var seqs []uint64
	others := map[any]uint64{}
	var reading, writing sync.WaitGroup
	reading.Go(func() {
		for r := (live.Record{}); s.ReadInto(&r) == nil; {
			if got := sampleOf(t, &r); got.source == src {
				seqs = append(seqs, got.seq)
			} else {
				others[got.source]++
			}
		}
	})
	writing.Go(func() {
		for i := range uint64(each) {
			write(t, always, i, 0)
		}
	})
	stop := make(chan struct{})
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default: // it is disabled now and then
				if _, err := sometimes.WriteRecord(make([]byte, 20)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	var gone []*perf.Source
	for range 5 {
		src := attach(t, s, sometimes, nil)
		testscale.Eventually(t, func() bool {
			st, err := src.Stats() // whose counts are of several moments while the other goroutine writes
			require.NoError(t, err)
			return st.Matched > 0
		}, "nothing is written")
		require.NoError(t, src.Detach())
		require.NoError(t, src.Detach(), "again")
		gone = append(gone, src)
	}
	close(stop)
	writing.Wait()
	require.NoError(t, s.Stop())
	reading.Wait()
	// A machine that is busy loses records. Sources that have lost some stay in the list.
	kept := statsOf(t, src)
	assert.EqualValues(t, each, kept.Matched)
	assert.Len(t, seqs, each-int(kept.Lost))
	assert.IsIncreasing(t, seqs)
	var total uint64
	listed := 1
	for _, src := range gone {
		st := statsOf(t, src)
		assert.Zero(t, st.Pending)
		assert.Equal(t, others[src], st.Read)
		total += st.Matched
		if st.Lost > 0 {
			listed++
		}
	}
	assert.NotZero(t, total)
	stats := perf.MustStats(t, s)
	assert.Len(t, stats.Sources, listed)
	all := stats.Total()
	assert.Equal(t, total+each, all.Matched)
	assert.Zero(t, stats.Malformed)
}

// TestDetach: earlier records are still read, and the event is disabled.
func TestDetach(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, nil)
	assert.True(t, ev.Enabled())
	tools, _ := usedBy(t, fs, ev.Name())
	assert.Equal(t, []string{"perf"}, tools)
	write(t, ev, 1, 0)
	require.NoError(t, src.Detach())
	assert.False(t, ev.Enabled())
	tools, _ = usedBy(t, fs, ev.Name())
	assert.Empty(t, tools)
	assert.Equal(t, uint64(1), statsOf(t, src).Pending)
	assert.Equal(t, []sample{{src, 1, 0}}, flushed(t, s))
	assert.Empty(t, flushed(t, s))
	st := statsOf(t, src)
	assert.Equal(t, []uint64{1, 1}, []uint64{st.Matched, st.Read})
	again := attach(t, s, ev, nil)
	write(t, ev, 2, 0)
	assert.Equal(t, []sample{{again, 2, 0}}, flushed(t, s))
}

// TestTwoSessions: each gets all records.
func TestTwoSessions(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	a, b := open(t, fs, nil), open(t, fs, &perf.Options{BufferSize: 1})
	srcA, srcB := attach(t, a, ev, nil), attach(t, b, ev, &perf.AttachOptions{Filter: "seq == 2"})
	for i := range uint64(3) {
		write(t, ev, i, 0)
	}
	assert.Equal(t, []sample{{srcA, 0, 0}, {srcA, 1, 0}, {srcA, 2, 0}}, flushed(t, a))
	require.NoError(t, a.Close())
	assert.True(t, ev.Enabled(), "for the other one")
	write(t, ev, 2, 1)
	assert.Equal(t, []sample{{srcB, 2, 0}, {srcB, 2, 1}}, flushed(t, b))
}

// TestCountOnly: counting needs no rings.
func TestCountOnly(t *testing.T) {
	s, ev, src := session(t, nil, &perf.AttachOptions{CountOnly: true, Filter: "seq >= 10"})
	for i := range uint64(100) {
		write(t, ev, i, 0)
	}
	stats := perf.MustStats(t, s)
	assert.Zero(t, stats.Rings)
	assert.Equal(t, []live.Counts{{Name: src.String(), Matched: 90, CountOnly: true}}, stats.Sources)
	require.NoError(t, src.Detach())
	st, err := src.Stats()
	require.NoError(t, err)
	assert.Equal(t, uint64(90), st.Matched)
	assert.Empty(t, flushed(t, s))
}

// TestProcesses: records of other processes are counted and not returned.
func TestProcesses(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, &perf.AttachOptions{Processes: map[int32]bool{}})
	write(t, ev, 1, 0)
	assert.Empty(t, flushed(t, s))
	st := statsOf(t, src)
	assert.Equal(t, []uint64{1, 1, 1}, []uint64{st.Matched, st.Read, st.Excluded})
	mine := open(t, fs, nil)
	src = attach(t, mine, ev, &perf.AttachOptions{Processes: map[int32]bool{1 << 30: true, int32(syscall.Getpid()): true}})
	write(t, ev, 2, 0)
	assert.Equal(t, []sample{{src, 2, 0}}, flushed(t, mine))
}

// TestAttachErrors: each error has its reason, and leaves no descriptors open.
func TestAttachErrors(t *testing.T) {
	tfs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, tfs, nil)
	_, err := s.Attach(newName(), nil)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "start a program that registers it")
	for _, name := range []string{"", "../x", "a/b", ":"} {
		_, err := s.Attach(name, nil)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
	}
	for _, filter := range []string{" ", "a\nb", "a\x00"} {
		_, err := s.Attach(ev.Name(), &perf.AttachOptions{Filter: filter})
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", filter)
	}
	_, err = perf.Open(tfs, &perf.Options{Cgroup: "/nonexistent"})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = open(t, tracefs.At(t.TempDir()), nil).Attach("x", nil)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Error(t, s.Snapshot(func(*live.Record) error { return nil }))

	nowhere := open(t, tfs, &perf.Options{Cgroup: t.TempDir()})
	_, err = nowhere.Attach(ev.Name(), nil)
	assert.ErrorContains(t, err, "Options.Cgroup needs")
	assert.False(t, ev.Enabled())

	// Descriptors are counted before any is opened.
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	less := before
	less.Cur = 20
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less))
	few := open(t, tfs, nil)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
	for err = nil; err == nil; {
		_, err = few.Attach(ev.Name(), nil)
	}
	assert.ErrorIs(t, err, syscall.EMFILE)
	assert.ErrorContains(t, err, "descriptors are needed for")
	assert.ErrorContains(t, err, "RLIMIT_NOFILE")
}

// TestFilter: the kernel records what matches, and errors of a filter have its explanation.
func TestFilter(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, &perf.AttachOptions{Filter: "seq >= 2 && writer == 1"})
	for i := range uint64(5) {
		write(t, ev, i, i%2)
	}
	assert.Equal(t, []sample{{src, 3, 1}}, flushed(t, s))
	assert.Equal(t, uint64(1), statsOf(t, src).Matched)

	before, err := fs.Instances()
	require.NoError(t, err)
	for filter, text := range map[string]string{
		"nosuch == 1": "Field not found, at byte", "seq >": "nvalid",
		"(seq == 1": "Too many '('", "seq == 1)": "Too few '('", "seq == \"": "Missing matching quote",
	} {
		_, err = s.Attach(ev.Name(), &perf.AttachOptions{Filter: filter})
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", filter)
		assert.ErrorContains(t, err, text, "%q", filter)
	}
	after, err := fs.Instances()
	require.NoError(t, err)
	assert.Equal(t, before, after, "explanations leave nothing behind")
}

// TestPauseDisables: the kernel disables the event while its source is paused, and every record that was written is read.
func TestPauseDisables(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, &perf.AttachOptions{Filter: "seq < 100"})
	var want []sample
	for i := range uint64(3) {
		assert.True(t, ev.Enabled())
		write(t, ev, i, 0)
		want = append(want, sample{src, i, 0})
		require.NoError(t, src.Pause())
		assert.False(t, ev.Enabled())
		tools, _ := usedBy(t, fs, ev.Name())
		assert.Empty(t, tools)
		require.NoError(t, src.Resume())
	}
	write(t, ev, 100, 0) // the filter rejects it
	assert.Equal(t, want, flushed(t, s))
	st := statsOf(t, src)
	assert.Equal(t, []uint64{3, 3, 0, 0, 3}, []uint64{st.Matched, st.Read, st.Lost, st.Pending, st.Pauses})
	assert.Positive(t, st.Paused)
}

// stepClock moves the machine's clock.
func stepClock(t *testing.T, by time.Duration) {
	t.Helper()
	to := syscall.NsecToTimeval(time.Now().Add(by).UnixNano())
	require.NoError(t, syscall.Settimeofday(&to))
}

// TestClockSteps: the machine's clock is set back and forth while records come. All arrive in the order in which they were
// written, and have the time that the clock shows once the session has looked at it again.
func TestClockSteps(t *testing.T) {
	s, ev, src := session(t, nil, nil)
	var seq, monotonic uint64
	for _, step := range []time.Duration{0, -time.Hour, 2 * time.Hour, -time.Hour} {
		stepClock(t, step)
		before := time.Now()
		write(t, ev, seq, 0)
		require.NoError(t, s.Flush())
		var r live.Record
		require.NoError(t, s.ReadInto(&r))
		assert.Equal(t, sample{src, seq, 0}, sampleOf(t, &r))
		assert.Greater(t, r.Monotonic, monotonic)
		assert.WithinRange(t, r.Time, before.Add(-time.Minute), time.Now().Add(time.Minute), "after %v", step)
		require.ErrorIs(t, s.ReadInto(&r), perf.ErrFlushed)
		seq, monotonic = seq+1, r.Monotonic
	}
	stats := perf.MustStats(t, s)
	assert.Zero(t, stats.Late)
	assert.Equal(t, seq, statsOf(t, src).Read)
}
