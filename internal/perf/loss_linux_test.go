package perf_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestLost: records that do not fit the rings are counted for each event, even if no record follows.
func TestLost(t *testing.T) {
	fs := kerneltest.Require(t)
	a, b := newEvent(t), newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1})
	srcA, srcB := attach(t, s, a, nil), attach(t, s, b, nil)
	var writtenA, writtenB uint64
	round := func() (lost uint64) {
		for range 100 {
			write(t, a, writtenA, 0)
			write(t, a, writtenA+1, 0)
			write(t, b, writtenB, 1)
			writtenA, writtenB = writtenA+2, writtenB+1
		}
		return statsOf(t, srcA).Lost + statsOf(t, srcB).Lost
	}
	for before, last := uint64(0), false; !last; {
		lost := round()
		last, before = lost == before+300, lost // until the rings of all CPUs are full
	}
	stats := perf.MustStats(t, s)
	assert.Equal(t, os.Getpagesize(), stats.BufferSize)
	assert.Equal(t, stats.CPUs, stats.Rings)
	require.Len(t, stats.Sources, 2)
	for i, src := range []*perf.Source{srcA, srcB} {
		st := statsOf(t, src)
		assert.Equal(t, stats.Sources[i], st)
		assert.Equal(t, []uint64{writtenA, writtenB}[i], st.Matched)
		assert.Zero(t, st.Read)
		assert.NotZero(t, st.Pending)
		assert.NotZero(t, st.Lost)
		assert.False(t, st.AtLeast)
		assert.Equal(t, "user_events:"+[]*uevents.Event{a, b}[i].Name(), st.Name)
	}
	got := map[any]uint64{}
	for _, r := range flushed(t, s) {
		assert.Less(t, r.seq, []uint64{writtenA - 200, writtenB - 100}[r.writer], "the last ones were lost")
		got[r.source]++
	}
	for i, src := range []*perf.Source{srcA, srcB} {
		st := statsOf(t, src)
		assert.Equal(t, stats.Sources[i].Lost, st.Lost, "it was counted before any record followed")
		assert.Zero(t, st.Pending)
		assert.Equal(t, got[src], st.Read)
	}

	// When the rings have room again, no records are lost.
	lost := statsOf(t, srcA).Lost
	for i := range uint64(10) {
		write(t, a, i, 7)
	}
	assert.Equal(t, uint64(10), statsOf(t, srcA).Pending)
	assert.Len(t, flushed(t, s), 10)
	assert.Equal(t, lost, statsOf(t, srcA).Lost)
	stats = perf.MustStats(t, s)
	assert.Zero(t, stats.Malformed)
}

// TestLostBefore6: where the kernel does not count the lost records of an event, they are known when the rest is read.
func TestLostBefore6(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1})
	s.WithoutLostCounts()
	src := attach(t, s, ev, nil)
	stats := perf.MustStats(t, s)
	written := uint64(100 * stats.CPUs) // more than fit the rings of all CPUs
	for i := range written {
		write(t, ev, i, 0)
	}
	st := statsOf(t, src)
	assert.True(t, st.AtLeast)
	assert.Equal(t, []uint64{written, 0, written}, []uint64{st.Matched, st.Lost, st.Pending})
	read := uint64(len(flushed(t, s)))
	require.NoError(t, s.Stop())
	require.ErrorIs(t, s.ReadInto(new(live.Record)), io.EOF)
	st = statsOf(t, src)
	assert.False(t, st.AtLeast)
	assert.Equal(t, []uint64{written, read, written - read, 0}, []uint64{st.Matched, st.Read, st.Lost, st.Pending})
	assert.Positive(t, st.Lost)
}

// TestLostAtFullRate: the equation of the counts holds when writers on all CPUs and the reader run at the same time.
func TestLostAtFullRate(t *testing.T) {
	fs := kerneltest.Require(t)
	const writers, each = 4, 5000
	p := program(t)
	var events []*uevents.Event
	var sources []*perf.Source
	s := open(t, fs, &perf.Options{BufferSize: 1})
	for range writers {
		ev := register(t, p, newName())
		events = append(events, ev)
		sources = append(sources, attach(t, s, ev, nil))
	}
	got := map[sample]int{}
	var reading sync.WaitGroup
	reading.Go(func() {
		for r := (live.Record{}); s.ReadInto(&r) == nil; {
			got[sampleOf(t, &r)]++
		}
	})
	var writing sync.WaitGroup
	for i, ev := range events {
		writing.Go(func() {
			for n := range uint64(each) {
				write(t, ev, n, uint64(i))
			}
		})
	}
	writing.Wait()
	require.NoError(t, s.Stop())
	reading.Wait()
	read := map[any]uint64{}
	for r, times := range got {
		assert.Equal(t, 1, times, "%+v", r)
		assert.Same(t, sources[r.writer], r.source)
		read[r.source]++
	}
	var lost uint64
	for _, src := range sources {
		st := statsOf(t, src)
		assert.Equal(t, uint64(each), st.Matched)
		assert.Equal(t, read[src], st.Read)
		assert.Zero(t, st.Pending)
		lost += st.Lost
	}
	t.Logf("%d of %d lost", lost, writers*each)
	require.NoError(t, s.Close())
	stats := perf.MustStats(t, s)
	assert.Empty(t, stats.Sources)
	total := stats.Total()
	assert.Equal(t, uint64(writers*each), total.Matched, "the counts stay")
	assert.Equal(t, lost, total.Lost)
	assert.Equal(t, total.Matched, total.Read+total.Lost)
}

// TestNotReadBeforeClose: records that Close drops are counted.
func TestNotReadBeforeClose(t *testing.T) {
	s, ev, src := session(t, nil, nil)
	write(t, ev, 1, 1)
	assert.Len(t, flushed(t, s), 1)
	write(t, ev, 2, 1)
	require.NoError(t, s.Close())
	st := statsOf(t, src)
	assert.Equal(t, []uint64{2, 1, 1, 0}, []uint64{st.Matched, st.Read, st.Lost, st.Pending})
}

// TestRings: events with a ring of their own do not lose records to others.
func TestRings(t *testing.T) {
	fs := kerneltest.Require(t)
	flood, rare := newEvent(t), newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1})
	floodSrc, rareSrc := attach(t, s, flood, nil), attach(t, s, rare, &perf.AttachOptions{Ring: "rare"})
	for i := range uint64(1000) {
		write(t, flood, i, 0)
	}
	write(t, rare, 1000, 0)
	got := flushed(t, s)
	assert.Equal(t, sample{rareSrc, 1000, 0}, got[len(got)-1])
	assert.NotZero(t, statsOf(t, floodSrc).Lost)
	assert.Zero(t, statsOf(t, rareSrc).Lost)
}

// snapshot returns the records in overwritten rings.
func snapshot(t *testing.T, s *perf.Session) (samples []sample) {
	t.Helper()
	require.NoError(t, s.Snapshot(func(r *live.Record) error {
		samples = append(samples, sampleOf(t, r))
		return nil
	}))
	return samples
}

// TestSnapshot: overwritten rings hold the latest records, and each is read once.
func TestSnapshot(t *testing.T) {
	s, ev, src := session(t, &perf.Options{BufferSize: 1, Overwrite: true}, nil)
	assert.ErrorIs(t, s.ReadInto(new(live.Record)), syscall.EINVAL)
	assert.ErrorIs(t, s.Snapshot(nil), syscall.EINVAL)
	assert.Empty(t, snapshot(t, s))
	var all uint64
	for range 3 {
		const n = 5000
		for range n {
			write(t, ev, all, 0)
			all++
		}
		assert.NotZero(t, statsOf(t, src).Pending)
		got := snapshot(t, s)
		require.Greater(t, len(got), 20)
		require.Less(t, len(got), n)
		assert.Equal(t, all-1, got[len(got)-1].seq, "the latest one")
		for i := range got[1:] { // a CPU that the test left early can have older ones
			assert.Less(t, got[i].seq, got[i+1].seq)
		}
		st := statsOf(t, src)
		assert.Equal(t, all, st.Matched)
		assert.Zero(t, st.Pending)
		assert.NotZero(t, st.Overwritten)
	}
	assert.Empty(t, snapshot(t, s), "each comes once")
	write(t, ev, all, 0)
	write(t, ev, all+1, 0)
	assert.Equal(t, []sample{{src, all, 0}, {src, all + 1, 0}}, snapshot(t, s))

	write(t, ev, all+2, 0)
	require.NoError(t, src.Detach())
	assert.Equal(t, []sample{{src, all + 2, 0}}, snapshot(t, s), "it was recorded before")
	st := statsOf(t, src)
	assert.Equal(t, all+3, st.Matched)
	assert.Zero(t, st.Pending)
	stats := perf.MustStats(t, s)
	assert.Empty(t, stats.Sources)
	assert.Zero(t, stats.Malformed)
	assert.Equal(t, all+3, stats.Detached.Matched)
}

// TestSnapshotCallback: the callback may stop, detach and close.
func TestSnapshotCallback(t *testing.T) {
	s, ev, src := session(t, &perf.Options{Overwrite: true}, nil)
	for i := range uint64(10) {
		write(t, ev, i, 0)
	}
	enough := errors.New("enough")
	n := 0
	assert.ErrorIs(t, s.Snapshot(func(r *live.Record) error {
		if n++; n == 3 {
			assert.Error(t, s.Snapshot(func(*live.Record) error { return nil }), "one runs")
			assert.NoError(t, src.Detach())
			return enough
		}
		return nil
	}), enough)
	assert.Equal(t, 3, n)
	assert.Equal(t, uint64(10), statsOf(t, src).Read)
	attach(t, s, ev, nil)
	write(t, ev, 1, 0)
	write(t, ev, 2, 0)
	assert.NoError(t, s.Snapshot(func(*live.Record) error { return s.Close() }))
	assert.Error(t, s.Snapshot(func(*live.Record) error { return nil }))
}

// TestSnapshotWhileWriting: records written meanwhile are lost or come later, and no record is corrupt.
func TestSnapshotWhileWriting(t *testing.T) {
	s, ev, src := session(t, &perf.Options{BufferSize: 1, Overwrite: true}, nil)
	stop, stopped := make(chan struct{}), make(chan uint64)
	go func() {
		for n := uint64(0); ; n++ {
			select {
			case <-stop:
				stopped <- n
				return
			default:
				write(t, ev, n, ^n)
			}
		}
	}()
	seen := map[uint64]bool{}
	for range testscale.CountConcurrent(50, 15) {
		for _, r := range snapshot(t, s) {
			require.Equal(t, ^r.seq, r.writer)
			require.False(t, seen[r.seq])
			seen[r.seq] = true
		}
	}
	close(stop)
	n := <-stopped
	for _, r := range snapshot(t, s) {
		require.False(t, seen[r.seq])
		seen[r.seq] = true
	}
	st := statsOf(t, src)
	assert.Equal(t, n, st.Matched)
	assert.Equal(t, uint64(len(seen)), st.Read)
	stats := perf.MustStats(t, s)
	assert.Zero(t, stats.Malformed)
}

// TestSnapshotWritesOn: a writer loses nothing while Snapshot copies full rings.
func TestSnapshotWritesOn(t *testing.T) {
	fs := kerneltest.Require(t)
	if runtime.NumCPU() < 2 {
		t.Skip("not on this kernel: no second processor to write on")
	}
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{Overwrite: true})
	src := attach(t, s, ev, nil)
	var done atomic.Bool
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := uint64(0); !done.Load(); n++ {
			write(t, ev, n, ^n)
		}
	})
	const ring, record = 512 << 10, 72 // bytes
	counts := func() (st live.Counts) {
		st, err := src.Stats()
		require.NoError(t, err)
		return st
	}
	var hits, lost uint64
	for range 5 {
		start := counts().Matched
		testscale.Eventually(t, func() bool { return counts().Matched > start+2*ring/record }, "the rings do not fill")
		before := counts()
		require.NoError(t, s.Snapshot(func(*live.Record) error { return nil }))
		after := counts()
		hits, lost = hits+after.Matched-before.Matched, lost+after.Lost-before.Lost
	}
	done.Store(true)
	writing.Wait()
	t.Logf("%d of %d hits during snapshots are lost", lost, hits)
	assert.Positive(t, hits)
	assert.Zero(t, lost)
	assert.Zero(t, counts().Lost)
}
