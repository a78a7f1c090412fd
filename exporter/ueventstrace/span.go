package ueventstrace

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// spanData is what events say of a span. Its writers neither keep it nor let it escape.
type spanData struct {
	context, parent identity // the ids in events, flags
	state           trace.TraceState
	kind            trace.SpanKind
	name            string
	start           time.Time
	end             time.Time     // zero: duration after start
	duration        time.Duration // of a span that has ended
	status          sdktrace.Status
	attributes      attrs.List       // each key once
	events          []sdktrace.Event // those that have not been written
	links           []sdktrace.Link  // the same

	eventCount, linkCount       int // those that have been written, or were added while their event was disabled
	droppedEvents, droppedLinks int

	*origin
}

// origin is what all spans of a tracer have in common.
type origin struct {
	scope    instrumentation.Scope
	resource *attrs.Described
	known    *attrs.Known // both, or nil
}

// endTime returns when a span ended.
func (d *spanData) endTime() time.Time {
	if d.end.IsZero() {
		return d.start.Add(d.duration)
	}
	return d.end
}

func newOrigin(scope instrumentation.Scope, resource *attrs.Described, limit int) *origin {
	o := &origin{scope: scope, resource: resource}
	o.known = attrs.NewKnown(&o.scope, resource, limit)
	return o
}

// writeStart writes the start of a span.
func (s *sink) writeStart(o *component.Event, d *spanData) error {
	var r component.Record
	o.Begin(&r)
	s.span(&r, d, "")
	_, err := r.Write()
	return err
}

// writeEnd writes a span that has ended.
func (s *sink) writeEnd(o *component.Event, d *spanData) error {
	if s.CommonSchema4 {
		return s.writeCommonSchema(o, d)
	}
	var r component.Record
	o.Begin(&r)
	r.U64(duration, uint64(d.duration))
	r.U8(statusCode, statusNumber(d.status.Code))
	r.U32(droppedAttributes, uint32(d.attributes.Dropped))
	r.U32(eventsCount, uint32(d.eventCount+len(d.events)))
	r.U32(linksCount, uint32(d.linkCount+len(d.links)))
	s.span(&r, d, d.status.Description)
	_, err := r.Write()
	return err
}

// span writes what the events of a span's start and end have in common, and the description of its status if the
// event has one.
func (s *sink) span(r *component.Record, d *spanData, status string) {
	r.U64(startTime, typedfield.UnixNano(d.start))
	r.U8(parentRemote, typedfield.Bool(d.parent.remote))
	r.U8(traceFlags, uint8(d.context.flags))
	r.U8(kind, uint8(max(d.kind, 0)))
	putSpan(r, &d.context)
	r.ID(parentSpanID, d.parent.spanID[:], d.parent.spanID.IsValid())
	r.Text(name, d.name)
	r.Text(statusMessage, status)
	s.attributes(r, d.origin, d.attributes.All, rest{d.state.String(), d.droppedEvents, d.droppedLinks}, attrjson.KeepAll)
}

// statusNumber returns the protocol's number of a status, which is not that of the Go package.
func statusNumber(c codes.Code) uint8 {
	switch c {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	default:
		return 0
	}
}

// writeEvent writes an event of a span.
func (s *sink) writeEvent(o *component.Event, span *identity, from *origin, ev *sdktrace.Event) error {
	var r component.Record
	o.Begin(&r)
	r.U64(recordTime, typedfield.UnixNano(ev.Time))
	r.U32(droppedAttributes, uint32(ev.DroppedAttributeCount))
	putSpan(&r, span)
	r.Text(name, ev.Name)
	s.attributes(&r, from, ev.Attributes, rest{}, attrjson.KeepLast)
	_, err := r.Write()
	return err
}

// writeLink writes a link of a span.
func (s *sink) writeLink(o *component.Event, span *identity, from *origin, link *sdktrace.Link) error {
	to := identityOf(link.SpanContext)
	var r component.Record
	o.Begin(&r)
	r.U8(traceFlags, uint8(to.flags))
	r.U32(droppedAttributes, uint32(link.DroppedAttributeCount))
	putSpan(&r, span)
	r.ID(linkedTraceID, to.traceID[:], to.traceID.IsValid())
	r.ID(linkedSpanID, to.spanID[:], to.spanID.IsValid())
	s.attributes(&r, from, link.Attributes, rest{traceState: link.SpanContext.TraceState().String()}, attrjson.KeepLast)
	_, err := r.Write()
	return err
}

// putSpan writes the ids of the span that a record is, or belongs to.
func putSpan(r *component.Record, span *identity) {
	r.ID(traceID, span.traceID[:], span.traceID.IsValid())
	r.ID(spanID, span.spanID[:], span.spanID.IsValid())
}

// endEvents are the events that are written when a span ends: each is nil while it is disabled.
type endEvents struct{ link, event, span *component.Event }

func (s *sink) endEvents() endEvents {
	return endEvents{link: s.enabled(spanLink), event: s.enabled(spanEvent), span: s.enabled(spanEnd)}
}

// writeEnded writes these events of a span that has ended. The span itself comes last: a tool that sees it has seen
// its parts.
func (s *sink) writeEnded(on endEvents, d *spanData) (first error) {
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if on.link != nil {
		for i := range d.links {
			keep(s.writeLink(on.link, &d.context, d.origin, &d.links[i]))
		}
	}
	if on.event != nil {
		for i := range d.events {
			keep(s.writeEvent(on.event, &d.context, d.origin, &d.events[i]))
		}
	}
	if on.span != nil {
		keep(s.writeEnd(on.span, d))
	}
	return first
}

// Names of what has no field of its own. OpenTelemetry has none for the trace state.
const (
	keyTraceState    = "user_events.trace_state"
	keyDroppedEvents = "otel.dropped_events_count"
	keyDroppedLinks  = "otel.dropped_links_count"
)

// rest is what few records have: it is written as attributes, which come after those of the record.
type rest struct {
	traceState                  string
	droppedEvents, droppedLinks int
}

// attributes writes where a record comes from, and its attributes. The SDK removes duplicates of spans, but not of events
// and links.
func (s *sink) attributes(r *component.Record, from *origin, list []attribute.KeyValue, more rest, duplicates attrjson.Duplicates) {
	origin := &r.Event.Origin
	if from.known != nil {
		origin.PutKnown(&r.Builder, from.known)
	} else {
		origin.Put(&r.Builder, &from.scope, from.resource)
	}
	w := r.Object()
	for i := range list {
		attrs.WriteMember(&w, &list[i], &duplicates)
	}
	if from.known != nil {
		origin.WriteKnownScope(&w, from.known)
	} else {
		origin.WriteScope(&w, &from.scope)
	}
	attrs.WriteText(&w, keyTraceState, more.traceState)
	attrs.WriteCount(&w, keyDroppedEvents, more.droppedEvents)
	attrs.WriteCount(&w, keyDroppedLinks, more.droppedLinks)
	r.EndObject(r.At(attributes), &w, duplicates)
}
