package ueventstrace

import (
	"context"
	"reflect"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/userevents/userevents-go/internal/eventspan"
)

// tracer starts the spans of one instrumentation scope.
type tracer struct {
	embedded.Tracer

	sink     *sink // of the provider: the check that comes first takes two loads less
	provider *TracerProvider
	origin   *origin
	idle     *idleSpan // the span without a context
}

// Start starts a span. It is recorded if an event of the provider is enabled.
func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !t.sink.All.Enabled() {
		return t.startIdle(ctx, options)
	}
	return t.startRecording(ctx, name, options)
}

// startRecording starts a span that is recorded, and writes its start.
func (t *tracer) startRecording(ctx context.Context, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	o := readOptions(options)
	s, room := newSpan(o.length)
	s.provider = t.provider
	d := &s.data
	d.kind, d.name, d.origin = trace.SpanKindInternal, name, t.origin
	if ctx == nil {
		ctx = context.Background()
	}
	if newRoot := len(options) > 0 && s.apply(&o, options, room); !newRoot {
		s.enter(ctx, trace.SpanFromContext(ctx))
	}
	d.context.setNewIDs()
	if d.start.IsZero() {
		d.start = time.Now()
	}
	t.provider.processor.start(d)
	return &spanContext{ctx, s}, s
}

// enter makes the span one inside of that of its context, which may be that of a context without a span. The trace in events is
// the caller's, so that events correlate with what other programs record, or that of the nearest recorded span.
func (s *recordingSpan) enter(ctx context.Context, parent trace.Span) {
	if reflect.TypeOf(parent) == noSpan {
		return
	}
	d := &s.data
	s.around = parent
	caller := parent.SpanContext()
	switch p := eventspan.Of(ctx, parent).(type) {
	case *recordingSpan:
		d.parent = p.data.context
		if parent == trace.Span(p) && !p.provider.propagates {
			s.around = p.around
		}
	case *idleSpan:
		d.parent = p.recorded
	}
	if !d.parent.IsValid() {
		d.parent = identityOf(caller)
	}
	d.context.traceID = caller.TraceID()
	if !d.context.traceID.IsValid() {
		d.context.traceID = d.parent.traceID
	}
	d.context.flags, d.state = caller.TraceFlags(), caller.TraceState()
}

// startIdle returns a span that does not record, and a context that propagates the same as that of a recorded span. It
// allocates only inside of a span that records, where what is done to the new span must have no effect on the other one;
// for a new root; and with links.
func (t *tracer) startIdle(ctx context.Context, options []trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		return context.Background(), t.idle
	}
	parent := trace.SpanFromContext(ctx)
	if reflect.TypeOf(parent) == noSpan {
		return ctx, t.idle
	}
	caller, recording := parent.SpanContext(), parent.IsRecording()
	if len(options) > 0 && isNewRoot(options) {
		return &spanContext{ctx, t.idle}, t.idle
	}
	if !recording {
		return ctx, parent // what is done to it has no effect
	}
	idle := &idleSpan{provider: t.provider, propagated: caller, recorded: recordedIdentity(eventspan.Of(ctx, parent))}
	return &spanContext{ctx, idle}, idle
}

// noSpan is the type of the span of a context that has none.
var noSpan = reflect.TypeOf(trace.SpanFromContext(context.Background()))
