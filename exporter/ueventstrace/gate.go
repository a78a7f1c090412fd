package ueventstrace

import (
	"context"

	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// TracerProvider is a [oteltrace.TracerProvider] in front of another one. While nobody traces
// the events of a processor, Start of its tracers is one load and one branch and returns a
// span that does not record and has the span context of the caller, so that the trace's
// context is sent on as it came in. Somebody attaches, and the next span is one of the provider behind. It
// comes from [NewTracerProvider].
//
// What its tracers let through is what somebody traces. So the provider behind it is to have
// that processor only: others, such as one that batches for a collector, would see no span
// while nobody traces. With others, use [NewSampler].
type TracerProvider struct {
	embedded.TracerProvider

	gate  *sink
	inner oteltrace.TracerProvider
}

var _ oteltrace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider whose tracers are those of inner while anybody traces
// the events of gate. Shut inner down when the program ends. A nil inner means one that does
// nothing.
func NewTracerProvider(inner oteltrace.TracerProvider, gate *Processor) *TracerProvider {
	if inner == nil {
		inner = noop.NewTracerProvider()
	}
	return &TracerProvider{gate: gate.sink, inner: inner}
}

// Tracer returns a tracer whose spans record nothing while nobody traces.
func (p *TracerProvider) Tracer(name string, options ...oteltrace.TracerOption) oteltrace.Tracer {
	return &tracer{gate: p.gate, inner: p.inner.Tracer(name, options...), idle: &idleSpan{provider: p}}
}

type tracer struct {
	embedded.Tracer

	gate  *sink
	inner oteltrace.Tracer
	idle  *idleSpan // the span without a context
}

// Start starts a span of the tracer behind, if anybody traces.
func (t *tracer) Start(ctx context.Context, name string, options ...oteltrace.SpanStartOption) (context.Context, oteltrace.Span) {
	if !t.gate.All.Enabled() {
		return t.startIdle(ctx)
	}
	return t.inner.Start(ctx, name, options...)
}

// startIdle returns a span that does not record. It allocates only inside of a span that
// does, which was started while somebody traced or by another provider.
func (t *tracer) startIdle(ctx context.Context) (context.Context, oteltrace.Span) {
	if ctx == nil {
		return context.Background(), t.idle
	}
	span := oteltrace.SpanFromContext(ctx)
	if span.SpanContext().TraceID() == (oteltrace.TraceID{}) {
		return ctx, t.idle
	}
	if span.IsRecording() {
		// The caller will end what it gets.
		span = &idleSpan{provider: t.idle.provider, sc: span.SpanContext()}
		return oteltrace.ContextWithSpan(ctx, span), span
	}
	return ctx, span // what is done to it has no effect
}

// idleSpan does not record and has the context of the span around it.
type idleSpan struct {
	noop.Span

	provider *TracerProvider
	sc       oteltrace.SpanContext
}

func (s *idleSpan) SpanContext() oteltrace.SpanContext { return s.sc }

func (s *idleSpan) TracerProvider() oteltrace.TracerProvider { return s.provider }
