package chars

import (
	"math/bits"
	"unicode/utf8"
)

// Eight bytes of a text are examined at a time: most texts are short and plain, and a loop over
// bytes would take more instructions. All results are in the high bit of each byte. A borrow or a
// carry may set the bits of bytes above one that is found, never without one.
const (
	Ones  = 0x0101010101010101
	Highs = 0x80 * Ones
)

// masks are the constants of Unplain. As constants of the code they would be loaded into registers, for
// which the compiler finds too few where strings are copied in a loop.
var masks = struct{ space, ones, backslash uint64 }{^uint64(' '*Ones) + 1, Ones, ('\\' ^ del) * Ones}

// Unplain returns a word with some of [Highs] set if a byte of x is not written as it is in plain
// text: if it is not printable ASCII, or is a backslash, which flipping some bits makes a DEL.
func Unplain(x uint64) uint64 {
	return (x + masks.space) | (x + masks.ones) | ((x ^ masks.backslash) + masks.ones)
}

// Unquoted is Unplain for the inside of a JSON string, where a quotation mark is not written as it is either.
func Unquoted(x uint64) uint64 {
	// Flipping bit 1 makes the quotation mark the successor of the control characters.
	const below = Ones * ('"' ^ 2 + 1)
	return ((x ^ Ones*2) - below) | (x + Ones) | ((x ^ '\\'*Ones) - Ones)
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
