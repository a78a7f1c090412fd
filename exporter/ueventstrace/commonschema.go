package ueventstrace

import (
	"encoding/hex"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/text"
)

var spanHeader = eventheader.Header{Name: "Span", Level: eventheader.LevelInfo}

var wellKnown = map[attribute.Key]string{
	"db.system.name":             "dbSystem",
	"db.namespace":               "dbName",
	"db.query.text":              "dbStatement",
	"http.request.method":        "httpMethod",
	"url.full":                   "httpUrl",
	keyStatusCode:                "httpStatusCode",
	"messaging.system":           "messagingSystem",
	"messaging.destination.name": "messagingDestination",
	"messaging.url":              "messagingUrl",
	"rpc.system.name":            "rpcSystem",
	"rpc.response.status_code":   "rpcGrpcStatusCode",
}

const keyStatusCode = attribute.Key("http.response.status_code")

// Names of what only the Common Schema has no field for.
const (
	keyStatus            = "otel.status_code"
	keyStatusDescription = "otel.status_description"
	keyParentRemote      = "user_events.parent_is_remote"
	keyEvents            = "user_events.events_count"
	keyLinks             = "user_events.links_count"
)

// writeCommonSchema writes a span in the Common Schema: the parts A, about its context, B, what makes it a span, and
// C, what the program added.
func (s *sink) writeCommonSchema(event *component.Event, d *spanData) error {
	buf := bufpool.Get()
	e := commonschema.Begin(*buf, &spanHeader, s.Limit)
	commonschema.PartA(e, d.endTime(), d.context.traceID, d.context.spanID, d.context.flags, d.resource)
	appendPartB(e, d)
	appendPartC(e, d)
	out, truncated, err := commonschema.End(e)
	return event.WriteEncoded(out, truncated, err, buf)
}

func appendPartB(e *eventheader.Encoder, d *spanData) {
	beginPartB(e, d.name, d.start, d.status.Code, d.kind, d.parent.spanID)
	if len(d.links) > 0 {
		e.String("links", linksJSON(d.links))
	}
	for _, kv := range d.attributes.All {
		if name, ok := wellKnown[kv.Key]; ok {
			attrs.WriteField(e, attribute.KeyValue{Key: attribute.Key(name), Value: kv.Value})
		}
	}
	if d.status.Code == codes.Error && !hasHTTPStatus(d.attributes.All) {
		commonschema.Text(e, "statusMessage", d.status.Description)
	}
	e.EndStruct()
}

// hasHTTPStatus reports whether a span has the status of a response, beside which the schema has no status message.
func hasHTTPStatus(list []attribute.KeyValue) bool {
	return slices.ContainsFunc(list, func(kv attribute.KeyValue) bool { return kv.Key == keyStatusCode })
}

// leastPartB appends part B of the smallest span, with a parent.
func leastPartB(e *eventheader.Encoder) {
	beginPartB(e, text.CutMark, time.Unix(0, 1), codes.Unset, oteltrace.SpanKindInternal, oteltrace.SpanID{1})
	e.EndStruct()
}

// beginPartB appends the beginning of part B, which all spans have.
func beginPartB(e *eventheader.Encoder, name string, start time.Time, status codes.Code, kind oteltrace.SpanKind, parent oteltrace.SpanID) {
	e.BeginStruct("PartB")
	e.String("_typeName", "Span")
	e.String("name", name)
	commonschema.Time(e, "startTime", start)
	e.Bool("success", status != codes.Error)
	e.Value("kind", eventheader.TypeUnsigned32, kindNumber(kind))
	if parent.IsValid() {
		commonschema.ID(e, "parentId", parent[:])
	}
}

// kindNumber returns the schema's number of a kind, which is neither Go's nor the
// protocol's.
func kindNumber(k oteltrace.SpanKind) uint64 { return uint64(max(k-oteltrace.SpanKindInternal, 0)) }

// linksJSON returns links as the exporter for Rust writes them.
func linksJSON(links []sdktrace.Link) string {
	b := []byte{'['}
	for i, link := range links {
		if i > 0 {
			b = append(b, ',')
		}
		traceid, spanid := link.SpanContext.TraceID(), link.SpanContext.SpanID()
		b = append(b, `{"toTraceId":"`...)
		b = hex.AppendEncode(b, traceid[:])
		b = append(b, `","toSpanId":"`...)
		b = hex.AppendEncode(b, spanid[:])
		b = append(b, `"}`...)
	}
	return string(append(b, ']'))
}

// appendPartC appends the other attributes, and what the exporter for Rust has no field for. A struct without fields is not
// written.
func appendPartC(e *eventheader.Encoder, d *spanData) {
	var own commonschema.Own
	addOwn(&own, d)
	e.BeginStruct("PartC")
	own.Write(e)
	for _, kv := range d.attributes.All {
		if _, ok := wellKnown[kv.Key]; !ok && !own.Has(kv.Key) {
			attrs.WriteField(e, kv)
		}
	}
	for i := range d.events {
		appendEvent(e, &d.events[i])
	}
	for i := range d.links {
		appendLink(e, &d.links[i])
	}
	e.EndStruct()
}

// addOwn adds what part C has beside attributes, events and links.
func addOwn(own *commonschema.Own, d *spanData) {
	own.Origin(&d.scope, d.resource)
	switch {
	case d.status.Code == codes.Ok:
		own.Text(keyStatus, "OK")
	case d.status.Code == codes.Error && hasHTTPStatus(d.attributes.All):
		own.Text(keyStatusDescription, d.status.Description)
	}
	own.Text(keyTraceState, d.state.String())
	own.True(keyParentRemote, d.parent.remote)
	own.Count(keyEvents, len(d.events))
	own.Count(keyLinks, len(d.links))
	own.Count(attrs.DroppedAttributesKey, d.attributes.Dropped)
	own.Count(keyDroppedEvents, d.droppedEvents)
	own.Count(keyDroppedLinks, d.droppedLinks)
}

// appendEvent appends an event of a span.
func appendEvent(e *eventheader.Encoder, ev *sdktrace.Event) {
	e.BeginStruct("user_events.event")
	e.String("name", ev.Name)
	commonschema.Time(e, "time", ev.Time)
	appendAttributes(e, ev.Attributes, ev.DroppedAttributeCount)
	e.EndStruct()
}

// appendLink appends a link of a span. Part B has its ids, and nothing else of it.
func appendLink(e *eventheader.Encoder, link *sdktrace.Link) {
	to := link.SpanContext
	traceid, spanid := to.TraceID(), to.SpanID()
	e.BeginStruct("user_events.link")
	if traceid.IsValid() {
		commonschema.ID(e, "toTraceId", traceid[:])
	}
	if spanid.IsValid() {
		commonschema.ID(e, "toSpanId", spanid[:])
	}
	commonschema.Count(e, "traceFlags", int(to.TraceFlags()))
	commonschema.Text(e, "traceState", to.TraceState().String())
	appendAttributes(e, link.Attributes, link.DroppedAttributeCount)
	e.EndStruct()
}

// appendAttributes appends the attributes of an event or a link: in a struct, as their keys may be names of fields.
func appendAttributes(e *eventheader.Encoder, list []attribute.KeyValue, dropped int) {
	commonschema.Count(e, "droppedAttributesCount", dropped)
	e.BeginStruct("attributes")
	for _, kv := range list {
		attrs.WriteField(e, kv)
	}
	e.EndStruct()
}
