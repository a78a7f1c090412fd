package ueventstrace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// TestGate: somebody attaches, and the next span is one; the last one leaves, and the next is
// none.
func TestGate(t *testing.T) {
	rig := newRig(t)
	provider := ueventstrace.NewTracerProvider(rig.provider, rig.Processor)
	tracer := provider.Tracer("my/package", trace.WithInstrumentationVersion("v1.2.3"))

	ctx, idle := tracer.Start(t.Context(), "nobody")
	assert.Equal(t, t.Context(), ctx)
	assert.False(t, idle.IsRecording())
	assert.False(t, idle.SpanContext().IsValid())
	assert.Same(t, provider, idle.TracerProvider())
	idle.SetAttributes(attribute.Int("n", 1))
	idle.AddEvent("e")
	idle.AddLink(trace.Link{})
	idle.RecordError(assert.AnError)
	idle.SetStatus(codes.Error, "")
	idle.SetName("x")
	idle.End()

	tr := rig.attach(t, "app_span_event")
	ctx, span := tracer.Start(fromRemote(t.Context(), "vendor=1"), "somebody")
	assert.True(t, span.IsRecording())
	assert.Equal(t, remote.TraceID(), span.SpanContext().TraceID())
	span.AddEvent("e")
	tr.Detach()

	_, child := tracer.Start(ctx, "nobody again")
	assert.False(t, child.IsRecording())
	assert.Equal(t, span.SpanContext(), child.SpanContext(), "what is sent on is the caller's context")
	assert.Same(t, provider, child.TracerProvider())
	child.End()
	assert.True(t, span.IsRecording(), "the parent goes on")
	span.End()
	assert.Len(t, rig.memory.GetSpans(), 1)

	_, nothing := ueventstrace.NewTracerProvider(nil, rig.Processor).Tracer("x").Start(t.Context(), "s")
	assert.False(t, nothing.IsRecording())
}

// TestGatePropagates: without tracers the context that came in goes out.
func TestGatePropagates(t *testing.T) {
	rig := newRig(t)
	tracer := ueventstrace.NewTracerProvider(rig.provider, rig.Processor).Tracer("x")
	in := fromRemote(t.Context(), "vendor=1")
	ctx, span := tracer.Start(in, "s")
	assert.Equal(t, in, ctx)
	assert.Equal(t, trace.SpanContextFromContext(in), span.SpanContext())
	assert.Equal(t, span.SpanContext(), trace.SpanContextFromContext(ctx))
	var none context.Context
	ctx, span = tracer.Start(none, "s")
	assert.NotNil(t, ctx)
	assert.False(t, span.SpanContext().IsValid())
}

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("not under the race detector: it allocates")
	}
	rig := newRig(t)
	tracer := ueventstrace.NewTracerProvider(rig.newProvider(), rig.Processor).Tracer("x")
	root, from := t.Context(), fromRemote(t.Context(), "vendor=1")
	recording, span := rig.newProvider().Tracer("other").Start(t.Context(), "s")
	defer span.End()
	require.True(t, span.IsRecording())
	start := func(ctx context.Context) func() {
		return func() {
			_, s := tracer.Start(ctx, "s")
			s.End()
		}
	}
	assert.Zero(t, testing.AllocsPerRun(100, start(root)), "without a parent")
	assert.Zero(t, testing.AllocsPerRun(100, start(from)), "with a remote parent")
	assert.Equal(t, 2.0, testing.AllocsPerRun(100, start(recording)), "inside of a span that records: the span and its context")
	noops := noop.NewTracerProvider().Tracer("x")
	assert.Positive(t, testing.AllocsPerRun(100, func() { noops.Start(root, "s") }), "what OpenTelemetry's no-op tracer needs")
}
