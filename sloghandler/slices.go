package sloghandler

import (
	"reflect"
	"slices"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/internal/attrjson"
)

// appendSlice appends a slice whose elements have a type of their own in the format as an array, and a nil slice as null. It
// returns false for any other value.
func appendSlice(e *eventheader.Encoder, key string, v any) bool {
	switch v := v.(type) {
	case []byte:
		appendArray(e, key, v, (*eventheader.Encoder).Bytes)
	case []string:
		appendArray(e, key, v, (*eventheader.Encoder).Strings)
	case []error:
		appendArray(e, key, v, appendErrors)
	case []float64:
		appendArray(e, key, v, eventheader.Floats)
	case []float32:
		appendArray(e, key, v, eventheader.Floats)
	case []bool:
		appendArray(e, key, v, (*eventheader.Encoder).Bools)
	case []int64:
		appendArray(e, key, v, eventheader.Ints)
	case []int:
		appendArray(e, key, v, eventheader.Ints)
	case []int8:
		appendArray(e, key, v, eventheader.Ints)
	case []int16:
		appendArray(e, key, v, eventheader.Ints)
	case []int32:
		appendArray(e, key, v, eventheader.Ints)
	case []uint64:
		appendArray(e, key, v, eventheader.Uints)
	case []uint:
		appendArray(e, key, v, eventheader.Uints)
	case []uint16:
		appendArray(e, key, v, eventheader.Uints)
	case []uint32:
		appendArray(e, key, v, eventheader.Uints)
	default:
		return false
	}
	return true
}

func appendArray[T any](e *eventheader.Encoder, key string, v []T, add func(*eventheader.Encoder, string, []T)) {
	if v == nil {
		e.Null(key)
		return
	}
	add(e, key, v)
}

// appendErrors appends the texts of errors.
func appendErrors(e *eventheader.Encoder, key string, v []error) {
	eventheader.Texts(e, key, v, func(err error) string {
		if err == nil {
			return "<nil>"
		}
		return attrjson.ErrorText(err)
	})
}

// cloneSlice returns a copy of a slice that appendSlice appends, which the program cannot change.
func cloneSlice(v any) (clone any, ok bool) {
	switch v := v.(type) {
	case []error:
		errs := slices.Clone(v)
		for i, err := range errs {
			if err != nil {
				errs[i] = frozenError(attrjson.ErrorText(err))
			}
		}
		return errs, true
	case []byte, []string, []bool, []float64, []float32,
		[]int64, []int, []int8, []int16, []int32, []uint64, []uint, []uint16, []uint32:
		from := reflect.ValueOf(v)
		if from.IsNil() {
			return v, true
		}
		to := reflect.MakeSlice(from.Type(), from.Len(), from.Len())
		reflect.Copy(to, from)
		return to.Interface(), true
	default:
		return nil, false
	}
}

// frozenError is what the text of an error was when it was bound.
type frozenError string

func (e frozenError) Error() string { return string(e) }
