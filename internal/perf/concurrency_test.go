package perf

import (
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestConcurrency: all methods run concurrently while CPUs go offline and online. At the end each record is accounted
// for.
func TestConcurrency(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, fs := k.start(t, &Options{BufferSize: 1, Tasks: true})
	id, other := fs.add("user_events", "ev"), fs.add("user_events", "other")
	src := mustAttach(t, s, "ev", nil)
	const each = 2000
	var all sync.WaitGroup
	for cpu := range 2 {
		all.Go(func() {
			for i := range each {
				k.mu.Lock()
				k.mono += 1000
				now := uint64(k.mono)
				k.mu.Unlock()
				k.hit(id, cpu, now, "text")
				if i%3 == 0 {
					k.hit(other, cpu, now, "other")
				}
			}
		})
	}
	for _, f := range []func(){
		func() {
			src, err := s.Attach("other", nil)
			assert.NoError(t, err)
			assert.NoError(t, src.Detach())
		},
		func() {
			_, err := s.Stats()
			assert.NoError(t, err)
		},
		func() { assert.NoError(t, s.Flush()) },
		func() { s.SetDeadline(testscale.Deadline()) },
		func() { s.Look() },
		func() { s.Overran() },
	} {
		all.Go(func() {
			for range 50 {
				f()
			}
		})
	}
	read, last := uint64(0), error(nil)
	var reading sync.WaitGroup
	reading.Go(func() {
		for r := (Record{}); last == nil || errors.Is(last, ErrFlushed); {
			if last = s.ReadInto(&r); last == nil && r.Source == src {
				read++
			}
		}
	})
	all.Wait()
	require.NoError(t, s.Stop())
	reading.Wait()
	assert.Equal(t, io.EOF, last)
	stats, err := s.Stats()
	require.NoError(t, err)
	require.NotEmpty(t, stats.Sources)
	st := stats.Sources[0]
	assert.Equal(t, src.String(), st.Name)
	assert.Equal(t, read, st.Read)
	assert.Equal(t, st.Matched, st.Read+st.Lost)
	assert.Zero(t, stats.Malformed)
	total := stats.Total()
	assert.Equal(t, total.Matched, total.Read+total.Lost)
	assert.Zero(t, total.Pending)
}
