package ueventstrace

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// addAttributes adds attributes to the span, as far as the limits allow. The caller holds the lock.
func (s *recordingSpan) addAttributes(list []attribute.KeyValue) {
	d, limit := &s.data, s.provider.limits.AttributeCountLimit
	if limit == 0 {
		d.droppedAttributes += len(list)
		return
	}
	if limit > 0 && len(d.attributes)+len(list) > limit {
		s.addScarceAttributes(list)
		return
	}
	s.appendAttributes(slices.Grow(d.attributes, len(list)), list)
}

// takeAttributes applies the limits to the first attributes, which are in the span as they were given.
func (s *recordingSpan) takeAttributes() {
	list := s.data.attributes
	if limit := s.provider.limits.AttributeCountLimit; limit >= 0 && len(list) > limit {
		s.data.attributes = nil
		s.addAttributes(list)
		return
	}
	limits := &s.provider.limits
	for i := range list {
		if !list[i].Valid() || !isNormal(&list[i], limits) {
			s.appendAttributes(list[:0], list)
			return
		}
	}
	s.duplicates = len(list) > 1
}

// appendAttributes appends attributes to those that the span has. Keys may be there twice until
// [recordingSpan.removeDuplicates].
func (s *recordingSpan) appendAttributes(to, list []attribute.KeyValue) {
	limits := &s.provider.limits
	for i := range list {
		if !list[i].Valid() {
			s.data.droppedAttributes++
			continue
		}
		to = append(to, list[i])
		normalizeAttribute(&to[len(to)-1], limits)
	}
	s.data.attributes = to
	s.duplicates = len(to) > 1
}

// addScarceAttributes adds attributes of which there may be too many. Those of new keys are dropped once the limit is
// reached; values of keys that the span has are replaced.
func (s *recordingSpan) addScarceAttributes(list []attribute.KeyValue) {
	s.removeDuplicates()
	d, limits := &s.data, &s.provider.limits
	at := positions(d.attributes)
	for _, a := range list {
		i, exists := at[a.Key]
		switch {
		case !a.Valid():
			d.droppedAttributes++
			continue
		case !exists && len(d.attributes) >= limits.AttributeCountLimit:
			d.droppedAttributes++
			continue
		case !exists:
			i = len(d.attributes)
			at[a.Key] = i
			d.attributes = append(d.attributes, attribute.KeyValue{})
		}
		d.attributes[i] = a
		normalizeAttribute(&d.attributes[i], limits)
	}
}

// fewAttributes is a number of attributes up to which comparing them all is faster than a map.
const fewAttributes = 32

// removeDuplicates leaves one attribute of each key: the last value, where the first was. The caller holds the lock.
func (s *recordingSpan) removeDuplicates() {
	if !s.duplicates {
		return
	}
	s.duplicates = false
	list := s.data.attributes
	if len(list) <= fewAttributes && !hasDuplicates(list) {
		return
	}
	at := make(map[attribute.Key]int, len(list))
	unique := list[:0]
	for _, a := range list {
		if i, exists := at[a.Key]; exists {
			unique[i] = a
			continue
		}
		at[a.Key] = len(unique)
		unique = append(unique, a)
	}
	clear(list[len(unique):]) // so that nothing refers to their values
	s.data.attributes = unique
}

// hasDuplicates reports whether two attributes have the same key.
func hasDuplicates(list []attribute.KeyValue) bool {
	for i := range list {
		for j := range i {
			if list[i].Key == list[j].Key {
				return true
			}
		}
	}
	return false
}

// positions returns where the attributes are, of which no two have the same key.
func positions(list []attribute.KeyValue) map[attribute.Key]int {
	at := make(map[attribute.Key]int, len(list))
	for i := range list {
		at[list[i].Key] = i
	}
	return at
}

// addEvent adds an event to the span. The caller holds the lock.
func (s *recordingSpan) addEvent(name string, c *trace.EventConfig) {
	d, limits := &s.data, &s.provider.limits
	list, dropped := limited(c.Attributes(), limits.AttributePerEventCountLimit)
	normalizeNested(list, limits.AttributeValueDepthLimit)
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
	normalizeNested(list, limits.AttributeValueDepthLimit)
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

// queue appends to a list of at most limit elements. The oldest makes room; dropped counts.
func queue[E any](list []E, e E, limit int, dropped *int) []E {
	if limit == 0 {
		*dropped++
		return list
	}
	if limit > 0 && len(list) == limit {
		*dropped++
		copy(list, list[1:])
		list[limit-1] = e
		return list
	}
	return append(list, e)
}
