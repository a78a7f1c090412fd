package ueventstrace

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
)

// writeStart writes the start of a span.
func (s *sink) writeStart(o *component.Event, sp sdktrace.ReadOnlySpan) error {
	r := o.Begin()
	s.span(&r, sp, sp.StartTime(), "")
	_, err := r.Write()
	return err
}

// writeEnd writes a span that has ended.
func (s *sink) writeEnd(o *component.Event, sp sdktrace.ReadOnlySpan) error {
	if s.Encoding == component.CommonSchema4 {
		return s.writeCommonSchema(o, sp)
	}
	r := o.Begin()
	start, status := sp.StartTime(), sp.Status()
	r.U64(duration, uint64(sp.EndTime().Sub(start)))
	r.U8(statusCode, statusNumber(status.Code))
	r.U32(droppedAttributes, uint32(sp.DroppedAttributes()))
	s.span(&r, sp, start, status.Description)
	_, err := r.Write()
	return err
}

// span writes what the events of a span's start and end have in common, and the description of its status if the
// event has one. The methods of a span and of a context copy it: each is called once.
func (s *sink) span(r *component.Record, sp sdktrace.ReadOnlySpan, start time.Time, status string) {
	sc, parent := sp.SpanContext(), sp.Parent()
	traceid, spanid, parentid := sc.TraceID(), sc.SpanID(), parent.SpanID()
	r.U64(startTime, typed.UnixNano(start))
	r.U8(parentRemote, typed.Bool(parent.IsRemote()))
	r.U8(traceFlags, uint8(sc.TraceFlags()))
	r.U8(kind, uint8(max(sp.SpanKind(), 0)))
	r.ID(traceID, traceid[:], traceid.IsValid())
	r.ID(spanID, spanid[:], spanid.IsValid())
	r.ID(parentSpanID, parentid[:], parentid.IsValid())
	r.Text(name, sp.Name())
	r.Text(statusMessage, status)
	scope := sp.InstrumentationScope()
	s.attributes(r, sp.Resource(), &scope, sp.Attributes(), rest{sc.TraceState().String(), sp.DroppedEvents(), sp.DroppedLinks()})
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
func (s *sink) writeEvents(o *component.Event, sp sdktrace.ReadOnlySpan) (first error) {
	sc := sp.SpanContext()
	traceid, spanid := sc.TraceID(), sc.SpanID()
	scope := sp.InstrumentationScope()
	for _, ev := range sp.Events() {
		r := o.Begin()
		r.U64(recordTime, typed.UnixNano(ev.Time))
		r.U32(droppedAttributes, uint32(ev.DroppedAttributeCount))
		r.ID(traceID, traceid[:], true)
		r.ID(spanID, spanid[:], true)
		r.Text(name, ev.Name)
		s.attributes(&r, sp.Resource(), &scope, ev.Attributes, rest{})
		if _, err := r.Write(); first == nil {
			first = err
		}
	}
	return first
}

// writeLinks writes the links of a span.
func (s *sink) writeLinks(o *component.Event, sp sdktrace.ReadOnlySpan) (first error) {
	sc := sp.SpanContext()
	traceid, spanid := sc.TraceID(), sc.SpanID()
	scope := sp.InstrumentationScope()
	for _, link := range sp.Links() {
		to := link.SpanContext
		totrace, tospan := to.TraceID(), to.SpanID()
		r := o.Begin()
		r.U8(traceFlags, uint8(to.TraceFlags()))
		r.U32(droppedAttributes, uint32(link.DroppedAttributeCount))
		r.ID(traceID, traceid[:], true)
		r.ID(spanID, spanid[:], true)
		r.ID(linkedTraceID, totrace[:], totrace.IsValid())
		r.ID(linkedSpanID, tospan[:], tospan.IsValid())
		s.attributes(&r, sp.Resource(), &scope, link.Attributes, rest{traceState: to.TraceState().String()})
		if _, err := r.Write(); first == nil {
			first = err
		}
	}
	return first
}

// writeEnded writes the events of a span that has ended, as far as they are enabled. The span itself comes last: a
// tool that sees it has seen its parts.
func (s *sink) writeEnded(sp sdktrace.ReadOnlySpan) (first error) {
	for _, part := range [...]struct {
		event event
		write func(*component.Event, sdktrace.ReadOnlySpan) error
	}{
		{spanLink, s.writeLinks}, {spanEvent, s.writeEvents}, {spanEnd, s.writeEnd},
	} {
		if o := s.enabled(part.event); o != nil {
			if err := part.write(o, sp); first == nil {
				first = err
			}
		}
	}
	return first
}

// Names that OpenTelemetry gives to what has no field of its own.
const (
	keyTraceState    = "otel.trace_state"
	keyDroppedEvents = "otel.dropped_events_count"
	keyDroppedLinks  = "otel.dropped_links_count"
)

// rest is what few records have: it is written as attributes, which come after those of the record.
type rest struct {
	traceState                  string
	droppedEvents, droppedLinks int
}

// attributes writes where a record comes from, and its attributes.
func (s *sink) attributes(r *component.Record, res *resource.Resource, scope *instrumentation.Scope, list []attribute.KeyValue, more rest) {
	origin := &r.Event.Origin
	origin.Put(&r.Builder, scope, s.Resources.Describe(res))
	w := r.Object()
	for _, kv := range list {
		attrs.WriteJSON(&w, kv)
	}
	attrs.WriteText(&w, keyTraceState, more.traceState)
	attrs.WriteCount(&w, keyDroppedEvents, more.droppedEvents)
	attrs.WriteCount(&w, keyDroppedLinks, more.droppedLinks)
	origin.WriteScope(&w, scope)
	r.EndObject(r.At(attributes), &w, attrjson.KeepAll) // the SDK has removed duplicates
}
