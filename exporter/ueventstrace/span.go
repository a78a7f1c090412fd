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
	attributes      attrs.List // each key once
	events          []sdktrace.Event
	links           []sdktrace.Link

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
	r.U32(eventsCount, uint32(len(d.events)))
	r.U32(linksCount, uint32(len(d.links)))
	s.span(&r, d, d.status.Description)
	_, err := r.Write()
	return err
}

// span writes what the events of a span's start and end have in common, and the description of its status if the
// event has one.
func (s *sink) span(r *component.Record, d *spanData, status string) {
	traceid, spanid, parentid := d.context.TraceID(), d.context.SpanID(), d.parent.SpanID()
	r.U64(startTime, typedfield.UnixNano(d.start))
	r.U8(parentRemote, typedfield.Bool(d.parent.IsRemote()))
	r.U8(traceFlags, uint8(d.context.TraceFlags()))
	r.U8(kind, uint8(max(d.kind, 0)))
	r.ID(traceID, traceid[:], traceid.IsValid())
	r.ID(spanID, spanid[:], spanid.IsValid())
	r.ID(parentSpanID, parentid[:], parentid.IsValid())
	r.Text(name, d.name)
	r.Text(statusMessage, status)
	s.attributes(r, d, d.attributes.All, rest{d.state.String(), d.droppedEvents, d.droppedLinks}, attrjson.KeepAll)
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

// writeEvents writes the events of a span.
func (s *sink) writeEvents(o *component.Event, d *spanData) (first error) {
	traceid, spanid := d.context.TraceID(), d.context.SpanID()
	for _, ev := range d.events {
		var r component.Record
		o.Begin(&r)
		r.U64(recordTime, typedfield.UnixNano(ev.Time))
		r.U32(droppedAttributes, uint32(ev.DroppedAttributeCount))
		r.ID(traceID, traceid[:], traceid.IsValid())
		r.ID(spanID, spanid[:], spanid.IsValid())
		r.Text(name, ev.Name)
		s.attributes(&r, d, ev.Attributes, rest{}, attrjson.KeepLast)
		if _, err := r.Write(); first == nil {
			first = err
		}
	}
	return first
}

// writeLinks writes the links of a span.
func (s *sink) writeLinks(o *component.Event, d *spanData) (first error) {
	traceid, spanid := d.context.TraceID(), d.context.SpanID()
	for _, link := range d.links {
		to := link.SpanContext
		totrace, tospan := to.TraceID(), to.SpanID()
		var r component.Record
		o.Begin(&r)
		r.U8(traceFlags, uint8(to.TraceFlags()))
		r.U32(droppedAttributes, uint32(link.DroppedAttributeCount))
		r.ID(traceID, traceid[:], traceid.IsValid())
		r.ID(spanID, spanid[:], spanid.IsValid())
		r.ID(linkedTraceID, totrace[:], totrace.IsValid())
		r.ID(linkedSpanID, tospan[:], tospan.IsValid())
		s.attributes(&r, d, link.Attributes, rest{traceState: to.TraceState().String()}, attrjson.KeepLast)
		if _, err := r.Write(); first == nil {
			first = err
		}
	}
	return first
}

// endEvents are the events that are written when a span ends: each is nil while it is disabled.
type endEvents struct{ link, event, span *component.Event }

func (s *sink) endEvents() endEvents {
	return endEvents{link: s.enabled(spanLink), event: s.enabled(spanEvent), span: s.enabled(spanEnd)}
}

// writeEnded writes the events of a span that has ended, as far as they are enabled.
func (s *sink) writeEnded(d *spanData) error { return s.writeEnabled(s.endEvents(), d) }

// writeEnabled writes these events of a span that has ended. The span itself comes last: a tool that sees it has seen
// its parts.
func (s *sink) writeEnabled(on endEvents, d *spanData) (first error) {
	if on.link != nil {
		first = s.writeLinks(on.link, d)
	}
	if on.event != nil {
		if err := s.writeEvents(on.event, d); first == nil {
			first = err
		}
	}
	if on.span != nil {
		if err := s.writeEnd(on.span, d); first == nil {
			first = err
		}
	}
	return first
}

// Names that OpenTelemetry gives to what has no field of its own.
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
func (s *sink) attributes(r *component.Record, d *spanData, list []attribute.KeyValue, more rest, duplicates attrjson.Duplicates) {
	origin := &r.Event.Origin
	if d.known != nil {
		origin.PutKnown(&r.Builder, d.known)
	} else {
		origin.Put(&r.Builder, &d.scope, d.resource)
	}
	w := r.Object()
	for i := range list {
		attrs.WriteMember(&w, &list[i], &duplicates)
	}
	if d.known != nil {
		origin.WriteKnownScope(&w, d.known)
	} else {
		origin.WriteScope(&w, &d.scope)
	}
	attrs.WriteText(&w, keyTraceState, more.traceState)
	attrs.WriteCount(&w, keyDroppedEvents, more.droppedEvents)
	attrs.WriteCount(&w, keyDroppedLinks, more.droppedLinks)
	r.EndObject(r.At(attributes), &w, duplicates)
}
