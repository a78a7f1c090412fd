package reader

import (
	"encoding/base64"
	"math"
)

// StringValue returns a Value that is a text.
func StringValue(s string) Value { return Value{typ: TypeString, str: s} }

// Int64Value returns a Value that is an integer.
func Int64Value(v int64) Value { return Value{typ: TypeInt64, num: uint64(v)} }

// Uint64Value returns a Value that is an integer, of [TypeInt64] unless v is above [math.MaxInt64].
func Uint64Value(v uint64) Value {
	if v <= math.MaxInt64 {
		return Value{typ: TypeInt64, num: v}
	}
	return Value{typ: TypeUint64, num: v}
}

// Float64Value returns a Value that is a floating-point number.
func Float64Value(v float64) Value { return Value{typ: TypeFloat64, num: math.Float64bits(v)} }

// BoolValue returns a Value that is a boolean.
func BoolValue(v bool) Value {
	if v {
		return Value{typ: TypeBool, num: 1}
	}
	return Value{typ: TypeBool}
}

// BytesValue returns a Value that is bytes. It refers to b, which must not change.
func BytesValue(b []byte) Value { return Value{typ: TypeBytes, str: stringOf(b)} }

// ListValue returns a list of the values of fields. It refers to the slice, which must not change.
func ListValue(elements []Field) Value { return Value{typ: TypeList, list: elements} }

// MapValue returns a map. It refers to the slice, which must not change.
func MapValue(fields []Field) Value { return Value{typ: TypeMap, list: fields} }

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

func appendBase64(dst, b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}
