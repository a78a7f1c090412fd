package ueventstrace

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// tracer starts the spans of one instrumentation scope.
type tracer struct {
	embedded.Tracer

	sink     *sink // of the provider: the check that comes first takes two loads less
	provider *TracerProvider
	scope    instrumentation.Scope
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
	s := &recordingSpan{provider: t.provider}
	d := &s.data
	d.kind, d.name, d.scope, d.resource = trace.SpanKindInternal, name, &t.scope, t.provider.resource
	newRoot := false
	if len(options) > 0 {
		c := trace.NewSpanStartConfig(withoutNil(options)...)
		newRoot = c.NewRoot()
		d.kind, d.start = trace.ValidateSpanKind(c.SpanKind()), c.Timestamp()
		for _, link := range c.Links() {
			s.addLink(link)
		}
		s.takeAttributes(c.Attributes())
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if !newRoot {
		parent := trace.SpanFromContext(ctx)
		s.propagated = parent.SpanContext()
		d.parent = recordedContext(parent)
		if !d.parent.IsValid() {
			d.parent = s.propagated
		}
	}
	d.context = newContext(&s.propagated, &d.parent)
	if t.provider.propagates {
		s.propagated = d.context
	}
	if d.start.IsZero() {
		d.start = time.Now()
	}
	t.provider.processor.start(d)
	return trace.ContextWithSpan(ctx, s), s
}

// newContext returns the ids, flags and trace state that a span has in events. Its trace is that of its caller, so that
// events correlate with what other programs record, or that of its recorded parent, or a new one.
func newContext(caller, parent *trace.SpanContext) trace.SpanContext {
	c := trace.SpanContextConfig{TraceID: caller.TraceID(), TraceFlags: caller.TraceFlags(), TraceState: caller.TraceState()}
	if !c.TraceID.IsValid() {
		c.TraceID = parent.TraceID()
	}
	for !c.TraceID.IsValid() {
		binary.NativeEndian.PutUint64(c.TraceID[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(c.TraceID[8:], rand.Uint64())
	}
	for !c.SpanID.IsValid() {
		binary.NativeEndian.PutUint64(c.SpanID[:], rand.Uint64())
	}
	return trace.NewSpanContext(c)
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
		return trace.ContextWithSpan(ctx, t.idle), t.idle
	}
	if !recording {
		return ctx, parent // what is done to it has no effect
	}
	idle := &idleSpan{provider: t.provider, propagated: caller, recorded: recordedContext(parent)}
	return trace.ContextWithSpan(ctx, idle), idle
}

// noSpan is the type of the span of a context that has none.
var noSpan = reflect.TypeOf(trace.SpanFromContext(context.Background()))

// newRootType is the type of WithNewRoot, which is also that of WithLinks and WithSpanKind.
var newRootType = reflect.TypeOf(trace.WithNewRoot())

// isNewRoot reports whether WithNewRoot is one of the options. It does not look into attributes, which cost the most.
func isNewRoot(options []trace.SpanStartOption) bool {
	for i, o := range options {
		if reflect.TypeOf(o) == newRootType {
			if c := trace.NewSpanStartConfig(options[i : i+1]...); c.NewRoot() {
				return true
			}
		}
	}
	return false
}

// withoutNil returns the options that are not nil: OpenTelemetry's functions panic on the others.
func withoutNil[O comparable](options []O) []O {
	var none O
	if !slices.Contains(options, none) {
		return options
	}
	return slices.DeleteFunc(slices.Clone(options), func(o O) bool { return o == none })
}
