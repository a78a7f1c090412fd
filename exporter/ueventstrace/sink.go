package ueventstrace

import (
	"errors"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// sink is where a processor or an exporter writes spans.
type sink struct {
	component.Component

	events [eventCount]*component.Event // nil for those that are not registered

	// What spans of the SDK have in common: that of the last one, and those of each scope.
	last    atomic.Pointer[origin]
	origins component.Scopes[origin]
}

// newSink registers these events. The sink is never nil and always usable.
func newSink(name string, kind selfobs.Component, list []event, c *config) (*sink, error) {
	s := &sink{Component: component.Open("ueventstrace", name, c.Config)}
	if s.CommonSchema4 {
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

// originOf returns what the spans of a scope and a resource have in common. It does not allocate for those that it has seen,
// as long as they are not very many.
func (s *sink) originOf(scope instrumentation.Scope, resource *attrs.Described) *origin {
	if o := s.last.Load(); o != nil && o.resource == resource && o.scope == scope {
		return o
	}
	o := s.origins.Get(scope)
	if o == nil || o.resource != resource {
		o = newOrigin(scope, resource, s.Limit)
		s.origins.Add(scope, o) // the first provider's, if the processor has several
	}
	s.last.Store(o)
	return o
}

// enabled returns an event, or nil if it is disabled.
func (s *sink) enabled(ev event) *component.Event {
	if e := s.events[ev]; e != nil && e.Enabled() {
		return e
	}
	return nil
}
