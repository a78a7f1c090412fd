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

	// What putExact needs: the kind of values that mostly come, and the range and size of an integer.
	kind     slog.Kind
	min, max int64
	size     int
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

// putExact writes a value of the field's kind. It returns false if it leaves that to convert and put.
func (f *field) putExact(b *payload.Builder, v *slog.Value) bool {
	switch f.kind {
	case slog.KindString:
		b.Text(f.at, v.String())
	case slog.KindInt64:
		n := v.Int64()
		if n < f.min || n > f.max || f.scale != 0 {
			return false
		}
		switch f.size {
		case 1:
			b.PutU8(f.at, uint8(n))
		case 2:
			b.PutU16(f.at, uint16(n))
		case 4:
			b.PutU32(f.at, uint32(n))
		default:
			b.PutU64(f.at, uint64(n))
		}
	case slog.KindDuration:
		b.PutU64(f.at, uint64(v.Duration()))
	case slog.KindBool:
		b.PutU8(f.at, typedfield.Bool(v.Bool()))
	default:
		return false
	}
	return true
}

func (f *field) keys() []string {
	if f.alias == f.key {
		return []string{f.key}
	}
	return []string{f.key, f.alias}
}

// dotted reports whether the key may name groups.
func (f *field) dotted() bool { return strings.Contains(f.key, ".") }

// match reports whether an attribute in these groups is the one that a field is for, and how many
// of the groups the field's key does not name.
func (f *field) match(key string, groups []string) (outer int, ok bool) {
	if outer, ok = match(f.key, key, groups); !ok && f.alias != f.key {
		outer, ok = match(f.alias, key, groups)
	}
	return outer, ok
}

func match(declared, key string, groups []string) (outer int, ok bool) {
	rest, ok := strings.CutSuffix(declared, key)
	if !ok {
		return 0, false
	}
	outer = len(groups)
	for rest != "" {
		if outer == 0 {
			return 0, false
		}
		outer--
		if rest, ok = strings.CutSuffix(rest, "."); !ok {
			return 0, false
		}
		if rest, ok = strings.CutSuffix(rest, groups[outer]); !ok {
			return 0, false
		}
	}
	return outer, true
}

// put writes a value that was converted.
func (f *field) put(b *payload.Builder, num uint64, text string) {
	switch {
	case !f.text:
		b.Buf, _ = f.typ.Put(b.Buf, payload.Base, payload.Base+f.at, num, text, 0)
	case f.typ == declared.String:
		b.Text(f.at, text)
	default:
		b.Buf, _ = f.typ.Put(b.Buf, payload.Base, payload.Base+f.at, num, text, b.Limit())
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
	return f.typ.Convert(neutral(v))
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
