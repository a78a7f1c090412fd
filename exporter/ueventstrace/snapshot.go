package ueventstrace

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/internal/component"
)

// A span of the SDK copies itself for each call of one of its methods: each is called once, and only for events that are
// enabled. One assignment for each result takes the fewest instructions.

// writeStarted writes the start of a span of the SDK, and begins its slice, each unless it is nil.
func (s *sink) writeStarted(sp sdktrace.ReadOnlySpan, start *component.Event, slices *perfetto) {
	sc := sp.SpanContext()
	context, parent, name, resource := identityOf(sc), identityOf(sp.Parent()), sp.Name(), s.Resources.Describe(sp.Resource())
	if start != nil {
		d := spanData{context: context, state: sc.TraceState(), parent: parent, name: name}
		d.origin = s.originOf(sp.InstrumentationScope(), resource)
		readSpan(&d, sp)
		s.Handle(s.writeStart(start, &d))
	}
	if slices != nil {
		slices.begin(&context, &parent, name, resource)
	}
}

// writeSnapshot writes the events of a span of the SDK that has ended, as far as they are enabled.
func (s *sink) writeSnapshot(sp sdktrace.ReadOnlySpan) error {
	on := s.endEvents()
	if on == (endEvents{}) {
		return nil
	}
	var d spanData
	sc := sp.SpanContext()
	d.context, d.state = identityOf(sc), sc.TraceState()
	d.origin = s.originOf(sp.InstrumentationScope(), s.Resources.Describe(sp.Resource()))
	if on.span != nil {
		d.parent = identityOf(sp.Parent())
		d.name = sp.Name()
		d.end = sp.EndTime()
		d.status = sp.Status()
		d.attributes.Dropped = sp.DroppedAttributes()
		readSpan(&d, sp)
		d.duration = d.end.Sub(d.start)
	}
	if on.span != nil || on.event != nil {
		d.events = sp.Events()
	}
	if on.span != nil || on.link != nil {
		d.links = sp.Links()
	}
	return s.writeEnded(on, &d)
}

// readSpan reads what only the events of a span's start and end say, and not those of its parts or its slice.
func readSpan(d *spanData, sp sdktrace.ReadOnlySpan) {
	d.kind = sp.SpanKind()
	d.start = sp.StartTime()
	d.attributes.All = sp.Attributes()
	d.droppedEvents = sp.DroppedEvents()
	d.droppedLinks = sp.DroppedLinks()
}
