package ueventslog

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/payload"
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
var severitySchema = func() *schema {
	s, err := newSchema(slices.Concat(head, []payload.Field{
		{Name: "duplicate", Type: payload.U8},
		{Name: "dropped_attributes_count", Type: payload.U32},
		payload.TextField("severity_text"),
		payload.TextField("event_name"),
		body,
		attrs.ScopeName, attrs.ScopeVersion, attrs.ServiceName, attrs.Resource, payload.Attributes,
	}))
	if err != nil {
		panic(err) // the fields are constants, and a test makes a record of them
	}
	return s
}()

// newRecordSchema returns the schema of a declared record's event. The declaration of an event is 511 bytes at most,
// so such an event has no fields for what only a few records have; see [sink.writeRecord].
func newRecordSchema(fields []field) (*schema, error) {
	list := append(slices.Clone(head), body)
	first := len(list)
	for _, f := range fields {
		list = append(list, f.typ.Field(f.name))
	}
	s, err := newSchema(append(list, attrs.ScopeName, attrs.ServiceName, attrs.Resource, payload.Attributes))
	if err != nil {
		return nil, err
	}
	s.fields = fields
	for i := range fields {
		fields[i].at = s.At[first+i]
	}
	return s, nil
}

// newSchema returns the schema of an event with a body and attributes, which come last.
func newSchema(fields []payload.Field) (*schema, error) {
	s, err := payload.NewSchema("any", fields) // the set checks the name when the event is registered
	if err != nil {
		return nil, err
	}
	bodyAt := slices.IndexFunc(fields, func(f payload.Field) bool { return f.Name == body.Name })
	return &schema{Schema: s, origin: attrs.NewOrigin(s), body: s.At[bodyAt], attributes: s.At[len(fields)-1]}, nil
}
