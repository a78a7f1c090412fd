package typedfield

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// MaxFieldName is the length in bytes of the longest field name.
const MaxFieldName = 64

// FieldName returns the field name for a name from elsewhere. Package typed says how it is made.
func FieldName(name string) string {
	if len(name) <= MaxFieldName && isFieldName(name) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case isWord(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	field := b.String()
	if !isFieldName(field) {
		field = "_" + field
	}
	if len(field) > MaxFieldName {
		h := fnv.New32a()
		h.Write([]byte(name))
		field = field[:MaxFieldName-len("_01234567")] + fmt.Sprintf("_%08x", h.Sum32())
	}
	return field
}

func isFieldName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.HasPrefix(s, "common_") &&
		strings.IndexFunc(s, func(r rune) bool { return !isWord(r) }) < 0
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
