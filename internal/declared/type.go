// Package declared is about log records that a program declares, so that attributes become fields
// of their own in an event: the struct types that declare them, which values the fields
// take, and how these are written. It knows values as the loggers' adapters hand them over,
// and no logger.
package declared

import "math"

// Type is the type of a declared field that attributes can have.
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

// ranges are the integers that fields hold.
var ranges = [types]struct {
	min int64
	max uint64
}{
	Bool:     {0, 1},
	Int32:    {math.MinInt32, math.MaxInt32},
	Int64:    {math.MinInt64, math.MaxInt64},
	Uint8:    {0, math.MaxUint8},
	Uint16:   {0, math.MaxUint16},
	Uint32:   {0, math.MaxUint32},
	Uint64:   {0, math.MaxUint64},
	Duration: {math.MinInt64, math.MaxInt64},
	Time:     {0, math.MaxUint64},
}
