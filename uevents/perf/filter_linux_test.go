package perf_test

import (
	"io"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents/perf"
)

func TestFilter(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, nil)
	src := attach(t, s, ev, &perf.AttachOptions{Filter: "seq >= 2 && writer == 1"})
	round := func() (seqs []uint64) {
		for i := range uint64(5) {
			write(t, ev, i, i%2)
		}
		for _, r := range flushed(t, s) {
			seqs = append(seqs, r.seq)
		}
		return seqs
	}
	assert.Equal(t, []uint64{3}, round())
	assert.Equal(t, uint64(1), statsOf(t, src).Matched)
	require.NoError(t, src.SetFilter("seq < 2"))
	assert.Equal(t, []uint64{0, 1}, round())
	require.NoError(t, src.SetFilter(""))
	assert.Equal(t, []uint64{0, 1, 2, 3, 4}, round())

	before, err := fs.Instances()
	require.NoError(t, err)
	for filter, text := range map[string]string{
		"nosuch == 1": "Field not found, at byte", "seq >": "nvalid",
		"(seq == 1": "Too many '('", "seq == 1)": "Too few '('", "seq == \"": "Missing matching quote",
	} {
		err := src.SetFilter(filter)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", filter)
		assert.ErrorContains(t, err, text, "%q", filter)
		_, err = s.Attach(ev.Name(), &perf.AttachOptions{Filter: filter})
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", filter)
		assert.ErrorContains(t, err, text, "%q", filter)
	}
	after, err := fs.Instances()
	require.NoError(t, err)
	assert.Equal(t, before, after, "explanations leave nothing behind")
	assert.Equal(t, []uint64{0, 1, 2, 3, 4}, round(), "the filter before stays")
	statsOf(t, src)
}

// TestFilterWhileWriting: no record that both filters let pass is lost or read twice.
func TestFilterWhileWriting(t *testing.T) {
	fs := kerneltest.Require(t)
	const each = 4000
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{BufferSize: 1 << 20})
	src := attach(t, s, ev, &perf.AttachOptions{Filter: "seq >= 0"})
	var writing, reading sync.WaitGroup
	for w := range uint64(2) {
		writing.Go(func() {
			for range each {
				write(t, ev, 5, w) // all alike: only their number tells
			}
		})
	}
	got := 0
	reading.Go(func() {
		var err error
		for r := (perf.Record{}); err == nil; {
			if err = s.ReadInto(&r); err == nil {
				got++
			}
		}
		assert.ErrorIs(t, err, io.EOF)
	})
	for _, filter := range []string{"seq >= 1", "seq == 5", "", "seq < 9", "writer < 7"} {
		require.NoError(t, src.SetFilter(filter))
	}
	writing.Wait()
	require.NoError(t, s.Stop())
	reading.Wait()
	st := statsOf(t, src)
	require.Zero(t, st.Lost, "the test needs rings that are large enough")
	assert.Equal(t, 2*each, got)
	assert.Equal(t, uint64(2*each), st.Matched)
}
