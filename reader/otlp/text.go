package otlp

import (
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const chunkSize = 64 << 10

// texts copies texts of records into larger chunks of memory. Data that uses a text keeps its chunk alive.
type texts struct {
	chunk strings.Builder
	alone bool // without chunks, for data that is kept for long
}

// keep returns a copy of a text that is valid UTF-8: other bytes become U+FFFD.
func (t *texts) keep(s string) string {
	if s == "" {
		return ""
	}
	if !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	if t.alone || len(s) > chunkSize/8 {
		return strings.Clone(s)
	}
	if t.chunk.Len()+len(s) > t.chunk.Cap() {
		t.chunk = strings.Builder{}
		t.chunk.Grow(chunkSize)
	}
	at := t.chunk.Len()
	t.chunk.WriteString(s) // has capacity: texts returned before do not move
	return t.chunk.String()[at:]
}

// timestamp returns a time in nanoseconds since 1970, and 0 for the zero time and earlier times.
func timestamp(t time.Time) pcommon.Timestamp {
	if t.IsZero() || t.Unix() < 0 {
		return 0
	}
	return pcommon.NewTimestampFromTime(t)
}

// jsonSize returns the size of a text in JSON.
func jsonSize(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			n += len(`\u0000`) - 1
		}
	}
	return n
}
