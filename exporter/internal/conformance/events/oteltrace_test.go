package events

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// around is a span of the program around another one.
type around struct{ trace.Span }

// TestSlogIDsOfSpans: in a span of package ueventstrace, records of package sloghandler have the ids that the span has in events. The
// span propagates others, and may be within a span of the program's own.
func TestSlogIDsOfSpans(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	provider, err := ueventstrace.NewTracerProvider(program, ueventstrace.WithProvider(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	tool, err := k.Attach(ueventstest.Perf, program+"_span_start")
	require.NoError(t, err)
	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	for _, from := range []context.Context{t.Context(), trace.ContextWithRemoteSpanContext(t.Context(), caller)} {
		ctx, span := provider.Tracer("x").Start(from, "work")
		records := tool.Records()
		require.Len(t, records, 1)
		decoder, err := typed.NewDecoder(records[0].Declaration, nil)
		require.NoError(t, err)
		started, err := decoder.Decode(records[0].Payload)
		require.NoError(t, err)
		for _, ctx := range []context.Context{ctx, trace.ContextWithSpan(ctx, around{span})} {
			traceID, spanID := oteltrace.Context(ctx)
			for name, id := range map[string][]byte{"trace_id": traceID[:], "span_id": spanID[:]} {
				want, _ := started.Lookup(name)
				assert.Equal(t, want.Text(), hex.EncodeToString(id), name)
			}
			assert.Zero(t, testing.AllocsPerRun(100, func() { oteltrace.Context(ctx) }))
		}
		_, spanID := oteltrace.Context(trace.ContextWithSpanContext(ctx, caller.WithSpanID(trace.SpanID{2})))
		assert.Equal(t, [8]byte{2}, spanID, "of another span")
		span.End()
	}
}
