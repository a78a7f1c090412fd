package ueventstrace

import (
	"encoding/hex"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/commonschema"
)

const (
	// keyword is that of all events, as exporters of other languages have it.
	keyword = 1

	schemaVersion = 0x400
)

var (
	spanHeader = eventheader.Header{Name: "Span", Level: eventheader.LevelInfo}
	typeUint32 = eventheader.TypeOf(eventheader.Value32, eventheader.FormatUnsigned)
)

// wellKnown are the attributes that have a place of their own in part B.
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

// encoders are reused, since they keep buffers.
var encoders = sync.Pool{New: func() any { return new(eventheader.Encoder) }}

// appendCommonSchema appends the write index and the payload of a span in the Common Schema:
// the parts A, about its context, B, what makes it a span, and C, what the program added.
func (s *sink) appendCommonSchema(buf []byte, sp sdktrace.ReadOnlySpan) (out []byte, cut int, err error) {
	e := encoders.Get().(*eventheader.Encoder)
	var index [base]byte
	e.Begin(append(buf, index[:]...), &spanHeader, s.limit)
	e.Value("__csver__", typeUint32, schemaVersion)
	d := s.describer.Describe(sp.Resource())
	list := sp.Attributes()
	appendPartA(e, sp, d)
	appendPartB(e, sp, list)
	appendPartC(e, sp, list, d)
	out, err = e.End()
	cut = e.Lost()
	encoders.Put(e)
	return out, cut, err
}

func appendPartA(e *eventheader.Encoder, sp sdktrace.ReadOnlySpan, d *attrs.Described) {
	e.BeginStruct("PartA")
	var text [40]byte
	sc := sp.SpanContext()
	traceid, spanid := sc.TraceID(), sc.SpanID()
	e.String("time", string(commonschema.AppendTime(text[:0], sp.EndTime())))
	e.String("ext_dt_traceId", string(hex.AppendEncode(text[:0], traceid[:])))
	e.String("ext_dt_spanId", string(hex.AppendEncode(text[:0], spanid[:])))
	if d.Service != "" {
		e.String("ext_cloud_role", d.Service)
	}
	if d.Instance != "" {
		e.String("ext_cloud_roleInstance", d.Instance)
	}
	e.EndStruct()
}

func appendPartB(e *eventheader.Encoder, sp sdktrace.ReadOnlySpan, list []attribute.KeyValue) {
	e.BeginStruct("PartB")
	e.String("_typeName", "Span")
	e.String("name", sp.Name())
	var text [40]byte
	e.String("startTime", string(commonschema.AppendTime(text[:0], sp.StartTime())))
	status := sp.Status()
	e.Bool("success", status.Code != codes.Error)
	e.Value("kind", typeUint32, kindNumber(sp.SpanKind()))
	if parent := sp.Parent(); parent.HasSpanID() {
		id := parent.SpanID()
		e.String("parentId", string(hex.AppendEncode(text[:0], id[:])))
	}
	if links := sp.Links(); len(links) > 0 {
		e.String("links", linksJSON(links))
	}
	isHTTP := false
	for _, kv := range list {
		isHTTP = isHTTP || kv.Key == keyStatusCode
		if place, ok := wellKnown[kv.Key]; ok {
			attrs.WriteField(e, attribute.KeyValue{Key: attribute.Key(place), Value: kv.Value})
		}
	}
	if status.Code == codes.Error && status.Description != "" && !isHTTP {
		e.String("statusMessage", status.Description)
	}
	e.EndStruct()
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

// appendPartC appends the other attributes, and what the exporter for Rust has no place for.
// A struct without fields is left out.
func appendPartC(e *eventheader.Encoder, sp sdktrace.ReadOnlySpan, list []attribute.KeyValue, d *attrs.Described) {
	e.BeginStruct("PartC")
	for _, kv := range list {
		if _, ok := wellKnown[kv.Key]; !ok {
			attrs.WriteField(e, kv)
		}
	}
	for _, kv := range d.Chosen {
		attrs.WriteField(e, kv)
	}
	scope := sp.InstrumentationScope()
	for _, s := range [...]struct{ key, text string }{
		{keyTraceState, sp.SpanContext().TraceState().String()},
		{"otel.scope.name", scope.Name},
		{keyScopeVersion, scope.Version},
		{keyScopeSchemaURL, scope.SchemaURL},
	} {
		if s.text != "" {
			e.String(s.key, s.text)
		}
	}
	for _, n := range [...]struct {
		key   string
		count int
	}{
		{"otel.dropped_attributes_count", sp.DroppedAttributes()},
		{keyDroppedEvents, sp.DroppedEvents()},
		{keyDroppedLinks, sp.DroppedLinks()},
	} {
		if n.count > 0 {
			e.Int64(n.key, int64(n.count))
		}
	}
	for _, ev := range sp.Events() {
		e.BeginStruct("otel.event")
		var text [40]byte
		e.String("name", ev.Name)
		e.String("time", string(commonschema.AppendTime(text[:0], ev.Time)))
		for _, kv := range ev.Attributes {
			attrs.WriteField(e, kv)
		}
		e.EndStruct()
	}
	e.EndStruct()
}
