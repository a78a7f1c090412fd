package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
)

// TestLogr: the output of the handler that logr has stays the same, and a tool gets all records, the debug records among them.
func TestLogr(t *testing.T) {
	r := newRig(t)
	events := r.handler("shop")
	out, records := observed(r, "shop_*", events.Stats,
		func(out *output) { serveLogr(logr.FromSlogHandler(text(out)), 7) },
		func(out *output) { serveLogr(newLogr(text(out), events), 7) })
	assert.Equal(t, [][]string{
		{"shop_debug", "-4", "cache miss", `{"request":7,"logger":"controller","key":"user:41"}`},
		{"shop_info", "0", "request served", `{"request":7,"logger":"controller","route":"/users/{id}","status":200}`},
		{"shop_error", "8", "query failed", `{"request":7,"logger":"controller","err":"connection reset","user":41}`},
	}, fields(records, "event", "level", "message", "attributes"))
	assert.NotContains(t, out, "cache miss")
	assert.Contains(t, out, "query failed")
}

// TestLogrLimits tests the limits that README.md names.
func TestLogrLimits(t *testing.T) {
	r := newRig(t)
	events, err := sloghandler.New("shop", &sloghandler.Options{Provider: r.provider, TraceContext: oteltrace.Context})
	assert.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, events.Close()) })
	tool := r.attach("shop_*")
	log := newLogr(slog.DiscardHandler, events)

	for _, v := range []int{0, 1, 4, 9} {
		log.V(v).Info("verbosity")
	}
	assert.Equal(t, [][]string{{"shop_info", "0"}, {"shop_debug", "-1"}, {"shop_debug", "-4"}, {"shop_debug", "-9"}},
		fields(r.records(tool), "event", "level"), "there are no warnings")

	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(context.Background(), span)
	logr.FromContextOrDiscard(logr.NewContext(ctx, log)).Info("in a span")
	slog.New(events).InfoContext(ctx, "by slog")
	assert.Equal(t, [][]string{{"in a span", ""}, {"by slog", span.TraceID().String()}},
		fields(r.records(tool), "message", "trace_id"), "logr's calls have no context, so records have no ids")

	// A LogSink that is no slog.Handler.
	var direct, through output
	sink := func(out *output) logr.Logger {
		return funcr.NewJSON(func(line string) { _, _ = out.Write([]byte(line + "\n")) }, funcr.Options{})
	}
	sink(&direct).Error(errors.New("refused"), "failed")
	newLogr(logr.ToSlogHandler(sink(&through)), events).Error(errors.New("refused"), "failed")
	assert.Contains(t, direct.String(), `"error":"refused"`)
	assert.Contains(t, through.String(), `"error":null,"err":"refused"`, "the name of its error changes")
	assert.Equal(t, [][]string{{`{"err":"refused"}`}}, fields(r.records(tool), "attributes"))
}
