package reader_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestErrorsSurviveFlood: debug records that fill the rings do not make the kernel lose an error.
func TestErrorsSurviveFlood(t *testing.T) {
	fs := kerneltest.Require(t)
	h, err := sloghandler.New("flooded", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	r, err := reader.Open(&reader.Options{Tracefs: fs.Path(), Events: []string{"flooded"}, BufferSize: 1})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	logger := slog.New(h)
	const errors = 10 // a ring has room for them
	for i := range errors {
		for range 200 {
			logger.Debug("flood")
		}
		logger.Error("failed", "n", i)
	}
	require.NoError(t, r.Stop())
	read := 0
	for ev := (reader.Event{}); ; {
		err := r.Next(&ev)
		if err == io.EOF { //nolint:errorlint // it is returned as it is
			break
		}
		require.NoError(t, err)
		if ev.Severity == reader.SeverityError {
			n, _ := ev.Lookup("n")
			assert.EqualValues(t, read, n.Int64())
			read++
		}
	}
	assert.Equal(t, errors, read)
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, 2*st.CPUs, st.Rings)
	assert.Equal(t, os.Getpagesize(), st.BufferSize)
	for _, s := range st.Events {
		assert.Equal(t, s.Matched, s.Read+s.Lost, s.Name)
		assert.Equal(t, s.Name == "user_events:flooded_debug", s.Lost > 0, "%+v", s)
	}
}

// TestEventsOfKernel: events of rings are kept while these are written again, and the end of the context wakes the loop.
func TestEventsOfKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	h, err := sloghandler.New("kept", nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	r, err := reader.Open(&reader.Options{Tracefs: fs.Path(), Events: []string{"kept"}, BufferSize: 1, Latency: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	logger := slog.New(h)
	const records, portion = 500, 10 // a ring has room for a portion
	write := func(from int) {
		for i := from; i < from+portion; i++ {
			logger.Info(fmt.Sprint("message ", i), "n", i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var kept []*reader.Event
	write(0)
	for ev, err := range r.Events(ctx) {
		require.NoError(t, err)
		switch kept = append(kept, ev); {
		case len(kept) == records:
			go cancel() // the loop waits, or is about to
		case len(kept)%portion == 0:
			write(len(kept))
		}
	}
	require.Len(t, kept, records)
	for i, ev := range kept {
		n, _ := ev.Lookup("n")
		assert.Equal(t, fmt.Sprint("message ", i), ev.Message)
		assert.EqualValues(t, i, n.Int64())
		assert.Contains(t, string(ev.Raw), ev.Message)
	}
}
