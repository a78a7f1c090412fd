package ueventslog

import (
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/encode/eventheader"
)

// ranges is how many ranges of severities there are. The last two share an event unless the
// encoding tells them apart.
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

// severityRanges are the ranges of the severities that OpenTelemetry defines. A record
// without a severity counts as information: nothing says that it is less.
var severityRanges = [25]uint8{
	rangeInfo,
	rangeDebug, rangeDebug, rangeDebug, rangeDebug, // trace
	rangeDebug, rangeDebug, rangeDebug, rangeDebug,
	rangeInfo, rangeInfo, rangeInfo, rangeInfo,
	rangeWarn, rangeWarn, rangeWarn, rangeWarn,
	rangeError, rangeError, rangeError, rangeError,
	rangeFatal, rangeFatal, rangeFatal, rangeFatal,
}

// rangeOf returns the number of the range that a severity is in. Those that OpenTelemetry
// does not define count as none, below, and as fatal, above.
func rangeOf(s log.Severity) uint8 {
	return severityRanges[min(max(s, 0), log.SeverityFatal4)]
}

// rangesOf returns which ranges the severities are in; no severities stand for all.
func rangesOf(severities []log.Severity) (in [ranges]bool) {
	for _, s := range severities {
		in[rangeOf(s)] = true
	}
	if len(severities) == 0 {
		in = [ranges]bool{true, true, true, true, true}
	}
	return in
}
