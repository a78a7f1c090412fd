package reader

import (
	"io/fs"
	"log/slog"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
)

// TestSlogLevels: a level has package slog's name, and the nearest severity of OpenTelemetry.
func TestSlogLevels(t *testing.T) {
	for level := int64(-100); level <= 100; level++ {
		assert.Equal(t, slog.Level(level).String(), slogName(level))
		assert.Equal(t, Severity(min(max(level+9, 1), 24)), severityOfSlog(level))
	}
	for level, want := range map[int64]Severity{math.MinInt64: SeverityTrace, math.MinInt32: SeverityTrace, math.MaxInt32: maxSeverity, math.MaxInt64: maxSeverity} {
		assert.Equal(t, want, severityOfSlog(level))
	}
	for level, want := range map[slog.Level]Severity{slog.LevelDebug: SeverityDebug, slog.LevelInfo: SeverityInfo, slog.LevelWarn: SeverityWarn, slog.LevelError: SeverityError} {
		assert.Equal(t, want, severityOfSlog(int64(level)))
	}
}

// TestSeverityNames: each of the 24 severities has OpenTelemetry's name, and no other number has one.
func TestSeverityNames(t *testing.T) {
	var want []string
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		want = append(want, name, name+"2", name+"3", name+"4")
	}
	for i, name := range want {
		assert.Equal(t, name, Severity(i+1).String())
	}
	for _, s := range []Severity{math.MinInt8, -1, 0, 25, math.MaxInt8} {
		assert.Equal(t, "UNDEFINED", s.String())
	}
}

// TestParseSeverity: names of severities and usual other ones, in any case.
func TestParseSeverity(t *testing.T) {
	for text, want := range map[string]Severity{
		"trace": SeverityTrace, "DEBUG": SeverityDebug, "Debug2": SeverityDebug + 1, "info": SeverityInfo, "information": SeverityInfo, "informational": SeverityInfo, "notice": SeverityInfo,
		"warn": SeverityWarn, "WARNING": SeverityWarn, "warn2": SeverityWarn + 1, "err": SeverityError, "error": SeverityError, "critical": SeverityFatal, "crit": SeverityFatal, "fatal4": maxSeverity,
	} {
		got, err := ParseSeverity(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "9", "warn5", "info0", "warnings", " warn", "warn ", "undefined"} {
		_, err := ParseSeverity(text)
		assert.ErrorIs(t, err, fs.ErrInvalid, text)
	}
}

// TestHeaderLevels: each EventHeader level has a severity, including undefined levels.
func TestHeaderLevels(t *testing.T) {
	for level, want := range map[eventheader.Level]Severity{0: 0, 1: 21, 2: 17, 3: 13, 4: 9, 5: 5, 6: 1, 7: 1, 255: 1} {
		assert.Equal(t, want, severityOfHeader(level), level)
	}
}

// TestTimes: 64 bits of nanoseconds are a time; 0 means no time.
func TestTimes(t *testing.T) {
	assert.True(t, unixNano(0).IsZero())
	assert.Equal(t, int64(1), unixNano(1).UnixNano())
	assert.Equal(t, int64(math.MaxInt64), unixNano(math.MaxInt64).UnixNano())
	last := unixNano(math.MaxUint64)
	assert.Equal(t, []int64{18446744073, 709551615}, []int64{last.Unix(), int64(last.Nanosecond())})
}

// TestIDs: an id with missing digits is not an id.
func TestIDs(t *testing.T) {
	for digits, want := range map[string]bool{"": true, "0a0B": true, "0a": false, "0a0b0c": false, "0a0g": false, "0a0": false} {
		var id [2]byte
		assert.Equal(t, want, setID(id[:], []byte(digits)), digits)
		if want && digits != "" {
			assert.Equal(t, [2]byte{10, 11}, id)
		} else {
			assert.Zero(t, id, digits)
		}
	}
}

// TestSources: the source of a log call is three fields; a text of any other form is one.
func TestSources(t *testing.T) {
	for source, want := range map[string]string{
		"":                        `{}`,
		"main.f /a b/c.go:7":      `{"code.function.name":"main.f","code.file.path":"/a b/c.go","code.line.number":7}`,
		`main.f C:\c.go:18`:       `{"code.function.name":"main.f","code.file.path":"C:\\c.go","code.line.number":18}`,
		"main.f /c.go":            `{"source":"main.f /c.go"}`,
		"main.f /c.go:":           `{"source":"main.f /c.go:"}`,
		"main.f /c.go:x":          `{"source":"main.f /c.go:x"}`,
		"main.f /c.go:1.5":        `{"source":"main.f /c.go:1.5"}`,
		"c.go:7":                  `{"source":"c.go:7"}`,
		" :7":                     `{"code.function.name":"","code.file.path":"","code.line.number":7}`,
		"f :18446744073709551615": `{"source":"f :18446744073709551615"}`,
	} {
		var ev Event
		ev.addSource(source)
		assert.Equal(t, want, string(AppendJSON(nil, ev.Fields)), source)
	}
}
