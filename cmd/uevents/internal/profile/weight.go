package profile

import (
	"math"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// weight returns the number in a field, rounded towards zero. One that no int64 has becomes the nearest one.
func weight(ev *reader.Event, name string) (n int64, ok bool) {
	if name == "duration_ns" && (ev.Kind == reader.KindSpan || ev.Duration != 0) {
		// The decoder took the field. No span lasts less than no time: the clock was set, or the number is none of a duration.
		return int64(max(ev.Duration, time.Duration(0))), true
	}
	v, ok := ev.Lookup(name)
	if !ok {
		return 0, false
	}
	switch v.Type() {
	case reader.TypeInt64:
		return v.Int64(), true
	case reader.TypeUint64:
		return int64(min(v.Uint64(), math.MaxInt64)), true
	case reader.TypeFloat64:
		return truncated(v.Float64())
	}
	return 0, false
}

// truncated reports with false that a number is NaN.
func truncated(f float64) (n int64, ok bool) {
	switch {
	case f >= 1<<63:
		return math.MaxInt64, true
	case f < -1<<63:
		return math.MinInt64, true
	}
	return int64(f), !math.IsNaN(f)
}

// add returns a sum. One that no int64 has becomes the nearest one.
func add(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
