package chars

import (
	"unicode/utf16"
	"unicode/utf8"
)

// rawBytes is where the characters begin that stand for bytes which are not UTF-8 in JSON: byte b, which is
// 0x80 or more, is U+EF00+b. They are of the private use area, so that every parser takes them. A lone
// surrogate (as in Python's surrogateescape) is refused by strict parsers, together with
// the whole object.
const rawBytes = 0xef00

// IsRawByte reports whether r stands for a byte in JSON. A character of a text
// that looks like that is written as its bytes.
func IsRawByte(r rune) bool { return r >= rawBytes+utf8.RuneSelf && r <= rawBytes+0xff }

// RawByte returns the byte that r stands for.
func RawByte(r rune) byte { return byte(r - rawBytes) }

// AppendJSON appends the escape of the first character of s, which is not written as it is, and returns
// the character's size.
func AppendJSON[T string | []byte](dst []byte, s T) (out []byte, size int) {
	r, size := Decode(s)
	if r != utf8.RuneError && !IsRawByte(r) {
		return AppendJSONRune(dst, r), size
	}
	for i := range size {
		dst = appendUnit(dst, rawBytes+rune(s[i]))
	}
	return dst, size
}

// MaxJSON is the length of the longest escape.
const MaxJSON = len(`\uef80\uef80\uef80`)

// AppendJSONRune appends the escape of a character: a surrogate pair beyond the basic plane.
func AppendJSONRune(dst []byte, r rune) []byte {
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
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return appendUnit(appendUnit(dst, high), low)
	}
	return appendUnit(dst, r)
}

func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', Hex[r>>12&0xf], Hex[r>>8&0xf], Hex[r>>4&0xf], Hex[r&0xf])
}
