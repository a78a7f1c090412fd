package ueventslog_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// recordedSpan is a span that propagates the ids of its caller and has others in events.
type recordedSpan struct {
	noop.Span
	propagated, recorded trace.SpanContext
}

var _ eventspan.Span = recordedSpan{}

func (s recordedSpan) SpanContext() trace.SpanContext                 { return s.propagated }
func (s recordedSpan) EventSpanContext() trace.SpanContext            { return s.recorded }
func (recordedSpan) EventIDs(ctx context.Context) ([16]byte, [8]byte) { return eventspan.IDs(ctx) }

var recordedSpanID = trace.SpanID{7: 0x5e}

// inRecordedSpan returns a context in a span that has the ids of [inSpan] but for another id of the span in events.
func inRecordedSpan(ctx context.Context) context.Context {
	c := trace.SpanContextFromContext(inSpan(ctx))
	return trace.ContextWithSpan(ctx, recordedSpan{propagated: c, recorded: c.WithSpanID(recordedSpanID)})
}

// inRecordedRoot is inRecordedSpan for a root, which propagates nothing.
func inRecordedRoot(ctx context.Context) context.Context {
	c := trace.SpanContextFromContext(inSpan(ctx))
	return trace.ContextWithSpan(ctx, recordedSpan{recorded: c.WithSpanID(recordedSpanID)})
}

// renames is a processor that gives records another span.
type renames struct{ always }

func (renames) OnEmit(_ context.Context, r *sdklog.Record) error {
	r.SetSpanID(trace.SpanID{1})
	return nil
}

// TestRecordedIDs: records inside of a span have the ids that the span has in events. What another processor has set
// before stays.
func TestRecordedIDs(t *testing.T) {
	rig, tool := traced(t)
	require.Len(t, rig.kernel.Events(), 4)
	renaming := sdklog.NewLoggerProvider(sdklog.WithProcessor(renames{}), sdklog.WithProcessor(rig.Processor))
	for name, c := range map[string]struct {
		provider log.LoggerProvider
		in       func(context.Context) context.Context
		spanID   string
	}{
		"processor":             {rig.provider, inRecordedSpan, recordedSpanID.String()},
		"processor, root":       {rig.provider, inRecordedRoot, recordedSpanID.String()},
		"processor, other span": {rig.provider, inSpan, spanID.String()},
		"changed ids":           {renaming, inRecordedSpan, trace.SpanID{1}.String()},
	} {
		t.Run(name, func(t *testing.T) {
			c.provider.Logger("x").Emit(c.in(t.Context()), record(log.SeverityInfo, "m"))
			got := fields(t, tool)
			assert.Equal(t, c.spanID, got["span_id"])
			assert.Equal(t, traceID.String(), got["trace_id"])
			assert.Equal(t, "1", got["trace_flags"])
		})
	}
	require.NoError(t, rig.Shutdown(t.Context()))
	own := rig.newOwn(t)
	for _, in := range []func(context.Context) context.Context{inRecordedSpan, inRecordedRoot} {
		own.Logger("x").Emit(in(t.Context()), record(log.SeverityInfo, "m"))
		got := fields(t, tool)
		assert.Equal(t, recordedSpanID.String(), got["span_id"])
		assert.Equal(t, traceID.String(), got["trace_id"])
		assert.Equal(t, "1", got["trace_flags"])
	}
}

// TestIDsOfSpans: records have the ids that a span of the provider of package ueventstrace has in its events, whether the
// SDK or a provider of this package makes them.
func TestIDsOfSpans(t *testing.T) {
	rig, bySDK := traced(t)
	own, byOwn := tracedOwn(t)
	spans, err := ueventstrace.NewTracerProvider("app", ueventstrace.WithProvider(rig.borrowed))
	require.NoError(t, err)
	defer func() { require.NoError(t, spans.Shutdown(t.Context())) }()
	starts := rig.attach(t, "app_span_start")
	for _, from := range []context.Context{t.Context(), inSpan(t.Context())} {
		ctx, span := spans.Tracer("x").Start(from, "work")
		started := one(t, starts)
		rig.logger().Emit(ctx, record(log.SeverityInfo, "m"))
		own.Logger("x").Emit(ctx, record(log.SeverityInfo, "m"))
		for _, got := range []map[string]string{fields(t, bySDK), fields(t, byOwn)} {
			for _, id := range []string{"trace_id", "span_id"} {
				assert.NotEmpty(t, got[id])
				assert.Equal(t, field(t, started, id), got[id])
			}
		}
		span.End()
	}
}
