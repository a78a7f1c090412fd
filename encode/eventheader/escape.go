package eventheader

import (
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
)

// appendEscaped appends a text as the inside of a JSON string.
func appendEscaped(dst, b []byte, form textForm) []byte {
	if form == formUTF8 {
		// Most text is ASCII that needs no escape.
		n := 0
		for n < len(b) && chars.IsPlain(b[n]) && b[n] != '"' {
			n++
		}
		if dst, b = append(dst, b[:n]...), b[n:]; len(b) == 0 {
			return dst
		}
	}
	for {
		switch r, n := form.rune(b); {
		case n == 0:
			return dst
		case escaped(r):
			dst, b = chars.AppendJSONRune(dst, r), b[n:]
		default:
			dst, b = utf8.AppendRune(dst, r), b[n:]
		}
	}
}

// escaped reports whether a character is written as an escape: what JSON demands,
// and what would let a text end a line, drive a terminal or disguise other text.
func escaped(r rune) bool { return r == '"' || r == '\\' || chars.Unprintable(r) }
