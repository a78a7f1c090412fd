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
	dst = slices.Grow(dst, len(s)+len(`"",`))
	if n := putString(dst[:cap(dst)], len(dst), s, ','); n > 0 {
		return dst[:n-len(`,`)]
	}
	dst, _ = appendEscaped(dst, s, math.MaxInt)
	return dst
}

// The put functions write a value into b at position i, and one byte behind it. They return the
// position after that, or 0 if len(b) is too short; they may want some bytes more than they
// need. Whatever is in b behind the value is overwritten at will.

// putString puts s in quotes, with the byte next behind it. It returns 0 also if a
// character of s may have to be escaped.
//
// Keys and values are mostly 4 to 30 bytes of plain ASCII. Words are tested on
// their way into the buffer, and the last word overlaps the one before it.
func putString(b []byte, i int, s string, next byte) int {
	n := len(s)
	if n > 16 {
		return putLong(b, i, s, next)
	}
	const room = 24 // a fixed size spares all further checks
	if i+room > len(b) {
		return 0
	}
	t := (*[room]byte)(b[i : i+room])
	t[0] = '"'
	switch {
	case n >= 8:
		x, y := load64(s), load64(s[n-8:])
		if special(x) || special(y) {
			return 0
		}
		binary.LittleEndian.PutUint64(t[1:9], x)
		binary.LittleEndian.PutUint64(t[n-7:n+1], y)
	case n >= 4:
		x, y := load32(s), load32(s[n-4:])
		if special(uint64(y)<<32 | uint64(x)) {
			return 0
		}
		binary.LittleEndian.PutUint32(t[1:5], x)
		binary.LittleEndian.PutUint32(t[n-3:n+1], y)
	case n > 0:
		// First, middle and last: together all of 1, 2 or 3 bytes.
		x, y, z := s[0], s[n/2], s[n-1]
		if !plain[x] || !plain[y] || !plain[z] {
			return 0
		}
		t[1], t[1+n/2], t[n] = x, y, z
	}
	t[n+1], t[n+2] = '"', next
	return i + n + 3
}

// putLong is putString for strings of 8 bytes or more.
func putLong(b []byte, i int, s string, next byte) int {
	n := len(s)
	if n > len(b)-i-3 {
		return 0
	}
	b = b[i : i+n+3]
	for i := 0; i < n-8; i += 8 {
		x := load64(s[i : i+8])
		if special(x) {
			return 0
		}
		binary.LittleEndian.PutUint64(b[i+1:i+9], x)
	}
	x := load64(s[n-8:])
	if special(x) {
		return 0
	}
	binary.LittleEndian.PutUint64(b[n-7:n+1], x)
	b[0], b[n+1], b[n+2] = '"', '"', next
	return i + n + 3
}

// plain tells which bytes are written as they are, wherever they stand.
var plain = func() (t [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// special reports whether any of the eight bytes of x is not plain. Each term sets the
// highest bit of the bytes that it finds. A carry or borrow into the next byte does no harm, since
// only a byte that is found itself causes one.
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
