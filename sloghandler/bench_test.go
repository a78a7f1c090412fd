package sloghandler_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// request makes the log call that all benchmarks make: five attributes, as many as nearly
// all calls have at most.
func request(log *slog.Logger) {
	log.LogAttrs(context.Background(), slog.LevelInfo, "http request",
		slog.String("method", "GET"),
		slog.String("route", "/users/{id}"),
		slog.Int("status", 200),
		slog.Duration("latency", 1500*time.Microsecond),
		slog.Bool("cached", false),
	)
}

// accepting is a handler that accepts everything and does nothing: slog's own share of a call.
type accepting struct{}

func (accepting) Enabled(context.Context, slog.Level) bool  { return true }
func (accepting) Handle(context.Context, slog.Record) error { return nil }
func (h accepting) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h accepting) WithGroup(string) slog.Handler           { return h }

func modelled(b *testing.B, o sloghandler.Options) (*sloghandler.Handler, *ueventstest.Kernel) {
	k := ueventstest.New(b, &ueventstest.Options{BufferSize: 1 << 16})
	o.Provider = k.Provider()
	h, err := sloghandler.New("app", &o)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, o.Provider.Close()) })
	return h, k
}

// BenchmarkForms is a log call while no tool is attached, by the form in which it is written.
func BenchmarkForms(b *testing.B) {
	h, _ := modelled(b, sloghandler.Options{})
	log, ctx := slog.New(h), context.Background()
	status, route := 200, "/users/{id}"
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Info", func() {
			log.Info("http request", "method", "GET", "route", route, "status", status*10, "latency", time.Millisecond, "cached", false)
		}},
		{"LogAttrs", func() { request(log) }},
		{"Logger.Enabled", func() {
			if log.Enabled(ctx, slog.LevelInfo) {
				request(log)
			}
		}},
		{"Handler.Enabled", func() {
			if h.Enabled(ctx, slog.LevelInfo) {
				request(log)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call()
			}
		})
	}
}

// BenchmarkManyAttributes is a record that is truncated, beside what slog.JSONHandler writes of it.
func BenchmarkManyAttributes(b *testing.B) {
	h, k := modelled(b, sloghandler.Options{})
	recordtest.Attach(b, k, ueventstest.Ftrace, "app_*")
	for name, h := range map[string]slog.Handler{"json": slog.NewJSONHandler(io.Discard, nil), "events": h} {
		for _, n := range []int{200, 300, 1000} {
			attrs := make([]slog.Attr, n)
			for i := range attrs {
				attrs[i] = slog.String(fmt.Sprint("attribute", i), "a short text")
			}
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				log := slog.New(h)
				for b.Loop() {
					log.LogAttrs(b.Context(), slog.LevelInfo, "m", attrs...)
				}
			})
		}
	}
}
