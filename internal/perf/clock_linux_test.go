package perf_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
)

// stepClock moves the machine's clock.
func stepClock(t *testing.T, by time.Duration) {
	t.Helper()
	to := syscall.NsecToTimeval(time.Now().Add(by).UnixNano())
	require.NoError(t, syscall.Settimeofday(&to))
}

// TestClockSteps: the machine's clock is set back and forth while records come. All arrive in the order in which they were
// written, and have the time that the clock shows once the session has looked at it again.
func TestClockSteps(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, nil)
	var seq, monotonic uint64
	for _, step := range []time.Duration{0, -time.Hour, 2 * time.Hour, -time.Hour} {
		stepClock(t, step)
		before := time.Now()
		write(t, ev, seq, 0)
		require.NoError(t, s.Flush())
		var r perf.Record
		require.NoError(t, s.ReadInto(&r))
		assert.Equal(t, sample{src, seq, 0}, sampleOf(t, &r))
		assert.Greater(t, r.Monotonic, monotonic)
		assert.WithinRange(t, r.Time, before.Add(-time.Minute), time.Now().Add(time.Minute), "after %v", step)
		require.ErrorIs(t, s.ReadInto(&r), perf.ErrFlushed)
		seq, monotonic = seq+1, r.Monotonic
	}
	stats, err := s.Stats()
	require.NoError(t, err)
	assert.Zero(t, stats.Late)
	assert.Equal(t, seq, statsOf(t, src).Read)
}
