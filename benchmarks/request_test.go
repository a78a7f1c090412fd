package benchmarks

import (
	"context"
	"log/slog"
	"time"
)

// The record that everybody writes: five attributes, as many as nearly all log calls have at
// most.
const (
	message = "http request"
	method  = "GET"
	route   = "/users/{id}"
	status  = 200
	latency = 1500 * time.Microsecond
	cached  = false
)

// slogCall makes the record with slog, in the form that does not allocate.
func slogCall(h slog.Handler) func() {
	logger, ctx := slog.New(h), context.Background()
	return func() {
		logger.LogAttrs(ctx, slog.LevelInfo, message,
			slog.String("method", method), slog.String("route", route), slog.Int("status", status),
			slog.Duration("latency", latency), slog.Bool("cached", cached))
	}
}
