package reader

import "strconv"

// Severity is OpenTelemetry's severity number of a log record: 1 to 24, or 0 if it is not known.
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

// String returns OpenTelemetry's short name of the severity: TRACE, DEBUG2, and UNDEFINED for what is no severity.
func (s Severity) String() string {
	if s < 0 || s > maxSeverity {
		s = 0
	}
	return severityNames[s]
}
