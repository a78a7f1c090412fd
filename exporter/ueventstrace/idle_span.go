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
// It propagates what its caller propagates. Once a tool attaches, it writes the events that are added to it:
// the tool sees what a request does that began before.
type idleSpan struct {
	context.Context // the caller's
	trace.Span      // the same, nil for a root; never called but for SpanContext

	tracer *tracer
	own    atomic.Pointer[trace.TraceID] // of a root
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
	ids, _ := s.identity()
	return ids.withState(s.SpanContext().TraceState())
}

// identity returns the ids of the span that spans inside are children of: the recorded one around it, or its caller.
// A root gets a trace id when the first record needs it, so that all records of a request have the same.
func (s *idleSpan) identity() (ids identity, isRecorded bool) {
	if s.Span != nil {
		if ids, isRecorded = identityAround(s.Context, s.Span); ids.traceID.IsValid() {
			return ids, isRecorded
		}
	}
	if s.own.Load() == nil {
		id := newTraceID()
		s.own.CompareAndSwap(nil, &id)
	}
	return identity{traceID: *s.own.Load()}, false
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

// add writes an event. It belongs to a recorded span, or to none: no record of a span will come for it.
func (s *idleSpan) add(name string, c trace.EventConfig) {
	ids, isRecorded := s.identity()
	if !isRecorded {
		ids.spanID = trace.SpanID{}
	}
	s.tracer.sink.Handle(s.tracer.writeEvent(&ids, name, &c))
}

func (s *idleSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }
func (*idleSpan) End(...trace.SpanEndOption)             {}
func (*idleSpan) SetName(string)                         {}
func (*idleSpan) SetStatus(codes.Code, string)           {}
func (*idleSpan) SetAttributes(...attribute.KeyValue)    {}
func (*idleSpan) AddLink(trace.Link)                     {}
