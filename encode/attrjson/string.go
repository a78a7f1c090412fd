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
	room := dst[:cap(dst)]
	if n := putString(&room, len(dst), s, ','); n > 0 {
		return dst[:n-len(`,`)]
	}
	dst, _ = appendEscaped(dst, s, math.MaxInt)
	return dst
}

// The put functions write a value into *buf at position i, and one byte behind it. They return the
// position after that, or 0 if the slice is too short; they may want some bytes more than they
// need. Whatever is in the slice behind the value is overwritten at will. The slice itself stays as
// it is: a pointer to it is passed, since its capacity would be one more thing to pass on.

// putString puts s in quotes, with the byte next behind it. It returns 0 also if a
// character of s may have to be escaped.
//
// Keys and values are mostly 4 to 30 bytes of plain ASCII. Words are tested on
// their way into the buffer, and the last word overlaps the one before it. As it calls
// nothing, and the compiler sees that no index is out of bounds, it needs no stack frame.
func putString(buf *[]byte, i int, s string, next byte) int {
	const room = 24 // a fixed size spares all further checks
	b := *buf
	if i > len(b)-room || i < 0 {
		return 0
	}
	n := len(s)
	if n <= 16 {
		t := (*[room]byte)(b[i:])
		t[0] = '"'
		switch {
		case n >= 8:
			x, y := load64(s), load64(s[n-8:])
			if (marks(x)|marks(y))&topBits != 0 {
				return 0
			}
			binary.LittleEndian.PutUint64(t[1:9], x)
			binary.LittleEndian.PutUint64(t[n-7:n+1], y)
		case n >= 4:
			x, y := load32(s), load32(s[n-4:])
			if marks(uint64(y)<<32|uint64(x))&topBits != 0 {
				return 0
			}
			binary.LittleEndian.PutUint32(t[1:5], x)
			binary.LittleEndian.PutUint32(t[n-3:n+1], y)
		case n > 0:
			x, z := s[0], s[n-1]
			if !plain[x] || !plain[z] {
				return 0
			}
			t[1], t[n] = x, z
			if n == 3 {
				y := s[1]
				if !plain[y] {
					return 0
				}
				t[2] = y
			}
		}
		t[n+1], t[n+2] = '"', next
		return i + n + 3
	}
	t := b[i:]
	if n > len(t)-3 {
		return 0
	}
	t[0] = '"'
	t[n+1] = '"'
	t[n+2] = next
	x := load64(s[n-8:])
	if marks(x)&topBits != 0 {
		return 0
	}
	binary.LittleEndian.PutUint64(t[n-7:], x)
	for t = t[1:]; len(s) > 8 && len(t) > 8; s, t = s[8:], t[8:] {
		x := load64(s)
		if marks(x)&topBits != 0 {
			return 0
		}
		binary.LittleEndian.PutUint64(t, x)
	}
	return i + n + 3
}

// plain tells which bytes are written as they are, wherever they stand.
var plain = func() (t [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const (
	each    = 0x0101010101010101
	topBits = 0x80 * each
)

// marks sets the highest bit of the bytes of x that are not plain, each term that of some. A carry
// or borrow into the next byte does no harm, since only a byte that is found itself causes one.
func marks(x uint64) uint64 {
	// Flipping bit 1 makes the quotation mark the successor of the control characters.
	const below = each * ('"' ^ 2 + 1)
	return ((x ^ each*2) - below) | // control characters, quotation marks, and 0xFF
		((x ^ each*'\\') - each) |
		(x + each) // DEL, and what is no ASCII
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
