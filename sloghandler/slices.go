package sloghandler

import "github.com/userevents/userevents-go/encode/eventheader"

// appendSlice appends a slice whose elements have a type of their own in the format as an array, and a nil slice as null. It
// returns false for any other value.
func appendSlice(e *eventheader.Encoder, key string, v any) bool {
	switch v := v.(type) {
	case []byte:
		appendArray(e, key, v, e.Bytes)
	case []string:
		appendArray(e, key, v, e.Strings)
	case []error:
		appendArray(e, key, v, func(key string, v []error) {
			texts := make([]string, len(v))
			for i := range v {
				texts[i] = frozenValue(v[i]).String()
			}
			e.Strings(key, texts)
		})
	case []float64:
		appendArray(e, key, v, e.Float64s)
	case []float32:
		appendArray(e, key, v, func(key string, v []float32) { e.Float64s(key, converted[float64](v)) })
	case []bool:
		appendArray(e, key, v, e.Bools)
	case []int64:
		appendArray(e, key, v, e.Int64s)
	case []int:
		appendSigned(e, key, v)
	case []int8:
		appendSigned(e, key, v)
	case []int16:
		appendSigned(e, key, v)
	case []int32:
		appendSigned(e, key, v)
	case []uint64:
		appendArray(e, key, v, e.Uint64s)
	case []uint:
		appendUnsigned(e, key, v)
	case []uint16:
		appendUnsigned(e, key, v)
	case []uint32:
		appendUnsigned(e, key, v)
	default:
		return false
	}
	return true
}

func appendArray[T any](e *eventheader.Encoder, key string, v []T, add func(string, []T)) {
	if v == nil {
		appendNull(e, key)
		return
	}
	add(key, v)
}

func appendSigned[T int | int8 | int16 | int32](e *eventheader.Encoder, key string, v []T) {
	appendArray(e, key, v, func(key string, v []T) { e.Int64s(key, converted[int64](v)) })
}

func appendUnsigned[T uint | uint16 | uint32](e *eventheader.Encoder, key string, v []T) {
	appendArray(e, key, v, func(key string, v []T) { e.Uint64s(key, converted[uint64](v)) })
}

// converted returns the numbers in the type of 64 bits that an array has.
func converted[To int64 | uint64 | float64, T int | int8 | int16 | int32 | uint | uint16 | uint32 | float32](v []T) []To {
	wide := make([]To, len(v))
	for i := range v {
		wide[i] = To(v[i])
	}
	return wide
}

func appendNull(e *eventheader.Encoder, key string) {
	e.Null(key, eventheader.TypeOf(eventheader.Binary, eventheader.FormatSigned))
}
