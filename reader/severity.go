package reader

import (
	"strconv"

	"github.com/userevents/userevents-go/encode/eventheader"
)

// Severity is OpenTelemetry's severity number of a log record: 1 to 24, or 0 if unknown.
type Severity int8

// The first severity of each range of four.
const (
	SeverityTrace Severity = 1
	SeverityDebug Severity = 5
	SeverityInfo  Severity = 9
	SeverityWarn  Severity = 13
	SeverityError Severity = 17
	SeverityFatal Severity = 21

	maxSeverity = SeverityFatal + 3
)

var severityNames = func() (names [maxSeverity + 1]string) {
	names[0] = "UNDEFINED"
	for i, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		first := 1 + 4*i
		names[first] = name
		for n := 2; n <= 4; n++ {
			names[first+n-1] = name + strconv.Itoa(n)
		}
	}
	return names
}()

// String returns OpenTelemetry's short name of the severity, such as TRACE or DEBUG2, and UNDEFINED for other numbers.
func (s Severity) String() string {
	if s < 0 || s > maxSeverity {
		s = 0
	}
	return severityNames[s]
}

// slogOffset is the difference between OpenTelemetry's severity and the level of package slog.
const slogOffset = 9

// severityOfSlog returns the severity of a level of package slog.
func severityOfSlog(level int64) Severity {
	level = min(max(level, int64(SeverityTrace)-slogOffset), int64(maxSeverity)-slogOffset)
	return Severity(level + slogOffset)
}

// headerSeverities maps EventHeader's levels to severities. Some producers have a level above verbose for traces.
var headerSeverities = [...]Severity{
	eventheader.LevelCritical:    SeverityFatal,
	eventheader.LevelError:       SeverityError,
	eventheader.LevelWarning:     SeverityWarn,
	eventheader.LevelInfo:        SeverityInfo,
	eventheader.LevelVerbose:     SeverityDebug,
	eventheader.LevelVerbose + 1: SeverityTrace,
}

// severityOfHeader returns the severity of an EventHeader level.
func severityOfHeader(level eventheader.Level) Severity {
	if int(level) >= len(headerSeverities) {
		return SeverityTrace
	}
	return headerSeverities[level]
}
