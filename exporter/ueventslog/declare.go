package ueventslog

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/internal/declared"
)

// Record declares the attributes of the log records with one event name. The records are written to an event of their
// own, in which the declared attributes are fields of their own type, so that the kernel filters and aggregates by
// them:
//
//	ueventslog.Record{EventName: "http.request", Fields: []ueventslog.Field{
//		{Key: "http.request.method"},
//		{Key: "http.response.status_code", Type: ueventslog.Uint16, Name: "status"},
//		{Key: "latency", Type: ueventslog.Duration},
//	}}
//
// makes a provider called myapp register
//
//	myapp_log_http_request ... __data_loc char[] http_request_method; u16 status; s64 latency_ns; ...
//
// Attributes that are not declared are in the field attributes. The package comment has the other fields, and says
// when the record is written to its severity's event, too. The kernel takes declarations of 511 bytes: it is an error of
// [NewLoggerProvider] and its siblings if name and fields of the event are longer.
//
// With [WithCommonSchema4], which has events inside of tracepoints, the records are in the tracepoint of
// their severity, under the name http_request; attributes keep their keys and types, and Fields is ignored.
type Record struct {
	// EventName selects the records: those with exactly this event name.
	EventName string

	// Name is the event's name behind that of the provider and _log_. Empty means the event name, as
	// typed.FieldName makes a name of it.
	Name string

	// Severities are the severities at which the program logs the record; one of each range is enough. At other
	// severities it is written as if it were not declared. Empty means all.
	//
	// Bridges such as otelslog ask whether a record is enabled before they know its event name. While the event is
	// enabled, the answer is yes for these severities: a tool that is attached to the event of a declared record with
	// Severities does not slow down the others.
	Severities []log.Severity

	Fields []Field
}

// Field declares an attribute.
type Field struct {
	// Key is the attribute's key.
	Key attribute.Key

	// Type is the type of the field.
	Type Type

	// Name is the field's name. Empty means Key, as typed.FieldName makes a name of it, with the unit behind it: _ns
	// for a Duration, _unix_nano for a Time.
	Name string
}

// Type is the type of a declared attribute. Values of other types are converted if the field can hold them exactly:
// numbers in range, numbers and booleans from and to their text, durations from their text, durations and times from
// a number of nanoseconds, into which bridges convert them. A value that cannot be converted, such as a list, stays
// in the field attributes, and [uevents.EventStats] counts it.
type Type uint8

// The types of declared attributes. A field without a value is zero or empty.
const (
	String   = Type(declared.String)   // __data_loc char[]
	Bool     = Type(declared.Bool)     // u8: 0 or 1
	Int32    = Type(declared.Int32)    // s32
	Int64    = Type(declared.Int64)    // s64
	Uint8    = Type(declared.Uint8)    // u8
	Uint16   = Type(declared.Uint16)   // u16
	Uint32   = Type(declared.Uint32)   // u32
	Uint64   = Type(declared.Uint64)   // u64
	Float64  = Type(declared.Float64)  // __data_loc char[], its text, since the kernel has no such numbers
	Duration = Type(declared.Duration) // s64: nanoseconds
	Time     = Type(declared.Time)     // u64: nanoseconds since 1970
)

// fields returns the fields of a declared record.
func (r *Record) fields() []field {
	fields := make([]field, len(r.Fields)) // not nil, even if it is empty
	for i, f := range r.Fields {
		typ := declared.Type(f.Type)
		fields[i] = field{key: f.Key, name: declared.FieldName(f.Name, string(f.Key), typ), typ: typ}
	}
	return fields
}
