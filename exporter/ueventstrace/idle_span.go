package ueventstrace

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/internal/eventspan"
)

// idleSpan is a span that started while the events were disabled, and its context: one object, as that is all that such a span
// allocates. Spans inside of it that start while the events are disabled are the same one.
//
// It propagates what its caller propagates. Once a tool attaches, it writes the events and links that are added to it:
// the tool sees what a request does that began before.
type idleSpan struct {
	context.Context // the caller's
	trace.Span      // the same, nil for a root; never called but for SpanContext

	tracer *tracer
	ids    atomic.Pointer[identity]
}

var _ eventspan.Span = (*idleSpan)(nil)

// Value returns the span for the keys of package trace and [eventspan], and the caller's values for all others.
func (s *idleSpan) Value(key any) any {
	if key == spanKey || key == any(eventspan.Key{}) {
		return s
	}
	return s.Context.Value(key)
}

// String returns what other contexts with a span return. Package fmt would print the fields, which change.
func (s *idleSpan) String() string { return contextText(s.Context, s) }

func (s *idleSpan) SpanContext() trace.SpanContext { return local(s.Span) }

func (s *idleSpan) EventSpanContext() trace.SpanContext {
	ids := s.identity()
	return ids.withState(s.SpanContext().TraceState())
}

// identity returns the ids of the span that records belong to: the recorded one around it, or its caller.
// A root gets ids when the first record needs them, so that all records of a request have the same.
func (s *idleSpan) identity() identity {
	if s.Span != nil {
		if ids := identityAround(s.Context, s.Span); ids.IsValid() {
			return ids
		}
	}
	if s.ids.Load() == nil {
		ids := new(identity)
		ids.setNewIDs()
		s.ids.CompareAndSwap(nil, ids)
	}
	return *s.ids.Load()
}

// IsRecording reports whether the span takes events: the event for these is enabled.
func (s *idleSpan) IsRecording() bool { return s.tracer.sink.enabled(spanEvent) != nil }

func (s *idleSpan) AddEvent(name string, options ...trace.EventOption) {
	if s.tracer.all.Enabled() {
		s.add(name, eventConfig(options))
	}
}

func (s *idleSpan) RecordError(err error, options ...trace.EventOption) {
	if err != nil && s.tracer.all.Enabled() {
		s.add(errorEvent(err, options))
	}
}

func (s *idleSpan) add(name string, c trace.EventConfig) {
	ids := s.identity()
	s.tracer.sink.Handle(s.tracer.writeEvent(&ids, name, &c))
}

func (s *idleSpan) AddLink(link trace.Link) {
	if s.tracer.all.Enabled() && !saysNothing(&link) {
		ids := s.identity()
		s.tracer.sink.Handle(s.tracer.writeLink(&ids, &link))
	}
}

func (s *idleSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }
func (*idleSpan) End(...trace.SpanEndOption)             {}
func (*idleSpan) SetName(string)                         {}
func (*idleSpan) SetStatus(codes.Code, string)           {}
func (*idleSpan) SetAttributes(...attribute.KeyValue)    {}
