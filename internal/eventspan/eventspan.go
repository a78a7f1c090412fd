// Package eventspan finds the ids that a span has in events.
//
// A span of package ueventstrace propagates the ids of its caller, so that attaching a tracing tool changes nothing for
// other programs. The ids that it was recorded with are in its events only. Log records that are written inside of the
// span need them, too.
package eventspan

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Span is a span whose ids in events are not those that it propagates.
type Span interface {
	// EventSpanContext returns the ids that the span has in events.
	EventSpanContext() trace.SpanContext
}

// FromContext returns the ids that the span of ctx has in events, and an empty context without a span. It does not
// allocate.
func FromContext(ctx context.Context) trace.SpanContext {
	span := trace.SpanFromContext(ctx)
	if s, ok := span.(Span); ok {
		return s.EventSpanContext()
	}
	return span.SpanContext()
}
