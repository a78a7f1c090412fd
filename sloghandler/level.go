package sloghandler

import (
	"log/slog"
	"math"

	"github.com/userevents/userevents-go/tracepoint"
)

// levelRange numbers the ranges of levels that have an event each.
type levelRange int

const ranges = 4

var rangeNames = [ranges]string{"debug", "info", "warn", "error"}

func rangeOf(level slog.Level) levelRange {
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

func declaration(name string, r levelRange) tracepoint.Declaration {
	return tracepoint.Declaration{Name: name + "_" + rangeNames[r], Fields: fields}
}

// clamp returns the level as the field holds it. Levels are numbers of any size.
func clamp(level slog.Level) int32 {
	return int32(min(max(int64(level), math.MinInt32), math.MaxInt32))
}
