package perf_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
)

// snapshot returns the records in overwritten rings.
func snapshot(t *testing.T, s *perf.Session) (samples []sample) {
	t.Helper()
	require.NoError(t, s.Snapshot(func(r *perf.Record) error {
		samples = append(samples, sampleOf(t, r))
		return nil
	}))
	return samples
}

// TestSnapshot: overwritten rings hold the latest records, and each is read once.
func TestSnapshot(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1, Overwrite: true})
	src := attach(t, s, ev, nil)
	assert.ErrorIs(t, s.ReadInto(new(perf.Record)), syscall.EINVAL)
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
	stats, err := s.Stats()
	require.NoError(t, err)
	assert.Empty(t, stats.Sources)
	assert.Zero(t, stats.Malformed)
	assert.Equal(t, all+3, stats.Detached.Matched)
}

// TestSnapshotCallback: the callback may stop, detach and close.
func TestSnapshotCallback(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{Overwrite: true})
	src := attach(t, s, ev, nil)
	for i := range uint64(10) {
		write(t, ev, i, 0)
	}
	enough := errors.New("enough")
	n := 0
	assert.ErrorIs(t, s.Snapshot(func(r *perf.Record) error {
		if n++; n == 3 {
			assert.Error(t, s.Snapshot(func(*perf.Record) error { return nil }), "one runs")
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
	assert.NoError(t, s.Snapshot(func(*perf.Record) error { return s.Close() }))
	assert.Error(t, s.Snapshot(func(*perf.Record) error { return nil }))
}

// TestSnapshotWhileWriting: records written meanwhile are lost or come later, and no record is corrupt.
func TestSnapshotWhileWriting(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1, Overwrite: true})
	src := attach(t, s, ev, nil)
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
	stats, err := s.Stats()
	require.NoError(t, err)
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
	counts := func() (st perf.SourceStats) {
		st, err := src.Stats()
		require.NoError(t, err)
		return st
	}
	var hits, lost uint64
	for range 5 {
		start := counts().Matched
		testscale.Eventually(t, func() bool { return counts().Matched > start+2*ring/record }, "the rings do not fill")
		before := counts()
		require.NoError(t, s.Snapshot(func(*perf.Record) error { return nil }))
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
