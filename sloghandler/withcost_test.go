package sloghandler_test

import (
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestAllocationsOfWith: a logger of one request takes about as many allocations as with the handlers of slog.
func TestAllocationsOfWith(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it allocates")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pool of buffers
	err := errors.New("connection refused")
	withError := func(h slog.Handler) float64 {
		log := slog.New(h)
		return testing.AllocsPerRun(100, func() { log.With("err", err) })
	}
	type user struct{ Name string }
	withStruct := func(h slog.Handler) float64 {
		log, u := slog.New(h), &user{"alice"}
		return testing.AllocsPerRun(100, func() { log.With("user", u) })
	}
	request := func(h slog.Handler) float64 {
		log := slog.New(h)
		return testing.AllocsPerRun(100, func() { log.With("request_id", "4bf92f3577b34da6", "user", 42, "path", "/x").Info("done") })
	}
	k := ueventstest.New(t, nil)
	p := k.Provider()
	h, err := sloghandler.New("app", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	assert.LessOrEqual(t, withError(h), withError(slog.DiscardHandler)+2, "an error bound while disabled")
	assert.LessOrEqual(t, withStruct(h), withStruct(slog.NewJSONHandler(io.Discard, nil)), "a struct bound while disabled")
	assert.LessOrEqual(t, request(h), request(slog.DiscardHandler)+2, "a request while disabled")
	_, err = k.Attach(ueventstest.Ftrace, "app_*")
	require.NoError(t, err)
	assert.LessOrEqual(t, request(h), request(slog.NewJSONHandler(io.Discard, nil)), "a request while enabled")
	require.NoError(t, h.Close())
	require.NoError(t, p.Close())
}
