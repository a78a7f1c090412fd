package reader

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/internal/errno"
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

// severityAliases are names of severities that other systems use.
var severityAliases = map[string]Severity{
	"verbose": SeverityDebug, "information": SeverityInfo, "informational": SeverityInfo, "notice": SeverityInfo, "warning": SeverityWarn, "err": SeverityError,
	"critical": SeverityFatal, "crit": SeverityFatal, "panic": SeverityFatal,
}

// ParseSeverity parses the name of a severity, in any case: trace, debug, info, warn, error or fatal, with an optional 2, 3 or 4 behind
// it, or a usual name of the same, such as warning, err or critical. The error wraps EINVAL.
func ParseSeverity(s string) (Severity, error) {
	for level := SeverityTrace; level <= maxSeverity; level++ {
		if strings.EqualFold(s, severityNames[level]) {
			return level, nil
		}
	}
	if level, ok := severityAliases[strings.ToLower(s)]; ok {
		return level, nil
	}
	return 0, fmt.Errorf("level %q is none of trace, debug, info, warn, error and fatal: %w", s, errno.EINVAL)
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
