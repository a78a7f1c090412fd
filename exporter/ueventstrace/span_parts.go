package ueventstrace

import (
	"runtime"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/attrjson"
)

// Events and links of a span are written when they are added, by the goroutine that adds them: a tool sees what a request
// does that hangs, and a program that is killed loses none. In the Common Schema they are in the record of the span, which
// holds them until it ends.

// addEvent adds an event to a span, and writes it.
func (s *recordingSpan) addEvent(name string, c trace.EventConfig) {
	t, d := s.tracer, &s.data
	s.mu.Lock()
	var err error
	switch {
	case s.ended:
	case t.sink.CommonSchema4:
		d.events = queue(d.events, t.newEvent(name, &c), t.provider.limits.EventCountLimit, &d.droppedEvents)
	default: // before End, which has the lock, so that a tool that sees the span has seen its events
		d.eventCount++
		err = t.writeEvent(&d.context, name, &c)
	}
	s.mu.Unlock()
	t.sink.Handle(err)
}

// AddLink adds a link, unless it says nothing, and writes it.
func (s *recordingSpan) AddLink(link trace.Link) {
	if saysNothing(&link) {
		return
	}
	t, d := s.tracer, &s.data
	s.mu.Lock()
	var err error
	switch {
	case s.ended:
	case t.sink.CommonSchema4:
		d.links = queue(d.links, t.newLink(&link), t.provider.limits.LinkCountLimit, &d.droppedLinks)
	default:
		d.linkCount++
		err = t.writeLink(&d.context, &link)
	}
	s.mu.Unlock()
	t.sink.Handle(err)
}

func saysNothing(link *trace.Link) bool {
	return !link.SpanContext.IsValid() && len(link.Attributes) == 0 && link.SpanContext.TraceState().Len() == 0
}

// writeEvent writes an event of the span that has these ids, if the event for these is enabled.
func (t *tracer) writeEvent(span *identity, name string, c *trace.EventConfig) error {
	on := t.sink.enabled(spanEvent)
	if on == nil {
		return nil
	}
	event := t.newEvent(name, c)
	return t.sink.writeEvent(on, span, t.origin, &event)
}

// writeLink writes a link of the span that has these ids, if the event for these is enabled.
func (t *tracer) writeLink(span *identity, link *trace.Link) error {
	on := t.sink.enabled(spanLink)
	if on == nil {
		return nil
	}
	l := t.newLink(link)
	return t.sink.writeLink(on, span, t.origin, &l)
}

// newEvent returns an event within the limits.
func (t *tracer) newEvent(name string, c *trace.EventConfig) sdktrace.Event {
	p := t.provider
	list, dropped := limited(c.Attributes(), p.limits.AttributePerEventCountLimit, p.attributes.Depth)
	return sdktrace.Event{Name: name, Attributes: list, DroppedAttributeCount: dropped, Time: c.Timestamp()}
}

// newLink returns a link within the limits.
func (t *tracer) newLink(link *trace.Link) sdktrace.Link {
	p := t.provider
	list, dropped := limited(link.Attributes, p.limits.AttributePerLinkCountLimit, p.attributes.Depth)
	if t.sink.CommonSchema4 {
		list = slices.Clone(list) // the caller's
	}
	return sdktrace.Link{SpanContext: link.SpanContext, Attributes: list, DroppedAttributeCount: dropped}
}

// limited returns the first limit attributes of an event or a link, with values of a limited depth, and how many others there
// are. As in the SDK, a key may be there twice and values are of any length, other than in spans.
func limited(list []attribute.KeyValue, limit, depth int) (kept []attribute.KeyValue, dropped int) {
	if limit >= 0 && len(list) > limit {
		list, dropped = list[:limit], len(list)-limit
	}
	return attrs.LimitedDepth(list, depth), dropped
}

// queue appends to a list of at most limit elements, or of any number if limit is negative. The oldest makes room; dropped counts.
func queue[E any](list []E, e E, limit int, dropped *int) []E {
	if limit == 0 {
		*dropped++
		return list
	}
	if len(list) == limit {
		*dropped++
		copy(list, list[1:])
		list[limit-1] = e
		return list
	}
	return append(list, e)
}

// eventConfig returns the configuration of an event.
func eventConfig(options []trace.EventOption) trace.EventConfig {
	return trace.NewEventConfig(component.WithoutNil(options)...)
}

// errorEvent returns the name and the configuration of the event that describes an error.
func errorEvent(err error, options []trace.EventOption) (string, trace.EventConfig) {
	options = append(slices.Clip(component.WithoutNil(options)), trace.WithAttributes(
		semconv.ExceptionType(attrs.TypeName(err)),
		semconv.ExceptionMessage(attrjson.ErrorText(err)), // a method Error that panics must not do so only while a tool is attached
	))
	c := trace.NewEventConfig(options...)
	if c.StackTrace() {
		options = append(options, trace.WithAttributes(semconv.ExceptionStacktrace(stack())))
		c = trace.NewEventConfig(options...)
	}
	return semconv.ExceptionEventName, c
}

// maxStack is the size of a stack trace that the SDK records.
const maxStack = 2048

// stack returns the stack of the goroutine.
func stack() string {
	buf := make([]byte, maxStack)
	return string(buf[:runtime.Stack(buf, false)])
}
