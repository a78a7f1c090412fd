package benchmarks

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// The record that all contenders write: its first five attributes, and the other five of the
// largest one. Nearly all log calls have five at most.
const (
	message = "http request"

	method  = "GET"
	route   = "/users/{id}"
	status  = 200
	latency = 1500 * time.Microsecond
	cached  = false

	host    = "shop-7"
	size    = 5120
	attempt = 1
	load    = 0.25
	secure  = true

	// What a bound logger has in each of its records.
	service = "shop"
	shard   = 7
)

// What the logger of a request is bound to. Variables, since constants do not allocate when they become arguments.
var (
	requestID = "4bf92f3577b34da6"
	user      = "alice"
	tenant    = 4711
	errServe  = errors.New("connection reset by peer")
)

// scenario is what a log call carries.
type scenario struct {
	name  string
	attrs int  // 0, 5 or 10
	bound bool // the logger has two attributes of its own

	each bool // of spans only: the caller asks for the tracer of each span

	// Of slog's loggers only.
	request bool // binds a logger to three attributes, for this record
	failed  bool // binds a logger to an error, and writes no record
}

var (
	none      = scenario{name: "none"}
	five      = scenario{name: "five", attrs: 5}
	ten       = scenario{name: "ten", attrs: 10}
	bound     = scenario{name: "bound", attrs: 5, bound: true}
	scenarios = []scenario{none, five, ten, bound}

	request = scenario{name: "request", attrs: 5, request: true}
	failed  = scenario{name: "error", failed: true}
)

// parts are what the text of a record has to contain: keys and values.
func (s scenario) parts() []string {
	parts := []string{message}
	if s.attrs >= 5 {
		parts = append(parts, "method", method, "route", route, "status", "200", "latency", "cached", "false")
	}
	if s.attrs == 10 {
		parts = append(parts, "host", host, "size", "5120", "attempt", "load", "0.25", "secure", "true")
	}
	if s.bound {
		parts = append(parts, "service", service, "shard", "7")
	}
	if s.request {
		parts = append(parts, "request_id", requestID, "user", user, "tenant", "4711")
	}
	return parts
}

// slogCall makes the record with slog, in the form that allocates least.
func slogCall(h slog.Handler, s scenario) func() {
	if s.bound {
		h = h.WithAttrs([]slog.Attr{slog.String("service", service), slog.Int("shard", shard)})
	}
	logger, ctx := slog.New(h), context.Background()
	switch {
	case s.failed:
		return func() { logger.With("err", errServe) }
	case s.request:
		return func() {
			logger.With("request_id", requestID, "user", user, "tenant", tenant).LogAttrs(ctx, slog.LevelInfo, message,
				slog.String("method", method), slog.String("route", route), slog.Int("status", status),
				slog.Duration("latency", latency), slog.Bool("cached", cached))
		}
	case s.attrs == 0:
		return func() { logger.LogAttrs(ctx, slog.LevelInfo, message) }
	case s.attrs == 5:
		return func() {
			logger.LogAttrs(ctx, slog.LevelInfo, message,
				slog.String("method", method), slog.String("route", route), slog.Int("status", status),
				slog.Duration("latency", latency), slog.Bool("cached", cached))
		}
	}
	return func() {
		logger.LogAttrs(ctx, slog.LevelInfo, message,
			slog.String("method", method), slog.String("route", route), slog.Int("status", status),
			slog.Duration("latency", latency), slog.Bool("cached", cached),
			slog.String("host", host), slog.Int("size", size), slog.Int("attempt", attempt),
			slog.Float64("load", load), slog.Bool("secure", secure))
	}
}
