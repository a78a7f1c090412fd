package sloghandler

import (
	"encoding"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/encode/typed"
)

// convert returns the value of a field of type t, as a number or a text, if nothing of v is lost.
// A Float64 is the number that holds its bits.
func (t Type) convert(v slog.Value) (num uint64, text string, ok bool) {
	if v.Kind() == slog.KindAny {
		if v, ok = basic(v.Any(), t); !ok {
			return 0, "", false
		}
	}
	switch t {
	case String:
		text, ok = toText(v)
		return 0, text, ok
	case Bool:
		num, ok = toBool(v)
	case Float64:
		num, ok = toFloat(v)
	case Time:
		num, ok = toTime(v)
	case Duration:
		if num, ok = toDuration(v); !ok {
			num, ok = toInteger(v, math.MinInt64, math.MaxInt64)
		}
	default:
		bounds := integers[t]
		num, ok = toInteger(v, bounds.min, bounds.max)
	}
	return num, "", ok
}

var integers = [types]struct {
	min int64
	max uint64
}{
	Int32:  {math.MinInt32, math.MaxInt32},
	Int64:  {math.MinInt64, math.MaxInt64},
	Uint8:  {0, math.MaxUint8},
	Uint16: {0, math.MaxUint16},
	Uint32: {0, math.MaxUint32},
	Uint64: {0, math.MaxUint64},
}

// toInteger returns an integer as a field of 64 bits holds it.
func toInteger(v slog.Value, least int64, most uint64) (uint64, bool) {
	switch v.Kind() {
	case slog.KindInt64:
		return uint64(v.Int64()), within(v.Int64(), least, most)
	case slog.KindDuration:
		return uint64(v.Duration()), within(int64(v.Duration()), least, most)
	case slog.KindUint64:
		return v.Uint64(), v.Uint64() <= most
	case slog.KindBool:
		return uint64(typed.Bool(v.Bool())), true
	case slog.KindFloat64:
		switch f := v.Float64(); {
		case f != math.Trunc(f):
		case f >= 0 && f < 1<<64:
			return uint64(f), uint64(f) <= most
		case f < 0 && f >= -1<<63:
			return uint64(int64(f)), int64(f) >= least
		}
	case slog.KindString:
		s := v.String()
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return uint64(i), within(i, least, most) && strconv.FormatInt(i, 10) == s
		}
		u, err := strconv.ParseUint(s, 10, 64)
		return u, err == nil && u <= most && strconv.FormatUint(u, 10) == s
	default:
	}
	return 0, false
}

func within(i, least int64, most uint64) bool { return i >= least && (i < 0 || uint64(i) <= most) }

func toBool(v slog.Value) (uint64, bool) {
	if v.Kind() == slog.KindString {
		return uint64(typed.Bool(v.String() == "true")), v.String() == "true" || v.String() == "false"
	}
	return toInteger(v, 0, 1)
}

func toFloat(v slog.Value) (uint64, bool) {
	switch v.Kind() {
	case slog.KindFloat64:
		return math.Float64bits(v.Float64()), true
	case slog.KindInt64:
		f := float64(v.Int64())
		return math.Float64bits(f), f < 1<<63 && int64(f) == v.Int64()
	case slog.KindUint64:
		f := float64(v.Uint64())
		return math.Float64bits(f), f < 1<<64 && uint64(f) == v.Uint64()
	case slog.KindString:
		f, err := strconv.ParseFloat(v.String(), 64)
		return math.Float64bits(f), err == nil && string(typed.AppendFloat(nil, f)) == v.String()
	default:
		return 0, false
	}
}

func toDuration(v slog.Value) (uint64, bool) {
	if v.Kind() != slog.KindString {
		return 0, false
	}
	d, err := time.ParseDuration(v.String())
	return uint64(d), err == nil && d.String() == v.String()
}

// toTime accepts times that the field has a number for. The time zone is no part of a time's value.
func toTime(v slog.Value) (uint64, bool) {
	if v.Kind() != slog.KindTime {
		return 0, false
	}
	ns := typed.UnixNano(v.Time())
	return ns, time.Unix(int64(ns/1e9), int64(ns%1e9)).Equal(v.Time())
}

func toText(v slog.Value) (string, bool) {
	switch v.Kind() {
	case slog.KindString, slog.KindInt64, slog.KindUint64, slog.KindBool, slog.KindDuration:
		return v.String(), true
	case slog.KindFloat64:
		return string(typed.AppendFloat(nil, v.Float64())), true
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano), true
	default:
		return "", false
	}
}

// basic returns a value of a named type, such as time.Month, as one of the plain kind below
// it. For a field that holds text, the text that the type itself makes of a value comes first.
func basic(v any, t Type) (out slog.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // a method of the program; the attribute will tell
		}
	}()
	if t == String {
		switch v := v.(type) {
		case error:
			return slog.StringValue(v.Error()), true
		case encoding.TextMarshaler:
			text, err := v.MarshalText()
			return slog.StringValue(string(text)), err == nil
		case interface{ String() string }:
			return slog.StringValue(v.String()), true
		}
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return slog.StringValue(r.String()), true
	case reflect.Bool:
		return slog.BoolValue(r.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return slog.Int64Value(r.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return slog.Uint64Value(r.Uint()), true
	case reflect.Float32, reflect.Float64:
		return slog.Float64Value(r.Float()), true
	default:
		return out, false
	}
}
