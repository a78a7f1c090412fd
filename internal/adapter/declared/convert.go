package declared

import (
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// Convert returns the value of a field of type t, as a number or a text, if nothing of v is
// lost. A Float64 is the number that holds its bits. The time zone is no part of a time's value.
// No field takes a group, a LogValuer or a value of [slog.KindAny].
func (t Type) Convert(v slog.Value) (num uint64, text string, ok bool) {
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
		num, ok = toTime(v)
	default:
		num, ok = t.toInteger(v)
	}
	return num, "", ok
}

// toInteger returns an integer as a field of 64 bits holds it.
func (t Type) toInteger(v slog.Value) (uint64, bool) {
	switch v.Kind() {
	case slog.KindBool:
		return uint64(typedfield.Bool(v.Bool())), true
	case slog.KindInt64:
		return uint64(v.Int64()), t.holds(v.Int64())
	case slog.KindDuration:
		return uint64(v.Duration()), t.holds(int64(v.Duration()))
	case slog.KindUint64:
		return v.Uint64(), v.Uint64() <= ranges[t].max
	case slog.KindFloat64:
		switch f := v.Float64(); {
		case f != math.Trunc(f):
		case f >= 0 && f < 1<<64:
			return uint64(f), uint64(f) <= ranges[t].max
		case f < 0 && f >= -1<<63:
			return uint64(int64(f)), int64(f) >= ranges[t].min
		}
	case slog.KindString:
		s := v.String()
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return uint64(i), t.holds(i) && strconv.FormatInt(i, 10) == s
		}
		u, err := strconv.ParseUint(s, 10, 64)
		return u, err == nil && u <= ranges[t].max && strconv.FormatUint(u, 10) == s
	default:
	}
	return 0, false
}

func (t Type) holds(i int64) bool { return i >= ranges[t].min && (i < 0 || uint64(i) <= ranges[t].max) }

func toBool(v slog.Value) (uint64, bool) {
	if v.Kind() == slog.KindString {
		return uint64(typedfield.Bool(v.String() == "true")), v.String() == "true" || v.String() == "false"
	}
	return Bool.toInteger(v)
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
		return math.Float64bits(f), err == nil && string(text.AppendFloat(nil, f, 64)) == v.String()
	default:
		return 0, false
	}
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
func toTime(v slog.Value) (uint64, bool) {
	switch v.Kind() {
	case slog.KindTime:
		ns := typedfield.UnixNano(v.Time())
		return ns, time.Unix(int64(ns/1e9), int64(ns%1e9)).Equal(v.Time())
	case slog.KindInt64, slog.KindUint64:
		return Time.toInteger(v)
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
