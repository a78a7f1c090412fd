package ueventstrace

import (
	"context"
	"reflect"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/uevents"
)

// tracer starts the spans of one instrumentation scope.
type tracer struct {
	embedded.Tracer

	all      *uevents.Group // of the sink: the check that comes first takes two loads less
	sink     *sink          // of the provider
	provider *TracerProvider
	origin   *origin
}

// Start starts a span. It is recorded if an event of the provider is enabled.
func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !t.all.Enabled() {
		return t.startIdle(ctx, options)
	}
	return t.startRecording(ctx, name, options)
}

// startIdle returns a span that is not recorded, and its context. It does not allocate inside of another such span.
func (t *tracer) startIdle(ctx context.Context, options []trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	caller := trace.SpanFromContext(ctx)
	if reflect.TypeOf(caller) == noSpan || len(options) > 0 && isNewRoot(options) {
		caller = nil
	} else if s, ok := caller.(*idleSpan); ok && s.tracer.provider == t.provider {
		return ctx, s
	}
	s := &idleSpan{Context: ctx, Span: caller, tracer: t}
	return s, s
}

// startRecording starts a span that is recorded, and writes its start.
func (t *tracer) startRecording(ctx context.Context, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	o := readOptions(options)
	s, room := newSpan(o.length)
	s.tracer = t
	d := &s.data
	d.kind, d.name, d.origin = trace.SpanKindInternal, name, t.origin
	if ctx == nil {
		ctx = context.Background()
	}
	var links []trace.Link
	newRoot := false
	if len(options) > 0 {
		links, newRoot = s.apply(&o, options, room)
	}
	isRoot := newRoot || !s.enter(ctx, trace.SpanFromContext(ctx))
	if isRoot && t.provider.propagates {
		d.context.flags |= trace.FlagsSampled // services that follow their parent would drop what says 0
	}
	d.context.setNewIDs()
	if d.start.IsZero() {
		d.start = time.Now()
	}
	t.provider.processor.start(d)
	for i := range links {
		s.AddLink(links[i])
	}
	return &spanContext{ctx, s}, s
}

// enter makes the span one inside of that of its context, which may be that of a context without a span. The trace in events is
// the caller's, so that events correlate with what other programs record, or that of the nearest recorded span. enter reports
// whether the caller propagates a span.
func (s *recordingSpan) enter(ctx context.Context, parent trace.Span) bool {
	if reflect.TypeOf(parent) == noSpan {
		return false
	}
	d := &s.data
	caller := parent.SpanContext()
	d.parent = identityAround(ctx, parent)
	switch p := parent.(type) { // what is propagated is that of a span further out, and others need not be kept
	case *recordingSpan:
		if !p.tracer.provider.propagates {
			parent = p.Span
		}
	case *idleSpan:
		parent = p.Span
	}
	s.Span = parent
	d.context.traceID = caller.TraceID()
	if !d.context.traceID.IsValid() {
		d.context.traceID = d.parent.traceID
	}
	d.context.flags, d.state = caller.TraceFlags(), caller.TraceState()
	return caller.IsValid()
}

// identityAround returns the ids of the parent of a record in a span, which is that of ctx: those that the nearest span of this
// package has in events, or if there is none those that the span propagates.
func identityAround(ctx context.Context, span trace.Span) identity {
	switch p := eventspan.Of(ctx, span).(type) {
	case *recordingSpan:
		return p.data.context
	case *idleSpan:
		return p.identity()
	default:
		return identityOf(span.SpanContext())
	}
}

// local returns what a span propagates inside of another one, or as a root.
func local(caller trace.Span) trace.SpanContext {
	if caller == nil {
		return trace.SpanContext{}
	}
	return caller.SpanContext().WithRemote(false)
}

// noSpan is the type of the span of a context that has none.
var noSpan = reflect.TypeOf(trace.SpanFromContext(context.Background()))
