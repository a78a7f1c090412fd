package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// TestColumnsAreDocumented: each column has a type, and the first of those that belong together says what they are. What is not read back
// is told by another column.
func TestColumnsAreDocumented(t *testing.T) {
	names := map[string]bool{}
	for _, c := range columns {
		assert.False(t, names[c.name], "%s: two columns", c.name)
		names[c.name] = true
		if c.name == "duration" { // of text only
			continue
		}
		assert.NotEmpty(t, c.kind, c.name)
		assert.Equal(t, c.name != "severity", c.parse != nil, c.name)
	}
	help := JSONHelp()
	assert.Contains(t, help, "\n  monotonic_ns        number  CLOCK_MONOTONIC of the kernel, which orders records\n")
	for line := range strings.Lines(help) {
		assert.LessOrEqual(t, len(line), 120, line)
		assert.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"))
	}
}

// FuzzParseEvent: what is read from an object is written so that it is read as the same.
func FuzzParseEvent(f *testing.F) {
	for _, ev := range []*reader.Event{logEvent(), spanEvent(), metricEvent(), otherEvent()} {
		var line lineWriter
		require.NoError(f, newJSON(&line, Options{}).Write(ev))
		f.Add(line[0])
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := reader.ParseJSON(text)
		var ev reader.Event
		if !ok || ParseEvent(&ev, v) != nil {
			return
		}
		first := written(t, "json", Options{}, &ev)
		v, ok = reader.ParseJSON(first)
		require.True(t, ok, first)
		require.NoError(t, ParseEvent(&ev, v), first)
		require.Equal(t, first, written(t, "json", Options{}, &ev))
	})
}
