package ueventslog

import (
	"slices"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/tracepoint"
)

// The fields that every typed event begins with. Docs/wire-formats.md describes all fields.
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

// The fields of the event of a declared record, before and behind the declared ones. The declaration of an event is 511 bytes at
// most, so there are no fields for what only a few records have; see [sink.writeRecord].
var (
	recordHead = append(slices.Clone(head), body)
	recordTail = []payload.Field{attrs.ScopeName, attrs.ServiceName, attrs.Resource, payload.Attributes}
)

// newSchema returns the schema of an event with a body and attributes, which come last.
func newSchema(s *payload.Schema) *schema {
	bodyAt := slices.IndexFunc(s.Layout.Declaration().Fields, func(f tracepoint.Field) bool { return f.Name == body.Name })
	return &schema{Schema: s, origin: attrs.NewOrigin(s), body: s.At[bodyAt], attributes: s.At[len(s.At)-1]}
}
