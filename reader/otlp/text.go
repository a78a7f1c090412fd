package otlp

import (
	"hash/maphash"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	chunkSize  = 64 << 10
	knownNames = 512 // a name makes room for a later one with the same hash
	maxName    = 64  // bytes; longer ones are copied for each record
	emptySize  = len(`""`)
)

// texts copies texts of records into larger chunks of memory. Data that uses a text keeps its chunk alive.
type texts struct {
	chunk strings.Builder
	alone bool // without chunks, for data that is kept for long
	names [knownNames]knownName
	last  *knownName   // the one before: records have the same names in the same order
	seed  maphash.Seed // of the hashes
}

// knownName is a text that records repeat, with its size in JSON.
type knownName struct {
	text string
	size int
	next *knownName // the one that came after it
}

// keep returns a copy of a text that is valid UTF-8: other bytes become U+FFFD.
func (t *texts) keep(s string) string {
	text, _ := t.keepSized(s)
	return text
}

// keepSized is keep, and returns the size of the text in JSON, too.
func (t *texts) keepSized(s string) (text string, size int) {
	if s == "" {
		return "", emptySize
	}
	if isPlain(s) {
		return t.copy(s), len(s) + emptySize
	}
	size = jsonSize(s)
	if !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\uFFFD"), size
	}
	return t.copy(s), size
}

// copy returns a copy of a text.
func (t *texts) copy(s string) string {
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

// keepName is keepSized for a text that many records have, such as the name of an attribute. They share one copy of it.
func (t *texts) keepName(s string) (text string, size int) {
	if n := t.last.next; n.text == s && s != "" {
		t.last = n
		return n.text, n.size
	}
	return t.findName(s)
}

// findName is keepName for a text that the last one was not followed by before.
func (t *texts) findName(s string) (text string, size int) {
	if len(s) == 0 || len(s) > maxName {
		return t.keepSized(s)
	}
	n := &t.names[maphash.String(t.seed, s)%knownNames]
	if n.text != s {
		if !utf8.ValidString(s) {
			return t.keepSized(s)
		}
		n.text, n.size = strings.Clone(s), jsonSize(s)
	}
	t.last.next, t.last = n, n
	if n.next == nil {
		n.next = n
	}
	return n.text, n.size
}

// newTexts returns texts without any.
func newTexts() texts {
	none := new(knownName)
	none.next = none
	return texts{seed: maphash.MakeSeed(), last: none}
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
	n := len(s) + emptySize
	if isPlain(s) {
		return n
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// isPlain reports whether a text is printable ASCII without characters that JSON escapes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c-' ' > '~'-' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
