package ueventstrace

import (
	"encoding/hex"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/bufpool"
)

var spanHeader = eventheader.Header{Name: "Span", Level: eventheader.LevelInfo}

// wellKnown are the attributes that have a field in part B.
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

// writeCommonSchema writes a span in the Common Schema: the parts A, about its context, B, what makes it a span, and
// C, what the program added.
func (s *sink) writeCommonSchema(event *component.Event, d *spanData) error {
	buf := bufpool.Get()
	e := commonschema.Begin(*buf, &spanHeader, s.Limit)
	commonschema.PartA(e, d.end, d.context.TraceID(), d.context.SpanID(), d.resource)
	appendPartB(e, d)
	e.Protect()
	appendPartC(e, d)
	out, truncated, err := commonschema.End(e)
	return event.WriteEncoded(out, truncated, err, buf)
}

func appendPartB(e *eventheader.Encoder, d *spanData) {
	beginPartB(e, d.name, d.start, d.status.Code, d.kind, d.parent.SpanID())
	if len(d.links) > 0 {
		e.String("links", linksJSON(d.links))
	}
	isHTTP := false
	for _, kv := range d.attributes {
		isHTTP = isHTTP || kv.Key == keyStatusCode
		if name, ok := wellKnown[kv.Key]; ok {
			attrs.WriteField(e, attribute.KeyValue{Key: attribute.Key(name), Value: kv.Value})
		}
	}
	if d.status.Code == codes.Error && !isHTTP {
		commonschema.Text(e, "statusMessage", d.status.Description)
	}
	e.EndStruct()
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
	e.Value("kind", commonschema.TypeUint32, kindNumber(kind))
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

// appendPartC appends the other attributes, and what the exporter for Rust has no field for.
// A struct without fields is not written.
func appendPartC(e *eventheader.Encoder, d *spanData) {
	e.BeginStruct("PartC")
	for _, kv := range d.attributes {
		if _, ok := wellKnown[kv.Key]; !ok {
			attrs.WriteField(e, kv)
		}
	}
	commonschema.Origin(e, d.scope, d.resource)
	commonschema.Text(e, keyTraceState, d.context.TraceState().String())
	commonschema.Count(e, attrs.DroppedAttributesKey, d.droppedAttributes)
	commonschema.Count(e, keyDroppedEvents, d.droppedEvents)
	commonschema.Count(e, keyDroppedLinks, d.droppedLinks)
	for _, ev := range d.events {
		e.BeginStruct("otel.event")
		e.String("name", ev.Name)
		commonschema.Time(e, "time", ev.Time)
		for _, kv := range ev.Attributes {
			attrs.WriteField(e, kv)
		}
		e.EndStruct()
	}
	e.EndStruct()
}
