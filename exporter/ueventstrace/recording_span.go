package ueventstrace

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/eventspan"
)

// recordingSpan is a span that is written as events. Its methods do what those of the SDK's spans do, except for what
// the package comment lists.
type recordingSpan struct {
	trace.Span // the nearest one around it that is not of this type, or nil; never called but for SpanContext

	tracer *tracer

	mu    sync.Mutex // of the rest, until the span has ended; context and parent never change
	data  spanData
	ended bool
}

var (
	_ trace.Span     = (*recordingSpan)(nil)
	_ eventspan.Span = (*recordingSpan)(nil)
)

// SpanContext returns what the span propagates.
func (s *recordingSpan) SpanContext() trace.SpanContext {
	if s.tracer.provider.propagates {
		return s.EventSpanContext()
	}
	return local(s.Span)
}

// EventSpanContext returns the ids that the span has in events.
func (s *recordingSpan) EventSpanContext() trace.SpanContext {
	return s.data.context.withState(s.data.state)
}

// EventIDs implements [spankey.Span].
func (*recordingSpan) EventIDs(ctx context.Context) ([16]byte, [8]byte) { return eventspan.IDs(ctx) }

// TracerProvider returns the provider whose tracer has started the span.
func (s *recordingSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }

// IsRecording reports whether the span has not ended.
func (s *recordingSpan) IsRecording() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended
}

// End ends the span and writes it. Of the options, only WithTimestamp has an effect.
func (s *recordingSpan) End(options ...trace.SpanEndOption) {
	duration := time.Since(s.data.start) // a difference of the monotonic clock
	var end time.Time
	if len(options) > 0 {
		c := trace.NewSpanEndConfig(component.WithoutNil(options)...)
		if end = c.Timestamp(); !end.IsZero() {
			duration = end.Sub(s.data.start)
		}
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true // from here on, no method changes the data
	s.data.end, s.data.duration = end, duration
	s.mu.Unlock()
	s.tracer.provider.processor.end(&s.data)
}

// SetName replaces the name.
func (s *recordingSpan) SetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.data.name = name
	}
}

// SetStatus sets the status, unless the present one is final: Ok is above Error, which is above Unset.
func (s *recordingSpan) SetStatus(code codes.Code, description string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.data.status.Code > code {
		return
	}
	if code != codes.Error {
		description = ""
	}
	s.data.status = sdktrace.Status{Code: code, Description: description}
}

// SetAttributes adds attributes. The last value of a key wins.
func (s *recordingSpan) SetAttributes(list ...attribute.KeyValue) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.data.attributes.AddAll(list, &s.tracer.provider.attributes)
	}
}

// AddEvent adds an event, and writes it.
func (s *recordingSpan) AddEvent(name string, options ...trace.EventOption) {
	s.addEvent(name, eventConfig(options))
}

// RecordError adds an event that describes an error. It does not change the status.
func (s *recordingSpan) RecordError(err error, options ...trace.EventOption) {
	if err != nil && s.IsRecording() {
		s.addEvent(errorEvent(err, options))
	}
}
