package sloghandler

import (
	"encoding"
	"log/slog"
	"reflect"

	"github.com/userevents/userevents-go/internal/declared"
)

// convert returns the value of a field of type t, as a number or a text, if nothing of v is
// lost.
func convert(t declared.Type, v slog.Value) (num uint64, text string, ok bool) {
	if v.Kind() == slog.KindAny {
		if v, ok = basic(v.Any(), t); !ok {
			return 0, "", false
		}
	}
	if v.Kind() == slog.KindTime {
		return t.ConvertTime(v.Time())
	}
	return t.Convert(neutral(v))
}

func neutral(v slog.Value) declared.Value {
	switch v.Kind() {
	case slog.KindString:
		return declared.TextValue(v.String())
	case slog.KindInt64:
		return declared.IntValue(v.Int64())
	case slog.KindUint64:
		return declared.UintValue(v.Uint64())
	case slog.KindFloat64:
		return declared.FloatValue(v.Float64())
	case slog.KindBool:
		return declared.BoolValue(v.Bool())
	case slog.KindDuration:
		return declared.DurationValue(v.Duration())
	default:
		return declared.Value{}
	}
}

// basic returns a value of a named type, such as time.Month, as one of the plain kind below
// it. For a field that holds text, the text that the type itself makes of a value comes first.
func basic(v any, t declared.Type) (out slog.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // a method of the program; the attribute will tell
		}
	}()
	if t == declared.String {
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
