package ueventstrace

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/eventspan"
)

// recordingSpan is a span that is written as events. Its methods do what those of the SDK's spans do, except for what
// the package comment lists.
type recordingSpan struct {
	embedded.Span

	provider *TracerProvider
	around   trace.Span // the nearest one that is not of this type: nil, or what the span propagates is that one's

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
	switch {
	case s.provider.propagates:
		return s.EventSpanContext()
	case s.around == nil:
		return trace.SpanContext{}
	default:
		return s.around.SpanContext()
	}
}

// EventSpanContext returns the ids that the span has in events.
func (s *recordingSpan) EventSpanContext() trace.SpanContext {
	return s.data.context.withState(s.data.state)
}

// TracerProvider returns the provider whose tracer has started the span.
func (s *recordingSpan) TracerProvider() trace.TracerProvider { return s.provider }

// IsRecording reports whether the span has not ended.
func (s *recordingSpan) IsRecording() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended
}

// End ends the span and writes it, with its links and events. Of the options, only WithTimestamp has an effect.
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
	s.provider.processor.end(&s.data)
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
		s.data.attributes.AddAll(list, &s.provider.attributes)
	}
}

// AddEvent adds an event.
func (s *recordingSpan) AddEvent(name string, options ...trace.EventOption) {
	c := trace.NewEventConfig(component.WithoutNil(options)...)
	s.add(name, &c)
}

// RecordError adds an event that describes an error. It does not change the status.
func (s *recordingSpan) RecordError(err error, options ...trace.EventOption) {
	if err == nil || !s.IsRecording() {
		return
	}
	options = append(slices.Clip(component.WithoutNil(options)), trace.WithAttributes(
		semconv.ExceptionType(attrs.TypeName(err)),
		semconv.ExceptionMessage(attrjson.ErrorText(err)), // a method Error that panics must not do so only while a tool is attached
	))
	c := trace.NewEventConfig(options...)
	if c.StackTrace() {
		options = append(options, trace.WithAttributes(semconv.ExceptionStacktrace(stack())))
		c = trace.NewEventConfig(options...)
	}
	s.add(semconv.ExceptionEventName, &c)
}

func (s *recordingSpan) add(name string, c *trace.EventConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.addEvent(name, c)
	}
}

// AddLink adds a link, unless it says nothing.
func (s *recordingSpan) AddLink(link trace.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.addLink(link)
	}
}

// maxStack is the size of a stack trace that the SDK records.
const maxStack = 2048

// stack returns the stack of the goroutine.
func stack() string {
	buf := make([]byte, maxStack)
	return string(buf[:runtime.Stack(buf, false)])
}
