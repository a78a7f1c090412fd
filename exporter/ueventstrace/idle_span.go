package ueventstrace

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/eventspan"
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
	ids    atomic.Pointer[identity] // nil until they are needed
}

var _ eventspan.Span = (*idleSpan)(nil)

// Value returns the span for the keys of package trace and [spankey], and the caller's values for all others.
func (s *idleSpan) Value(key any) any {
	if isSpanKey(key) {
		return s
	}
	return s.Context.Value(key)
}

// String returns what other contexts with a span return. Package fmt would print the fields, which change.
func (s *idleSpan) String() string { return contextText(s.Context) }

func (s *idleSpan) SpanContext() trace.SpanContext { return local(s.Span) }

func (s *idleSpan) EventSpanContext() trace.SpanContext {
	ids := s.identity()
	return ids.withState(s.SpanContext().TraceState())
}

// EventIDs implements [spankey.Span].
func (*idleSpan) EventIDs(ctx context.Context) ([16]byte, [8]byte) { return eventspan.IDs(ctx) }

// identity returns the ids of the span that spans inside are children of: the recorded one around it, or its caller.
// A root gets a trace id when the first record needs it, so that all records of a request have the same.
func (s *idleSpan) identity() identity {
	if ids := s.ids.Load(); ids != nil {
		return *ids
	}
	var ids identity
	if s.Span != nil {
		ids = identityAround(s.Context, s.Span)
	}
	if !ids.traceID.IsValid() {
		ids.traceID = newTraceID()
	}
	s.ids.CompareAndSwap(nil, &ids)
	return *s.ids.Load()
}

// IsRecording reports whether the span takes events: the event for these is enabled.
func (s *idleSpan) IsRecording() bool { return s.tracer.sink.enabled(spanEvent) != nil }

func (s *idleSpan) AddEvent(name string, options ...trace.EventOption) {
	if s.IsRecording() {
		s.add(name, eventConfig(options))
	}
}

func (s *idleSpan) RecordError(err error, options ...trace.EventOption) {
	if err != nil && s.IsRecording() {
		s.add(errorEvent(err, options))
	}
}

// add writes an event. It belongs to no span: no record of one will come that counts it.
func (s *idleSpan) add(name string, c trace.EventConfig) {
	ids := s.identity()
	ids.spanID = trace.SpanID{}
	s.tracer.sink.Handle(s.tracer.writeEvent(&ids, name, &c))
}

func (s *idleSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }
func (*idleSpan) End(...trace.SpanEndOption)             {}
func (*idleSpan) SetName(string)                         {}
func (*idleSpan) SetStatus(codes.Code, string)           {}
func (*idleSpan) SetAttributes(...attribute.KeyValue)    {}
func (*idleSpan) AddLink(trace.Link)                     {}
