package ueventstrace

import (
	"fmt"
	"slices"

	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/tracepoint"
)

// sink is where a processor or an exporter writes spans.
type sink struct {
	component.Component

	events [eventCount]*component.Event // nil for those that are not registered
}

// newSink registers these events. The sink is never nil and always usable.
func newSink(name string, kind selfobs.Component, list []event, c *config) (*sink, error) {
	s := &sink{Component: component.Open("ueventstrace", name, c.Config)}
	if !c.ownProvider && (c.resource != nil || c.propagates) {
		s.Invalid(fmt.Errorf("%w: WithResource and WithPropagation are options of NewTracerProvider: use those of the SDK's provider", tracepoint.ErrInvalid))
	}
	if s.Encoding == component.CommonSchema4 {
		if c.perfetto {
			s.Invalid(fmt.Errorf("%w: slices for Perfetto are typed events: WithPerfettoSlices does not go with CommonSchema4", tracepoint.ErrInvalid))
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
