// Package eventspan finds the ids that a span has in events.
//
// A span of package ueventstrace propagates the ids of its caller, so that attaching a tracing tool changes nothing for
// other programs. The ids that it was recorded with are in its events only. Log records that are written inside of the
// span need them, too.
package eventspan

import (
	"context"
	"reflect"

	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/internal/adapter/spankey"
)

// Span is a span whose ids in events are not those that it propagates. It is in its context under [spankey.Key].
type Span interface {
	trace.Span
	spankey.Span

	// EventSpanContext returns the ids that the span has in events.
	EventSpanContext() trace.SpanContext
}

// Types of the spans of a context without one, and of [trace.ContextWithSpanContext]: with these, a program takes a
// context out of the spans that are in it.
var (
	noSpan   = reflect.TypeOf(trace.SpanFromContext(context.Background()))
	idsAlone = reflect.TypeOf(trace.SpanFromContext(trace.ContextWithSpanContext(context.Background(), trace.SpanContext{})))
)

// Of returns the Span that span is, which is the span of ctx, or the one that span was put around: the nearest one in ctx, if it
// propagates the same ids. Otherwise it returns nil. It does not allocate.
func Of(ctx context.Context, span trace.Span) Span {
	if s, ok := span.(Span); ok {
		return s
	}
	t := reflect.TypeOf(span)
	if t == noSpan {
		return nil
	}
	s, ok := ctx.Value(spankey.Key{}).(Span)
	if !ok {
		return nil
	}
	inner, outer := s.SpanContext(), span.SpanContext()
	if inner.TraceID() != outer.TraceID() || inner.SpanID() != outer.SpanID() || t == idsAlone && !outer.IsValid() {
		return nil
	}
	return s
}

// FromContext returns the ids that the span of ctx has in events, and an empty context without a span. It does not
// allocate.
func FromContext(ctx context.Context) trace.SpanContext {
	span := trace.SpanFromContext(ctx)
	if reflect.TypeOf(span) == noSpan { // most log records of many programs
		return trace.SpanContext{}
	}
	if s := Of(ctx, span); s != nil {
		return s.EventSpanContext()
	}
	return span.SpanContext()
}

// IDs returns those of FromContext as [spankey.Span] does.
func IDs(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	c := FromContext(ctx)
	return c.TraceID(), c.SpanID()
}
