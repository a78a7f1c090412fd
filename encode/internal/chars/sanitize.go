package chars

import (
	"strconv"
	"unicode/utf8"
)

// SanitizeJSON appends valid JSON with the characters escaped that [JSONEscaped] names: JSON
// itself allows DEL, C1 and bidirectional controls, and not every encoder looks at the UTF-8 of what it
// writes. White space between tokens becomes spaces. It stops behind the character with which it has appended max bytes.
func SanitizeJSON[T string | []byte](dst []byte, json T, max int) []byte {
	return sanitize(dst, json, max, false)
}

// SanitizeXML is SanitizeJSON for XML: characters become references. A byte that is not UTF-8, for which XML has
// no notation, becomes the reference of U+FFFD.
func SanitizeXML[T string | []byte](dst []byte, xml T, max int) []byte {
	return sanitize(dst, xml, max, true)
}

// sanitize appends s, which has control characters of ASCII nowhere but between tokens, with what is not
// printable replaced.
func sanitize[T string | []byte](dst []byte, s T, max int, xml bool) []byte {
	for start := len(dst); len(s) > 0 && len(dst)-start < max; {
		c := s[0]
		if c < ' ' {
			c = ' '
		}
		if c < del {
			dst, s = append(dst, c), s[1:]
			continue
		}
		r, size := Decode(s)
		switch escaped := Unprintable(r) || r == utf8.RuneError && size == 1; {
		case xml && escaped:
			dst = append(strconv.AppendInt(append(dst, "&#x"...), int64(r), 16), ';')
		case escaped, !xml && IsRawByte(r):
			dst, _ = AppendJSON(dst, s)
		default:
			dst = append(dst, s[:size]...)
		}
		s = s[size:]
	}
	return dst
}
