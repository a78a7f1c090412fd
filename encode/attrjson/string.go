package attrjson

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendString appends s as a JSON string, with its quotes, and returns the
// extended buffer. What is escaped is listed in the package comment. Every byte
// of s that is not part of valid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	i, n := len(dst), quotedLen(s)
	dst = slices.Grow(dst, n)
	if quotePlain(dst[i:i+n], s, 0) {
		return dst[:i+n-1]
	}
	dst, _ = appendEscaped(dst, s, math.MaxInt)
	return dst
}

// quotedLen is the room that quotePlain fills.
func quotedLen(s string) int { return len(s) + len(`"",`) }

// quotePlain fills b, whose length is quotedLen(s), with s in quotes and the byte next. It
// reports false, and leaves anything in b, if a character of s may have to be
// escaped.
//
// Keys and values are mostly 4 to 30 bytes of plain ASCII. Words are tested on
// their way into the buffer, and the last word overlaps the one before it, so
// that no loop over single bytes is needed.
func quotePlain(b []byte, s string, next byte) bool {
	n := len(s)
	b = b[:n+3]
	b[0], b[n+1], b[n+2] = '"', '"', next
	b = b[1 : n+1]
	switch {
	case n >= 8:
		for i := 0; i < n-8; i += 8 {
			x := load64(s[i : i+8])
			if special(x) {
				return false
			}
			binary.LittleEndian.PutUint64(b[i:i+8], x)
		}
		x := load64(s[n-8:])
		binary.LittleEndian.PutUint64(b[n-8:], x)
		return !special(x)
	case n >= 4:
		lo, hi := load32(s), load32(s[n-4:])
		binary.LittleEndian.PutUint32(b, lo)
		binary.LittleEndian.PutUint32(b[n-4:], hi)
		return !special(uint64(hi)<<32 | uint64(lo))
	case n > 0:
		// First, middle and last: together all of 1, 2 or 3 bytes.
		x, y, z := s[0], s[n/2], s[n-1]
		b[0], b[n/2], b[n-1] = x, y, z
		const spaces = 0x2020202020000000
		return !special(spaces | uint64(z)<<16 | uint64(y)<<8 | uint64(x))
	}
	return true
}

// special reports whether any of the eight bytes of x is a control character, a
// quotation mark, a backslash, DEL or no ASCII. Each term sets the highest bit of
// the bytes that it finds. A carry or borrow into the next byte does no harm, since
// only a byte that is special itself causes one.
func special(x uint64) bool {
	const each = 0x0101010101010101
	// Flipping bit 1 makes the quotation mark the successor of the control characters.
	const below = each * ('"' ^ 2 + 1)
	found := x | // no ASCII
		((x ^ each*2) - below) |
		((x ^ each*'\\') - each) |
		(x + each) // DEL
	return found&(each*0x80) != 0
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
