package ueventslog

import (
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/encode/eventheader"
)

// ranges is how many ranges of severities there are. The last two share an event unless the encoding tells them apart.
const ranges = 5

const (
	rangeDebug = iota // trace and debug
	rangeInfo
	rangeWarn
	rangeError
	rangeFatal
)

// namePrefix begins the names of all typed events behind the program's: the events of package sloghandler, which have
// other fields, have names without it.
const namePrefix = "log_"

// rangeNames end the names of the typed events.
var rangeNames = [ranges]string{"debug", "info", "warn", "error", "error"}

// rangeLevels are the levels of the same ranges in the format of EventHeader.
var rangeLevels = [ranges]eventheader.Level{
	eventheader.LevelVerbose, eventheader.LevelInfo, eventheader.LevelWarning, eventheader.LevelError, eventheader.LevelCritical,
}

// rangeOf returns the number of the range that a severity is in. One without a severity counts as information: nothing says that
// it is less.
func rangeOf(s log.Severity) uint8 {
	switch {
	case s <= 0:
		return rangeInfo
	case s < log.SeverityInfo:
		return rangeDebug
	case s < log.SeverityWarn:
		return rangeInfo
	case s < log.SeverityError:
		return rangeWarn
	case s < log.SeverityFatal:
		return rangeError
	default:
		return rangeFatal
	}
}

// rangesOf returns which ranges the severities are in; no severities stand for all.
func rangesOf(severities []log.Severity) (in [ranges]bool) {
	for r := range in {
		in[r] = len(severities) == 0
	}
	for _, s := range severities {
		in[rangeOf(s)] = true
	}
	return in
}
