package sloghandler

import (
	"log/slog"

	"github.com/userevents/userevents-go/internal/declared"
)

// Record declares what the records of one message carry. They go to an event of their own,
// in which the declared attributes are fields of their own type, so that the kernel filters
// and aggregates by them:
//
//	sloghandler.Record{Message: "http request", Fields: []sloghandler.Field{
//		{Key: "method"},
//		{Key: "route"},
//		{Key: "status", Type: sloghandler.Uint16},
//		{Key: "latency", Type: sloghandler.Duration},
//	}}
//
// makes a handler called myapp register
//
//	myapp_http_request ... __data_loc char[] method; __data_loc char[] route; u16 status; s64 latency_ns; ...
//
// and whatever attributes are not declared are in the field attributes. With the encoding
// [EventHeader], which has events inside of tracepoints, the records stay in their level's
// tracepoint and get the name http_request there.
type Record struct {
	// Message selects the records: those with exactly this message.
	Message string

	// Name is the event's name without the handler's. Empty means the message, as
	// [typed.FieldName] makes a name of it.
	Name string

	// Levels are levels at which the program logs the message, one of each range is enough.
	// At other levels it is a record like any other. Empty means all.
	//
	// While the event is traced, the handler is enabled for these levels, since slog asks
	// without telling the message; so a tracer of a declared record with Levels costs the
	// others nothing.
	Levels []slog.Level

	Fields []Field
}

// Field declares an attribute.
type Field struct {
	// Key is the attribute's key. It may be in any group, one that WithGroup opened
	// included; names of groups in front of the key, as in "request.id", demand these to be
	// the innermost. If several attributes match, the one in the fewest further groups wins, and then
	// the last one.
	Key string

	// Type is what the field holds.
	Type Type

	// Name is the field's name. Empty means Key, as [typed.FieldName] makes a name of it,
	// with the unit behind it: _ns for a Duration, _unix_nano for a Time.
	Name string
}

// Type is the type of a declared attribute. Values of other types are converted if nothing is
// lost: numbers in range, numbers and booleans from and to their text, durations from and to
// a number of nanoseconds, times from such a number and to their text. A value that cannot be converted stays in the field attributes,
// and [Stats] counts it.
type Type uint8

// The types of declared attributes, with the numbers that package declared gives them. A field without a value is zero or empty.
const (
	String   Type = iota // __data_loc char[]
	Bool                 // u8: 0 or 1
	Int32                // s32
	Int64                // s64
	Uint8                // u8
	Uint16               // u16
	Uint32               // u32
	Uint64               // u64
	Float64              // __data_loc char[], its text, since the kernel has no such numbers; EventHeader has
	Duration             // s64: nanoseconds
	Time                 // u64: nanoseconds since 1970
)

// name returns the event's name without the handler's.
func (r *Record) name() string { return declared.EventName(r.Name, r.Message) }

// declared returns the fields of a declared record.
func (r *Record) declared() []field {
	fields := make([]field, len(r.Fields)) // not nil, even if it is empty
	for i := range r.Fields {
		f := &r.Fields[i]
		typ := declared.Type(f.Type)
		fields[i] = field{key: f.Key, name: declared.FieldName(f.Name, f.Key, typ), typ: typ}
	}
	return fields
}
