package declared

import (
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// Convert returns the value of a field, as a number or a text, if nothing of v is lost. A floating-point number without
// a scale is the number that holds its bits. The time zone is no part of a time's value. No field takes a group, a
// LogValuer or a value of [slog.KindAny].
func (f *Field) Convert(v slog.Value) (num uint64, text string, ok bool) {
	switch f.Kind {
	case typedfield.GoString:
		text, ok = toText(v)
	case typedfield.GoFloat:
		num, ok = f.toFloat(v)
	case typedfield.GoBool:
		num, ok = f.toBool(v)
	case typedfield.GoDuration:
		if num, ok = toDuration(v); !ok {
			num, ok = f.toInteger(v)
		}
	case typedfield.GoTime:
		num, ok = f.toTime(v)
	default:
		num, ok = f.toInteger(v)
	}
	return num, text, ok
}

// toInteger returns an integer as a field of 64 bits holds it.
func (f *Field) toInteger(v slog.Value) (uint64, bool) {
	switch v.Kind() {
	case slog.KindBool:
		return uint64(typedfield.Bool(v.Bool())), true
	case slog.KindInt64:
		return uint64(v.Int64()), f.holds(v.Int64())
	case slog.KindDuration:
		return uint64(v.Duration()), f.holds(int64(v.Duration()))
	case slog.KindUint64:
		return v.Uint64(), v.Uint64() <= f.most
	case slog.KindFloat64:
		switch n := v.Float64(); {
		case n != math.Trunc(n):
		case n >= 0 && n < 1<<64:
			return uint64(n), uint64(n) <= f.most
		case n < 0 && n >= -1<<63:
			return uint64(int64(n)), int64(n) >= f.Min
		}
	case slog.KindString:
		s := v.String()
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return uint64(i), f.holds(i) && strconv.FormatInt(i, 10) == s
		}
		u, err := strconv.ParseUint(s, 10, 64)
		return u, err == nil && u <= f.most && strconv.FormatUint(u, 10) == s
	default:
	}
	return 0, false
}

func (f *Field) holds(i int64) bool { return i >= f.Min && (i < 0 || uint64(i) <= f.most) }

func (f *Field) toBool(v slog.Value) (uint64, bool) {
	if v.Kind() == slog.KindString {
		return uint64(typedfield.Bool(v.String() == "true")), v.String() == "true" || v.String() == "false"
	}
	return f.toInteger(v)
}

func (f *Field) toFloat(v slog.Value) (uint64, bool) {
	if f.Scale != 0 {
		return f.toScaled(v)
	}
	switch v.Kind() {
	case slog.KindFloat64:
		return math.Float64bits(v.Float64()), true
	case slog.KindInt64:
		n := float64(v.Int64())
		return math.Float64bits(n), n < 1<<63 && int64(n) == v.Int64()
	case slog.KindUint64:
		n := float64(v.Uint64())
		return math.Float64bits(n), n < 1<<64 && uint64(n) == v.Uint64()
	case slog.KindString:
		n, err := strconv.ParseFloat(v.String(), 64)
		return math.Float64bits(n), err == nil && string(text.AppendFloat(nil, n, 64)) == v.String()
	default:
		return 0, false
	}
}

func (f *Field) toScaled(v slog.Value) (uint64, bool) {
	if v.Kind() != slog.KindFloat64 {
		return 0, false
	}
	scaled := v.Float64() * f.Scale
	return uint64(typedfield.Scale(v.Float64(), f.Scale)), scaled >= math.MinInt64 && scaled < math.MaxInt64
}

// toDuration accepts a duration's text. Loggers without durations hand these over.
func toDuration(v slog.Value) (uint64, bool) {
	if v.Kind() != slog.KindString {
		return 0, false
	}
	d, err := time.ParseDuration(v.String())
	return uint64(d), err == nil && d.String() == v.String()
}

// toTime accepts a time or a count of nanoseconds. The text of a time is none.
func (f *Field) toTime(v slog.Value) (uint64, bool) {
	switch v.Kind() {
	case slog.KindTime:
		ns := typedfield.UnixNano(v.Time())
		return ns, time.Unix(int64(ns/1e9), int64(ns%1e9)).Equal(v.Time())
	case slog.KindInt64, slog.KindUint64:
		return f.toInteger(v)
	default:
		return 0, false
	}
}

func toText(v slog.Value) (string, bool) {
	switch v.Kind() {
	case slog.KindString:
		return v.String(), true
	case slog.KindBool:
		return strconv.FormatBool(v.Bool()), true
	case slog.KindInt64:
		return strconv.FormatInt(v.Int64(), 10), true
	case slog.KindUint64:
		return strconv.FormatUint(v.Uint64(), 10), true
	case slog.KindDuration:
		return v.Duration().String(), true
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano), true
	case slog.KindFloat64:
		return string(text.AppendFloat(nil, v.Float64(), 64)), true
	default:
		return "", false
	}
}
