//go:build !386 && !arm && !mips && !mipsle

package reader_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

// TestMemoryLimit: a program in shared memory writes so many records of an event in a second, also of one that appears later, and all
// errors. The reader says for how long records are missing.
func TestMemoryLimit(t *testing.T) {
	testscale.HostOnly(t)
	const limit = 20
	r, notices := openMemory(t, reader.Options{Events: []string{"mem_limit"}, Excludes: []string{"*_request"}, Limit: limit, Poll: time.Millisecond})
	l := slog.New(memoryProgram(t, "mem_limit"))
	began := time.Now()
	failures, seconds, read := 0, map[uint64]int{}, map[string]int{}
	next := func() {
		r.SetDeadline(time.Now().Add(time.Millisecond))
		for ev := (reader.Event{}); ; {
			err := r.Next(&ev)
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.EOF) {
				return
			}
			require.NoError(t, err)
			if read[ev.Message]++; ev.Message == "flood" {
				seconds[ev.Monotonic/uint64(time.Second)]++
			}
		}
	}
	ctx := context.Background()
	for range 3 {
		testscale.Eventually(t, func() bool { next(); return l.Enabled(ctx, slog.LevelDebug) }, "it stays disabled")
		for l.Enabled(ctx, slog.LevelDebug) {
			l.Debug("flood")
		}
		l.Error("failed")
		failures++
	}
	testscale.Eventually(t, func() bool { next(); return l.Enabled(ctx, slog.LevelDebug) }, "it stays disabled")
	require.NoError(t, r.Stop())
	next()
	elapsed := time.Since(began)
	assert.Equal(t, failures, read["failed"])
	for _, n := range seconds {
		assert.LessOrEqual(t, n, limit+1, "the second may end between the check and the record")
	}
	st, err := r.Stats()
	require.NoError(t, err)
	assert.EqualValues(t, 3, st.Total.LimitedTimes)
	assert.Positive(t, st.Total.Limited)
	assert.Less(t, st.Total.Limited, elapsed)
	for _, s := range st.Events {
		assert.Equal(t, s.Name == "user_events:mem_limit_debug", s.Limited > 0, s.Name)
	}
	var limited time.Duration
	times := uint64(0)
	for _, n := range notices() {
		if n.Kind == reader.NoticeLimited {
			assert.Equal(t, "user_events:mem_limit_debug", n.Event)
			limited += n.Gap
			times += n.Count
		}
	}
	assert.Equal(t, []any{st.Total.Limited, st.Total.LimitedTimes}, []any{limited, times})
	require.NoError(t, r.Close())
	closed, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, st.Total, closed.Total)
}
