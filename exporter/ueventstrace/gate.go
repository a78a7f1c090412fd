package ueventstrace

import (
	"context"

	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// TracerProvider is an [oteltrace.TracerProvider] in front of another one. While the events of a processor are
// disabled, its tracers start no spans: after one load and one branch, Start returns a span that does not record and has the
// caller's span context, so that the propagated span context does not change. Once a tool attaches, new
// spans are recorded by the provider behind it. [NewTracerProvider] returns TracerProviders.
//
// The provider behind it should have that processor only: others, such as one that batches for a collector, would see
// spans only while a tool is attached. With others, use [NewSampler].
type TracerProvider struct {
	embedded.TracerProvider

	gate  *sink
	inner oteltrace.TracerProvider
}

var _ oteltrace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider whose tracers are those of inner while an event of gate is enabled. Shut inner
// down when the program ends. A nil inner means one that does nothing.
func NewTracerProvider(inner oteltrace.TracerProvider, gate *Processor) *TracerProvider {
	if inner == nil {
		inner = noop.NewTracerProvider()
	}
	return &TracerProvider{gate: gate.sink, inner: inner}
}

// Tracer returns a tracer whose spans do not record while the events are disabled.
func (p *TracerProvider) Tracer(name string, options ...oteltrace.TracerOption) oteltrace.Tracer {
	return &tracer{gate: p.gate, inner: p.inner.Tracer(name, options...), idle: &idleSpan{provider: p}}
}

type tracer struct {
	embedded.Tracer

	gate  *sink
	inner oteltrace.Tracer
	idle  *idleSpan // the span without a context
}

// Start starts a span of the inner tracer if an event is enabled.
func (t *tracer) Start(ctx context.Context, name string, options ...oteltrace.SpanStartOption) (context.Context, oteltrace.Span) {
	if !t.gate.All.Enabled() {
		return t.startIdle(ctx)
	}
	return t.inner.Start(ctx, name, options...)
}

// startIdle returns a span that does not record. It allocates only inside of a span that does, which was started while
// an event was enabled, or by another provider.
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
