package ueventslog

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/tracepoint"
)

// The fields that every typed event begins with. The package comment describes all fields.
const (
	fieldTime = iota
	fieldObserved
	fieldSeverity
	fieldTraceID
	fieldSpanID
	fieldFlags
	fieldTruncated
	headFields
)

// The fields behind them in the events of severities.
const (
	fieldDuplicate = headFields + iota
	fieldDropped
	fieldSeverityText
	fieldEventName
)

var (
	head = []payload.Field{
		fieldTime:      {Name: "time_unix_nano", Type: payload.U64},
		fieldObserved:  {Name: "observed_time_unix_nano", Type: payload.U64},
		fieldSeverity:  {Name: "severity_number", Type: payload.S32},
		fieldTraceID:   payload.TraceID,
		fieldSpanID:    payload.SpanID,
		fieldFlags:     {Name: "trace_flags", Type: payload.U8},
		fieldTruncated: payload.Truncated,
	}
	body = payload.TextField("body")
)

// schema is the layout of an event's payloads.
type schema struct {
	*payload.Schema
	origin attrs.Origin

	// Offsets of fields that are not in the same place in all events.
	body, attributes int

	fields []field // the declared ones
}

// field is a declared attribute.
type field struct {
	key  attribute.Key
	name string
	typ  declared.Type
	at   int // offset in a payload
}

// severitySchema is that of the events of all severities.
var severitySchema = newSchema(payload.MustSchema(slices.Concat(head, []payload.Field{
	{Name: "duplicate", Type: payload.U8},
	{Name: "dropped_attributes_count", Type: payload.U32},
	payload.TextField("severity_text"),
	payload.TextField("event_name"),
	body,
	attrs.ScopeName, attrs.ScopeVersion, attrs.ServiceName, attrs.Resource, payload.Attributes,
})...))

// newRecordSchema returns the schema of the event of a declared record. The declaration of an event is 511 bytes at
// most, so such an event has no fields for what only a few records have; see [sink.writeRecord].
func (s *sink) newRecordSchema(suffix string, fields []field) (*schema, error) {
	list := append(slices.Clone(head), body)
	first := len(list)
	for _, f := range fields {
		list = append(list, f.typ.Field(f.name))
	}
	common, err := s.NewSchema(suffix, append(list, attrs.ScopeName, attrs.ServiceName, attrs.Resource, payload.Attributes))
	if err != nil {
		return nil, err
	}
	out := newSchema(common)
	out.fields = fields
	for i := range fields {
		fields[i].at = common.At[first+i]
	}
	return out, nil
}

// newSchema returns the schema of an event with a body and attributes, which come last.
func newSchema(s *payload.Schema) *schema {
	bodyAt := slices.IndexFunc(s.Layout.Declaration().Fields, func(f tracepoint.Field) bool { return f.Name == body.Name })
	return &schema{Schema: s, origin: attrs.NewOrigin(s), body: s.At[bodyAt], attributes: s.At[len(s.At)-1]}
}
