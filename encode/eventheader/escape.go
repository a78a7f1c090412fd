package eventheader

import "unicode/utf8"

// appendEscaped appends a text as the inside of a JSON string.
func appendEscaped(dst, b []byte, form textForm) []byte {
	if form == formUTF8 {
		// Most text is ASCII that needs no escape.
		n := 0
		for n < len(b) && b[n] < utf8.RuneSelf && !escaped(rune(b[n])) {
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
			dst, b = appendEscape(dst, r), b[n:]
		default:
			dst, b = utf8.AppendRune(dst, r), b[n:]
		}
	}
}

// escaped reports whether a character is written as an escape: what JSON demands,
// and what would let a text end a line, drive a terminal or disguise other text.
func escaped(r rune) bool {
	switch {
	case r < ' ', r == '"', r == '\\':
		return true
	case r < 0x7f:
		return false
	case r <= 0x9f, r == 0x61c, r == 0x200e, r == 0x200f:
		return true
	}
	return r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&0xf], digits[r>>8&0xf], digits[r>>4&0xf], digits[r&0xf])
}
