package ueventstrace

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// addEvent adds an event to the span. The caller holds the lock.
func (s *recordingSpan) addEvent(name string, c *trace.EventConfig) {
	d, limits := &s.data, &s.provider.limits
	list, dropped := limited(c.Attributes(), limits.AttributePerEventCountLimit)
	attrs.LimitDepth(list, limits.AttributeValueDepthLimit)
	event := sdktrace.Event{Name: name, Attributes: list, DroppedAttributeCount: dropped, Time: c.Timestamp()}
	d.events = queue(d.events, event, limits.EventCountLimit, &d.droppedEvents)
}

// addLink adds a link to the span, unless it says nothing. The caller holds the lock.
func (s *recordingSpan) addLink(link trace.Link) {
	if !link.SpanContext.IsValid() && len(link.Attributes) == 0 && link.SpanContext.TraceState().Len() == 0 {
		return
	}
	d, limits := &s.data, &s.provider.limits
	list, dropped := limited(link.Attributes, limits.AttributePerLinkCountLimit)
	list = slices.Clone(list) // the caller's
	attrs.LimitDepth(list, limits.AttributeValueDepthLimit)
	d.links = queue(d.links, sdktrace.Link{SpanContext: link.SpanContext, Attributes: list, DroppedAttributeCount: dropped},
		limits.LinkCountLimit, &d.droppedLinks)
}

// limited returns the first limit attributes of an event or a link, and how many others there are. As in the SDK, a key
// may be there twice and values are of any length, other than in spans.
func limited(list []attribute.KeyValue, limit int) (kept []attribute.KeyValue, dropped int) {
	if limit >= 0 && len(list) > limit {
		return list[:limit], len(list) - limit
	}
	return list, 0
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
