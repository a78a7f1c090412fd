package declared

import (
	"math"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// Value is an attribute's value, whatever logger it came from. The zero Value is one that no
// field takes.
type Value struct {
	kind kind
	num  uint64 // a Float's is its IEEE representation
	text string
}

type kind uint8

const (
	other kind = iota
	boolean
	integer
	unsigned
	float
	textual
	duration
)

// BoolValue returns the Value of a boolean.
func BoolValue(v bool) Value { return Value{kind: boolean, num: uint64(typedfield.Bool(v))} }

// IntValue returns the Value of a signed integer.
func IntValue(v int64) Value { return Value{kind: integer, num: uint64(v)} }

// UintValue returns the Value of an unsigned integer.
func UintValue(v uint64) Value { return Value{kind: unsigned, num: v} }

// DurationValue returns the Value of a duration.
func DurationValue(v time.Duration) Value { return Value{kind: duration, num: uint64(v)} }

// FloatValue returns the Value of a floating-point number.
func FloatValue(v float64) Value { return Value{kind: float, num: math.Float64bits(v)} }

// TextValue returns the Value of a text.
func TextValue(v string) Value { return Value{kind: textual, text: v} }

// Convert returns the value of a field of type t, as a number or a text, if nothing of v is
// lost. A Float64 is the number that holds its bits.
func (t Type) Convert(v Value) (num uint64, text string, ok bool) {
	switch t {
	case String:
		text, ok = toText(v)
		return 0, text, ok
	case Float64:
		num, ok = toFloat(v)
	case Bool:
		num, ok = toBool(v)
	case Duration:
		if num, ok = toDuration(v); !ok {
			num, ok = t.toInteger(v)
		}
	case Time:
		if v.kind == integer || v.kind == unsigned { // a count of nanoseconds; the text of a time is none
			num, ok = t.toInteger(v)
		}
	default:
		num, ok = t.toInteger(v)
	}
	return num, "", ok
}

// ConvertTime is Convert for a point in time: to its text, or to a number if there is one for
// it. The time zone is no part of a time's value.
func (t Type) ConvertTime(at time.Time) (num uint64, text string, ok bool) {
	switch t {
	case String:
		return 0, at.Format(time.RFC3339Nano), true
	case Time:
		ns := typedfield.UnixNano(at)
		return ns, "", time.Unix(int64(ns/1e9), int64(ns%1e9)).Equal(at)
	default:
		return 0, "", false
	}
}

// toInteger returns an integer as a field of 64 bits holds it.
func (t Type) toInteger(v Value) (uint64, bool) {
	switch v.kind {
	case boolean:
		return v.num, true
	case integer, duration:
		return v.num, t.holds(int64(v.num))
	case unsigned:
		return v.num, v.num <= ranges[t].max
	case float:
		switch f := math.Float64frombits(v.num); {
		case f != math.Trunc(f):
		case f >= 0 && f < 1<<64:
			return uint64(f), uint64(f) <= ranges[t].max
		case f < 0 && f >= -1<<63:
			return uint64(int64(f)), int64(f) >= ranges[t].min
		}
	case textual:
		if i, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			return uint64(i), t.holds(i) && strconv.FormatInt(i, 10) == v.text
		}
		u, err := strconv.ParseUint(v.text, 10, 64)
		return u, err == nil && u <= ranges[t].max && strconv.FormatUint(u, 10) == v.text
	default:
	}
	return 0, false
}

func (t Type) holds(i int64) bool { return i >= ranges[t].min && (i < 0 || uint64(i) <= ranges[t].max) }

func toBool(v Value) (uint64, bool) {
	if v.kind == textual {
		return uint64(typedfield.Bool(v.text == "true")), v.text == "true" || v.text == "false"
	}
	return Bool.toInteger(v)
}

func toFloat(v Value) (uint64, bool) {
	switch v.kind {
	case float:
		return v.num, true
	case integer:
		f := float64(int64(v.num))
		return math.Float64bits(f), f < 1<<63 && int64(f) == int64(v.num)
	case unsigned:
		f := float64(v.num)
		return math.Float64bits(f), f < 1<<64 && uint64(f) == v.num
	case textual:
		f, err := strconv.ParseFloat(v.text, 64)
		return math.Float64bits(f), err == nil && string(text.AppendFloat(nil, f, 64)) == v.text
	default:
		return 0, false
	}
}

// toDuration accepts a duration's text. Loggers without durations hand these over.
func toDuration(v Value) (uint64, bool) {
	if v.kind != textual {
		return 0, false
	}
	d, err := time.ParseDuration(v.text)
	return uint64(d), err == nil && d.String() == v.text
}

func toText(v Value) (string, bool) {
	switch v.kind {
	case textual:
		return v.text, true
	case boolean:
		return strconv.FormatBool(v.num != 0), true
	case integer:
		return strconv.FormatInt(int64(v.num), 10), true
	case unsigned:
		return strconv.FormatUint(v.num, 10), true
	case duration:
		return time.Duration(v.num).String(), true
	case float:
		return string(text.AppendFloat(nil, math.Float64frombits(v.num), 64)), true
	default:
		return "", false
	}
}
