package sloghandler

import (
	"log/slog"
	"math"
)

// ranges is how many ranges of levels have an event each.
const ranges = 4

var rangeNames = [ranges]string{"debug", "info", "warn", "error"}

// rangeOf returns the number of the range that a level is in.
func rangeOf(level slog.Level) int {
	switch {
	case level < slog.LevelInfo:
		return 0
	case level < slog.LevelWarn:
		return 1
	case level < slog.LevelError:
		return 2
	}
	return 3
}

// rangesOf returns which ranges the levels are in; no levels stand for all.
func rangesOf(levels []slog.Level) (in [ranges]bool) {
	for _, level := range levels {
		in[rangeOf(level)] = true
	}
	if len(levels) == 0 {
		in = [ranges]bool{true, true, true, true}
	}
	return in
}

// minimum returns a least level that can be read without a call, and the Leveler if there
// is no such. It is not ok if l is a nil pointer, which stands for all levels then.
func minimum(l slog.Leveler) (least *slog.LevelVar, leveler slog.Leveler, ok bool) {
	least = new(slog.LevelVar)
	least.Set(math.MinInt)
	switch l := l.(type) {
	case nil:
	case slog.Level:
		least.Set(l)
	case *slog.LevelVar:
		if l == nil { // a typed nil: Enabled must not panic as soon as a tool attaches
			return least, nil, false
		}
		least = l
	default:
		leveler = l
	}
	return least, leveler, true
}

// clamp returns the level as the field holds it. Levels are numbers of any size.
func clamp(level slog.Level) int32 {
	return int32(min(max(int64(level), math.MinInt32), math.MaxInt32))
}
