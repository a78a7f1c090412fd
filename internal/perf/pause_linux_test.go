package perf_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
)

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
