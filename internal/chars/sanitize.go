package chars

import "unicode/utf8"

// SanitizeJSON appends valid JSON with all escapes that a text gets inside of a JSON string: JSON
// itself allows DEL, C1 and bidirectional controls, and not every encoder looks at the UTF-8 of what it
// writes. White space between tokens becomes spaces. It stops behind the character with which it has appended max bytes.
func SanitizeJSON[T string | []byte](dst []byte, json T, max int) []byte {
	for start := len(dst); len(json) > 0 && len(dst)-start < max; {
		c := json[0]
		if c < ' ' {
			c = ' '
		}
		if c < del {
			dst, json = append(dst, c), json[1:]
			continue
		}
		r, size := Decode(json)
		if Unprintable(r) || r == utf8.RuneError && size == 1 || IsRawByte(r) {
			dst, _ = AppendJSON(dst, json)
		} else {
			dst = append(dst, json[:size]...)
		}
		json = json[size:]
	}
	return dst
}
