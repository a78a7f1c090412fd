package otlp

import (
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const chunkSize = 64 << 10

// texts copies the texts of records, many into one piece of memory. The data that was made of them keeps it alive.
type texts struct{ chunk strings.Builder }

// keep returns a copy of a text that is valid UTF-8: other bytes become U+FFFD.
func (t *texts) keep(s string) string {
	if s == "" {
		return ""
	}
	if !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) > chunkSize/8 {
		return strings.Clone(s)
	}
	if t.chunk.Len()+len(s) > t.chunk.Cap() {
		t.chunk = strings.Builder{}
		t.chunk.Grow(chunkSize)
	}
	at := t.chunk.Len()
	t.chunk.WriteString(s) // has the room: what was returned before stays where it is
	return t.chunk.String()[at:]
}

// timestamp returns a time in nanoseconds since 1970, and 0 for the zero time and all before 1970.
func timestamp(t time.Time) pcommon.Timestamp {
	if t.IsZero() || t.Unix() < 0 {
		return 0
	}
	return pcommon.NewTimestampFromTime(t)
}

// jsonSize returns how many bytes a text takes in JSON.
func jsonSize(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			n += len(`\u0000`) - 1
		}
	}
	return n
}
