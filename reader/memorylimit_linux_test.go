//go:build !386 && !arm && !mips && !mipsle

package reader_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
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
		flood(t, func() bool { return l.Enabled(ctx, slog.LevelDebug) }, func() { l.Debug("flood") })
		l.Error("failed")
		failures++
	}
	testscale.Eventually(t, func() bool { next(); return l.Enabled(ctx, slog.LevelDebug) }, "it stays disabled")
	// Of an event that the program registers, and floods, before the reader has seen it.
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	defer p.Close()
	late, err := p.Register(tracepoint.MustParse("mem_limit_late u32 n"), nil)
	require.NoError(t, err)
	flood(t, late.Enabled, func() {
		_, err := late.WriteRecord(make([]byte, uevents.IndexSize+4))
		require.NoError(t, err)
	})
	testscale.Eventually(t, func() bool { next(); return late.Enabled() }, "it stays disabled")
	require.NoError(t, r.Stop())
	next()
	elapsed := time.Since(began) //nolint:forbidigo // what is measured
	assert.Equal(t, failures, read["failed"])
	for _, n := range seconds {
		assert.LessOrEqual(t, n, limit+1, "the second may end between the check and the record")
	}
	st, err := r.Stats()
	require.NoError(t, err)
	limitedEvents := []string{"user_events:mem_limit_debug", "user_events:mem_limit_late"}
	for _, s := range st.Events {
		assert.Equal(t, slices.Contains(limitedEvents, s.Name), s.Limited > 0, s.Name)
		assert.Less(t, s.Limited, elapsed)
		if s.Name == "user_events:mem_limit_debug" {
			assert.EqualValues(t, 3, s.LimitedTimes)
		}
	}
	var limited time.Duration
	times := uint64(0)
	for _, n := range notices() {
		if n.Kind == reader.NoticeLimited {
			assert.Contains(t, limitedEvents, n.Event)
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

// flood writes until an event is disabled. A program that keeps to a limit has disabled it long before the last of a million records.
func flood(t *testing.T, enabled func() bool, write func()) {
	t.Helper()
	for n := 0; enabled(); n++ {
		require.Less(t, n, 1_000_000, "it stays enabled")
		write()
	}
}

// TestMemoryShare: of a program in shared memory above its share of bytes, the reader disables the events that have more than an equal part
// of it until the next second, and not that of errors.
func TestMemoryShare(t *testing.T) {
	testscale.HostOnly(t)
	r, notices := openMemory(t, reader.Options{
		Events: []string{"mem_share"}, Excludes: []string{"*_request"}, ProgramLimit: reader.ProgramLimit{Bytes: 10_000}, Poll: time.Millisecond,
	})
	l := slog.New(memoryProgram(t, "mem_share"))
	written, read := map[string]int{}, map[string]int{}
	next := func() {
		r.SetDeadline(time.Now().Add(time.Millisecond))
		for ev := (reader.Event{}); ; {
			err := r.Next(&ev)
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.EOF) {
				return
			}
			require.NoError(t, err)
			read[ev.Message]++
		}
	}
	ctx := context.Background()
	floods := []slog.Level{slog.LevelDebug, slog.LevelInfo}
	for range 2 {
		for _, level := range floods {
			testscale.Eventually(t, func() bool { next(); return l.Enabled(ctx, level) }, "it stays disabled")
			testscale.Eventually(t, func() bool {
				for range 20 {
					if l.Enabled(ctx, level) {
						l.Log(ctx, level, "flood")
						written["flood"]++
					}
				}
				next()
				return !l.Enabled(ctx, level)
			}, "it stays enabled")
		}
		require.True(t, l.Enabled(ctx, slog.LevelError))
		l.Error("failed")
		written["failed"]++
	}
	require.NoError(t, r.Stop())
	next()
	assert.Equal(t, written, read)
	st, err := r.Stats()
	require.NoError(t, err)
	for _, s := range st.Events {
		of := slices.Contains([]string{"user_events:mem_share_debug", "user_events:mem_share_info"}, s.Name)
		assert.Equal(t, of, s.Limited > 0 && s.LimitedTimes >= 2, s.Name)
	}
	var times uint64
	for _, n := range notices() {
		if n.Kind == reader.NoticeLimited {
			times += n.Count
		}
	}
	assert.Equal(t, st.Total.LimitedTimes, times)
}
