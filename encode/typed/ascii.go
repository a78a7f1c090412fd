package typed

import "encoding/binary"

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// copyPrintable copies s into b at position i and reports whether s is printable ASCII
// throughout. If not, what is in b there may be anything. It is false also where b has less than 16
// bytes from i on, or less than s takes.
//
// It examines eight bytes at a time, or four, and lets the last ones overlap those before. As it
// calls nothing, and the compiler sees that no index is out of bounds, it needs no stack frame.
func copyPrintable(b []byte, i int, s string) bool {
	const room = 16 // a fixed size spares all further checks
	if i < 0 || i > len(b)-room {
		return false
	}
	n := len(s)
	if n <= room {
		t := (*[room]byte)(b[i:])
		switch {
		case n >= 8:
			x, y := load64(s), load64(s[n-8:])
			binary.LittleEndian.PutUint64(t[:8], x)
			binary.LittleEndian.PutUint64(t[n-8:n], y)
			return (unprintable(x)|unprintable(y))&highs == 0
		case n >= 4:
			x, y := load32(s), load32(s[n-4:])
			binary.LittleEndian.PutUint32(t[:4], x)
			binary.LittleEndian.PutUint32(t[n-4:n], y)
			return unprintable(uint64(x)|uint64(y)<<32)&highs == 0
		}
		for i := range n {
			c := s[i]
			if c-' ' >= del-' ' {
				return false
			}
			t[i] = c
		}
		return true
	}
	t := b[i:]
	if n > len(t) {
		return false
	}
	x := load64(s[n-8:])
	binary.LittleEndian.PutUint64(t[n-8:], x)
	marks := unprintable(x)
	for len(s) > 8 && len(t) > 8 {
		x := load64(s)
		binary.LittleEndian.PutUint64(t, x)
		marks |= unprintable(x)
		s, t = s[8:], t[8:]
	}
	return marks&highs == 0
}

// unprintable returns a word with the high bit of some byte set if a byte of x is
// not printable ASCII: below a space or 0xFF, or one below 0x80 or not below that. Borrows and carries
// do no harm: they come from a byte that is found itself.
func unprintable(x uint64) uint64 { return (x - ' '*ones) | (x + ones) }

// load64 and load32 are single loads to the compiler.

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
