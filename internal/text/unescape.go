package text

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
)

// Unescape returns the text that [Append] wrote as s. A [CutMark] stays. In a text that another
// program wrote, a backslash that begins no escape of this package stays as it is; so does an escape that is cut off.
func Unescape(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		n := 0
		if b, n = unescape(b, s[i:]); n == 0 {
			b, n = append(b, '\\'), 1
		}
		i += n
	}
	return string(b)
}

// unescape appends what the escape that s begins with stands for, and returns its length, or 0 if there is none.
func unescape(dst []byte, s string) (out []byte, n int) {
	if len(s) < 2 {
		return dst, 0
	}
	n = chars.EscapeLen(s[1])
	if n > len(s) {
		return dst, 0
	}
	switch s[1] {
	case '\\':
		return append(dst, '\\'), n
	case 'n':
		return append(dst, '\n'), n
	case 't':
		return append(dst, '\t'), n
	case 'r':
		return append(dst, '\r'), n
	case 'x', 'u', 'U':
	default:
		return dst, 0
	}
	v, err := strconv.ParseUint(s[2:n], 16, 32)
	switch {
	case err != nil:
		return dst, 0
	case s[1] == 'x':
		return append(dst, byte(v)), n
	}
	if !utf8.ValidRune(rune(v)) {
		return dst, 0
	}
	return utf8.AppendRune(dst, rune(v)), n
}

// UnescapeJSON returns a text that this module wrote as a key or a value of JSON, byte for byte, given what a JSON parser made of
// it. It puts back the bytes that are not valid UTF-8, which JSON has no escape for: they are there as characters of the private
// use area, U+EF80 to U+EFFF. A text without such bytes is returned as it is.
func UnescapeJSON(s string) string {
	if strings.IndexFunc(s, chars.IsRawByte) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if chars.IsRawByte(r) {
			b = append(b, chars.RawByte(r))
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}
