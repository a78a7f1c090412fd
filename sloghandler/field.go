package sloghandler

import (
	"encoding"
	"log/slog"
	"math"
	"reflect"
	"strings"

	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// field is a declared attribute.
type field struct {
	key   string
	alias string // the key without the unit that it ends in, or else the key
	name  string
	typ   declared.Type
	scale float64 // of a floating-point number that is written as an integer, or 0
	text  bool    // its value is behind the fixed part
	at    int     // offset in a payload

	kind     slog.Kind // of the values that mostly come
	min, max int64     // range of an integer
	size     int       // of a number in bytes
}

// newField returns a field of a type. Its position and names are missing.
func newField(typ declared.Type) field {
	f := field{typ: typ, text: typ.IsText(), kind: slog.KindInt64}
	f.min, f.max = typ.Range()
	f.size = typ.Tracepoint().Kind.Size()
	switch typ {
	case declared.String:
		f.kind = slog.KindString
	case declared.Bool:
		f.kind = slog.KindBool
	case declared.Duration:
		f.kind = slog.KindDuration
	case declared.Time:
		f.kind = slog.KindTime
	case declared.Float64:
		f.kind = slog.KindFloat64
	default:
	}
	return f
}

// value returns a value of the field, as a number or a text, if it can hold v, which is of a kind.
func (f *field) value(v slog.Value, kind slog.Kind) (num uint64, text string, ok bool) {
	if kind != f.kind || f.scale != 0 {
		return f.convert(v)
	}
	switch kind {
	case slog.KindString:
		return 0, v.String(), true
	case slog.KindInt64:
		n := v.Int64()
		return uint64(n), "", n >= f.min && n <= f.max
	case slog.KindDuration:
		return uint64(v.Duration()), "", true
	case slog.KindBool:
		return uint64(typedfield.Bool(v.Bool())), "", true
	default:
		return f.convert(v)
	}
}

// keys returns the keys that an attribute for the field may have, the usual one first.
func (f *field) keys() []string {
	if f.alias == f.key {
		return []string{f.key}
	}
	return []string{f.alias, f.key}
}

// put writes a value.
func (f *field) put(b *payload.Builder, num uint64, text string) {
	switch {
	case f.typ == declared.String:
		b.Text(f.at, text)
	case f.text:
		b.Buf, _ = f.typ.Put(b.Buf, payload.Base, payload.Base+f.at, num, text, b.Limit())
	case f.size == 1:
		b.PutU8(f.at, uint8(num))
	case f.size == 2:
		b.PutU16(f.at, uint16(num))
	case f.size == 4:
		b.PutU32(f.at, uint32(num))
	default:
		b.PutU64(f.at, num)
	}
}

// convert returns the value of a field, as a number or a text, if nothing of v is lost and nothing has to be guessed: a
// duration or a time has no unit as a number, and a truth value is none.
func (f *field) convert(v slog.Value) (num uint64, text string, ok bool) {
	kind := v.Kind()
	switch {
	case f.scale != 0:
		if kind != slog.KindFloat64 {
			return 0, "", false
		}
		scaled := v.Float64() * f.scale
		inRange := scaled >= math.MinInt64 && scaled < math.MaxInt64
		return uint64(typedfield.Scale(v.Float64(), f.scale)), "", inRange
	case f.typ == declared.String && kind == slog.KindString:
		return 0, v.String(), true
	case kind == slog.KindAny:
		if v, ok = basic(v.Any(), f.typ); !ok {
			return 0, "", false
		}
		kind = v.Kind()
	default:
	}
	switch kind {
	case slog.KindString:
		// The text of a number has no unit either. That of a duration always ends in one.
		if f.typ == declared.Duration && !strings.HasSuffix(v.String(), "s") {
			return 0, "", false
		}
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		if f.typ == declared.Duration || f.typ == declared.Time || f.typ == declared.Bool {
			return 0, "", false
		}
	case slog.KindBool:
		if f.typ != declared.Bool && f.typ != declared.String {
			return 0, "", false
		}
	case slog.KindDuration:
		if f.typ != declared.Duration && f.typ != declared.String {
			return 0, "", false
		}
	case slog.KindTime:
		return f.typ.ConvertTime(v.Time())
	default:
	}
	num, text, ok = f.typ.Convert(neutral(v))
	return num, text, ok && (f.typ != declared.Int32 || int64(num) >= f.min && int64(num) <= f.max)
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
// it. For a field that holds text, the text that the type itself makes of a value comes first. It is not ok if a method of the
// program panics: the attribute, which stays one, tells.
func basic(v any, t declared.Type) (out slog.Value, ok bool) {
	defer func() { _ = recover() }()
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
