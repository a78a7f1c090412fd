package ueventslog

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/tracepoint"
)

// schema is what the payloads of a typed event hold, made ready for writing.
type schema struct {
	layout *typed.Layout

	// Offsets of the fields in a payload; absent for those that the event has not.
	atTime, atObserved, atSeverity, atTraceID, atSpanID, atFlags, atDropped, atTruncated int
	atSeverityText, atEventName, atService, atScope, atScopeVersion, atResource          int
	atAttributes, atBody                                                                 int

	fields []field // the declared ones
	texts  int     // how many of these are texts
}

// field is a declared attribute.
type field struct {
	key  attribute.Key
	name string
	typ  declared.Type
	at   int // offset in a payload
}

const absent = -1

// newSchema returns the schema of an event of a severity, or that of a declared record if fields is
// not nil. The package comment lists what they have.
//
// A declaration has room for 511 bytes, so an event of a declared record leaves out what says
// something about few records only; see leftovers.
func newSchema(name string, fields []field) (*schema, error) {
	s := &schema{atSeverityText: absent, atEventName: absent, atScopeVersion: absent, atDropped: absent, fields: slices.Clone(fields)}
	var decl []tracepoint.Field
	var at []*int
	add := func(name string, t tracepoint.Type, to *int) {
		decl, at = append(decl, tracepoint.Field{Name: name, Type: t}), append(at, to)
	}
	textType := tracepoint.Dynamic(tracepoint.Char)

	add("time_unix_nano", tracepoint.Scalar(tracepoint.U64), &s.atTime)
	add("observed_time_unix_nano", tracepoint.Scalar(tracepoint.U64), &s.atObserved)
	add("severity_number", tracepoint.Scalar(tracepoint.S32), &s.atSeverity)
	add("trace_id", textType, &s.atTraceID)
	add("span_id", textType, &s.atSpanID)
	add("trace_flags", tracepoint.Scalar(tracepoint.U8), &s.atFlags)
	add("truncated", tracepoint.Scalar(tracepoint.U32), &s.atTruncated)
	if fields == nil {
		add("dropped_attributes_count", tracepoint.Scalar(tracepoint.U32), &s.atDropped)
		add("severity_text", textType, &s.atSeverityText)
		add("event_name", textType, &s.atEventName)
	}
	add("body", textType, &s.atBody)
	for i := range s.fields {
		f := &s.fields[i]
		add(f.name, f.typ.Tracepoint(), &f.at)
		if f.typ.IsText() {
			s.texts++
		}
	}
	add("scope_name", textType, &s.atScope)
	if fields == nil {
		add("scope_version", textType, &s.atScopeVersion)
	}
	add("service_name", textType, &s.atService)
	add("resource", textType, &s.atResource)
	add("attributes", textType, &s.atAttributes)

	var err error
	if s.layout, err = typed.NewLayout(tracepoint.Declaration{Name: name, Fields: decl}); err != nil {
		return nil, err
	}
	for i, offset := range s.layout.Offsets() {
		*at[i] = offset
	}
	return s, nil
}

// least is the smallest limit of a payload: beside the fixed part and the ids, an empty object and a few
// characters of each text.
func (s *schema) least() int {
	return s.layout.FixedSize() + typed.TraceIDSize + typed.SpanIDSize + leastJSON + leastText*(s.texts+commonTexts)
}

const (
	commonTexts = 7 // beside the attributes
	leastJSON   = len("{}\x00")
	leastText   = len(text.CutMark + "\x00")
)
