package perf_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
)

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
