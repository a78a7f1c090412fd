// Package chars has what the encodings of texts have in common: which characters are escaped, and how
// texts that need no escape are found and copied.
package chars

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Eight bytes of a text are examined at a time: most texts are short and plain, and a loop over
// bytes would take more instructions. All results are in the high bit of each byte. A borrow or a
// carry may set the bits of bytes above one that is found, never without one.
const (
	Ones  = 0x0101010101010101
	Highs = 0x80 * Ones
)

// masks are the constants of Unplain and Unquoted. As constants of the code they would be loaded into registers, for
// which the compiler finds too few where strings are copied in a loop.
//
// Flipping the bit of quote makes the quotation mark the successor of the control characters, which are below.
var masks = struct{ space, ones, backslash, quote, below uint64 }{^uint64(' '*Ones) + 1, Ones, ('\\' ^ del) * Ones, 2 * Ones, ^uint64(('"'^2+1)*Ones) + 1}

// Unplain returns a word with some of [Highs] set if a byte of x is not written as it is in plain
// text: if it is not printable ASCII, or is a backslash, which flipping some bits makes a DEL.
func Unplain(x uint64) uint64 {
	return (x + masks.space) | (x + masks.ones) | ((x ^ masks.backslash) + masks.ones)
}

// Unquoted is Unplain for the inside of a JSON string, where a quotation mark is not written as it is either.
func Unquoted(x uint64) uint64 {
	return ((x ^ masks.quote) + masks.below) | (x + masks.ones) | ((x ^ masks.backslash) + masks.ones)
}

// PlainLen returns the length of the longest prefix of s that is printable ASCII without quotation marks and backslashes, which
// all encodings write as it is.
func PlainLen(s string) int {
	n := 0
	for ; n+8 <= len(s); n += 8 {
		if found := Unquoted(Load64(s[n:n+8])) & Highs; found != 0 {
			return n + bits.TrailingZeros64(found)/8 // the first one that is found is exact
		}
	}
	for n < len(s) && IsPlain(s[n]) && s[n] != '"' {
		n++
	}
	return n
}

// PrintableLen is PlainLen with the other characters that JSON and plain texts have as they are: those that are neither
// [Unprintable] nor a raw byte in JSON.
func PrintableLen(s string) int {
	for n := 0; ; {
		n += PlainLen(s[n:])
		at := n
		for n < len(s) && s[n] >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && size == 1 || Deceptive(r) || IsRawByte(r) {
				return n
			}
			n += size
		}
		if n == at {
			return n
		}
	}
}

// IsPlain reports whether c is written as it is in plain text, wherever it stands.
func IsPlain(c byte) bool { return c-' ' < del-' ' && c != '\\' }

// Load64, Load32 and load16 return the first bytes of s, the very first in the lowest byte. Each is a single
// load to the compiler.

// Load64 returns the first 8 bytes of s.
func Load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Load32 returns the first 4 bytes of s.
func Load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func load16(s string) uint16 { return uint16(s[0]) | uint16(s[1])<<8 }

// CopyPlain copies s into b at position i and reports whether all of s is written as it is in plain
// text. If not, what is in b there may be anything. It is false also where b has less than 16
// bytes from i on, or less than s takes.
//
// It examines eight bytes at a time, four or two, and lets the last ones overlap those before. As it
// calls nothing, and the compiler sees that no index is out of bounds, it needs no stack frame.
func CopyPlain(b []byte, i int, s string) bool {
	const room = 16 // a fixed size spares all further checks
	if i < 0 || i > len(b)-room {
		return false
	}
	n := len(s)
	if n <= room {
		t := (*[room]byte)(b[i:])
		switch {
		case n >= 8:
			x, y := Load64(s), Load64(s[n-8:])
			binary.LittleEndian.PutUint64(t[:8], x)
			binary.LittleEndian.PutUint64(t[n-8:n], y)
			return (Unplain(x)|Unplain(y))&Highs == 0
		case n >= 4:
			x, y := Load32(s), Load32(s[n-4:])
			binary.LittleEndian.PutUint32(t[:4], x)
			binary.LittleEndian.PutUint32(t[n-4:n], y)
			return Unplain(uint64(x)|uint64(y)<<32)&Highs == 0
		case n >= 2:
			x, y := load16(s), load16(s[n-2:])
			binary.LittleEndian.PutUint16(t[:2], x)
			binary.LittleEndian.PutUint16(t[n-2:n], y)
			const spaces = ' ' * Ones << 32 & math.MaxUint64
			return Unplain(uint64(x)|uint64(y)<<16|spaces)&Highs == 0
		case n == 1:
			t[0] = s[0]
			return IsPlain(s[0])
		}
		return true
	}
	t := b[i:]
	if n > len(t) {
		return false
	}
	t = t[:n]
	x := Load64(s[n-8:])
	binary.LittleEndian.PutUint64(t[n-8:], x)
	marks := Unplain(x)
	for i := 0; i < n-8; i += 8 {
		x := Load64(s[i : i+8])
		binary.LittleEndian.PutUint64(t[i:i+8], x)
		marks |= Unplain(x)
	}
	return marks&Highs == 0
}

const maxEscape = len(`\ud800\udc00`)

// EscapeLen returns the length of an escape whose character behind the backslash is c, in plain text or in JSON. An
// escape in JSON may be half of a surrogate pair.
func EscapeLen(c byte) int {
	switch c {
	case 'x':
		return len(`\x00`)
	case 'u':
		return len(`\u0000`)
	case 'U':
		return len(`\U00000000`)
	}
	return len(`\n`)
}

// ClipEscaped returns the longest prefix of an escaped text, plain or in JSON, with at most n bytes that ends neither inside a
// character nor inside an escape. A surrogate pair is one escape: strict parsers refuse one half of it.
func ClipEscaped[T string | []byte](s T, n int) T {
	if n >= len(s) {
		return s
	}
	s, rest := Clip(s, n), s
	for i := len(s) - 1; i >= 0 && len(s)-i < maxEscape; i-- {
		if s[i] != '\\' {
			continue
		}
		first := i // of a row of backslashes
		for first > 0 && s[first-1] == '\\' {
			first--
		}
		if (i-first)%2 == 0 && i+escapeLen(rest[i:]) > len(s) {
			return ClipEscaped(s, i) // what is before may be the first half of a pair
		}
		break
	}
	return s
}

// escapeLen returns the length of the escape that s begins with, and of both if it is the first half of a pair.
func escapeLen[T string | []byte](s T) int {
	switch {
	case len(s) < len(`\n`):
		return len(`\n`)
	case len(s) >= len(`\u0000`) && s[1] == 'u' && s[2]|0x20 == 'd' && (s[3] == '8' || s[3] == '9' || s[3]|0x20 == 'a' || s[3]|0x20 == 'b'):
		return len(`\ud800\udc00`)
	}
	return EscapeLen(s[1])
}

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

const del = 0x7f

// Unprintable reports whether a character must not reach a terminal or a line of a trace as it is: a
// control character, or one that is [Deceptive].
func Unprintable(r rune) bool { return r < ' ' || r >= del && (r == del || Deceptive(r)) }

// Deceptive reports whether r is not ASCII and controls a terminal, ends a line, reorders text or is
// invisible: a C1 control, a line or paragraph separator, an annotation, or a character with Unicode's property
// Bidi_Control or Default_Ignorable_Code_Point, such as the tags U+E0000 to U+E007F. Of the ignorable ones the joiners
// U+200C and U+200D and the variation selectors U+FE00 to U+FE0F and of Mongolian are not among them: words of several
// scripts and emoji need them.
func Deceptive(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r < 0xa0:
		return true // C1 controls
	case r < 0x2000:
		return r == 0xad || r == 0x34f || r == 0x61c || // soft hyphen, grapheme joiner, direction mark
			r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 || r == 0x180e // fillers, vowels, vowel separator
	case r <= 0x206f:
		return r == 0x200b || r == 0x200e || r == 0x200f || // zero-width space, direction marks
			r >= 0x2028 && r <= 0x202e || // separators, embeddings and overrides
			r >= 0x2060 // invisible operators, isolates
	case r <= 0xffff:
		return r == 0x3164 || r == 0xfeff || r == 0xffa0 || // filler, byte order mark, filler
			r >= 0xfff0 && r <= 0xfffb // reserved, annotations
	}
	return r >= 0xe0000 && r <= 0xe0fff || // tags, variation selectors, reserved
		r >= 0x1bca0 && r <= 0x1bca3 || r >= 0x1d173 && r <= 0x1d17a // controls of shorthand and of music
}

// Decode returns the first character of s, which is not empty, and its size. A byte that is not valid
// UTF-8 is [utf8.RuneError] with size 1.
func Decode[T string | []byte](s T) (r rune, size int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
}

// Clip returns the longest prefix of s with at most n bytes that does not end inside a
// character.
func Clip[T string | []byte](s T, n int) T {
	if n >= len(s) {
		return s
	}
	// Invalid text may have any number of continuation bytes: a character has three.
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// Hex has the digits of escapes.
const Hex = "0123456789abcdef"
