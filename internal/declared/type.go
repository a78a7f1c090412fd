// Package declared is about attributes that a program declares in advance, so that they become
// fields of their own in an event: the types of such fields, their names, which values they
// take, and how these are written. It knows values as the loggers' adapters hand them over,
// and no logger.
package declared

import (
	"math"

	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/tracepoint"
)

// Type is the type of a declared attribute. The adapters export one with the same numbers.
type Type uint8

// The types. A field without a value is zero or empty.
const (
	String   Type = iota // __data_loc char[]
	Bool                 // u8: 0 or 1
	Int32                // s32
	Int64                // s64
	Uint8                // u8
	Uint16               // u16
	Uint32               // u32
	Uint64               // u64
	Float64              // __data_loc char[], its text, since the kernel has no such numbers
	Duration             // s64: nanoseconds
	Time                 // u64: nanoseconds since 1970
	types
)

// info describes each type.
var info = [types]struct {
	field tracepoint.Type
	unit  string // what the name of a field ends in
	min   int64  // of the integers
	max   uint64
}{
	String:   {field: tracepoint.Dynamic(tracepoint.Char)},
	Bool:     {field: tracepoint.Scalar(tracepoint.U8), max: 1},
	Int32:    {field: tracepoint.Scalar(tracepoint.S32), min: math.MinInt32, max: math.MaxInt32},
	Int64:    {field: tracepoint.Scalar(tracepoint.S64), min: math.MinInt64, max: math.MaxInt64},
	Uint8:    {field: tracepoint.Scalar(tracepoint.U8), max: math.MaxUint8},
	Uint16:   {field: tracepoint.Scalar(tracepoint.U16), max: math.MaxUint16},
	Uint32:   {field: tracepoint.Scalar(tracepoint.U32), max: math.MaxUint32},
	Uint64:   {field: tracepoint.Scalar(tracepoint.U64), max: math.MaxUint64},
	Float64:  {field: tracepoint.Dynamic(tracepoint.Char)},
	Duration: {field: tracepoint.Scalar(tracepoint.S64), unit: "_ns", min: math.MinInt64, max: math.MaxInt64},
	Time:     {field: tracepoint.Scalar(tracepoint.U64), unit: "_unix_nano", max: math.MaxUint64},
}

// Tracepoint returns the field's type in a typed event; that of an unknown Type is invalid.
func (t Type) Tracepoint() tracepoint.Type {
	if t < types {
		return info[t].field
	}
	return tracepoint.Type{}
}

// Range returns the integers that a field of the type holds, as far as an int64 can tell them.
func (t Type) Range() (least, most int64) {
	if t >= types {
		return 0, 0
	}
	return info[t].min, int64(min(info[t].max, math.MaxInt64))
}

// Field returns the field of a typed event. The text of a number is never cut.
func (t Type) Field(name string) payload.Field {
	f := payload.Field{Name: name, Type: t.Tracepoint()}
	switch t {
	case String:
		f.Class = payload.Text
	case Float64:
		f.Size = floatSize
	default:
	}
	return f
}

// floatSize is the most bytes that text.AppendFloat writes, with a NUL.
const floatSize = 25 + 1

// IsText reports whether the field's value is behind the fixed part of a payload.
func (t Type) IsText() bool { return t == String || t == Float64 }
