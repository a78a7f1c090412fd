package ueventstrace

import (
	"errors"
	"slices"

	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// sink is where a processor or an exporter writes spans.
type sink struct {
	component.Component

	events [eventCount]*component.Event // nil for those that are not registered
}

// newSink registers these events. The sink is never nil and always usable.
func newSink(name string, kind selfobs.Component, list []event, c *config) (*sink, error) {
	s := &sink{Component: component.Open("ueventstrace", name, c.Config)}
	if c.resource != nil && !c.ownProvider {
		s.Invalid(errors.New("WithResource is an option of NewTracerProvider: give the resource to the provider of the SDK"))
	}
	if c.propagates && !c.ownProvider {
		s.Invalid(errors.New("WithPropagation is an option of NewTracerProvider: the provider of the SDK always propagates the ids of its spans"))
	}
	if c.perfetto && !slices.Contains(list, spanStart) {
		s.Invalid(errors.New("WithPerfettoSlices is an option of NewTracerProvider and NewProcessor: an exporter gets a span when it has ended"))
		c.perfetto = false
	}
	if s.Encoding == component.CommonSchema4 {
		if c.perfetto {
			s.Invalid(errors.New("slices for Perfetto are typed events: WithPerfettoSlices does not go with CommonSchema4"))
		}
		e, _ := commonschema.Register(s.Set, name, commonschema.KeywordSpans, spanHeader, leastPartB) // the error stays with the set
		s.events[spanEnd] = &component.Event{Event: e}
	} else {
		if c.perfetto {
			list = append(slices.Clip(list), slice)
		}
		for _, ev := range list {
			s.events[ev] = s.RegisterTyped(suffixes[ev], schemas[ev])
		}
	}
	return s, s.Publish(kind, s.events[spanEnd].Stats) // a span counts once, however many records it has
}

// enabled returns an event, or nil if it is disabled.
func (s *sink) enabled(ev event) *component.Event {
	if e := s.events[ev]; e != nil && e.Enabled() {
		return e
	}
	return nil
}
