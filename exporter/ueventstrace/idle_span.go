package ueventstrace

import (
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/userevents/userevents-go/internal/eventspan"
)

// idleSpan does not record. It propagates what the span around it propagates, and has the ids of the nearest recorded
// one, so that spans and log records that are written inside of it refer to that.
type idleSpan struct {
	noop.Span

	provider   *TracerProvider
	propagated trace.SpanContext
	recorded   identity
}

var _ eventspan.Span = (*idleSpan)(nil)

func (s *idleSpan) SpanContext() trace.SpanContext { return s.propagated }

func (s *idleSpan) EventSpanContext() trace.SpanContext {
	if s.recorded.IsValid() {
		return s.recorded.withState(s.propagated.TraceState())
	}
	return s.propagated
}

func (s *idleSpan) TracerProvider() trace.TracerProvider { return s.provider }

// recordedIdentity returns the ids that span has in events, if it is one of this package, recorded or inside of a
// recorded one. For nil it is empty.
func recordedIdentity(span eventspan.Span) identity {
	switch s := span.(type) {
	case *recordingSpan:
		return s.data.context
	case *idleSpan:
		return s.recorded
	default:
		return identity{}
	}
}
