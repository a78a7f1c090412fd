package typed

import "encoding/binary"

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// copyPrintable copies s to the start of b, which must not be shorter, and reports
// whether s is printable ASCII throughout. If not, b may hold anything.
//
// It examines eight bytes at a time, or four, and lets the last ones overlap those before.
func copyPrintable(b []byte, s string) bool {
	n := len(s)
	b = b[:n]
	switch {
	case n >= 8:
		x := load64(s[n-8:])
		marks := unprintable(x)
		binary.LittleEndian.PutUint64(b[n-8:], x)
		for len(s) > 8 && len(b) > 8 {
			x = load64(s)
			marks |= unprintable(x)
			binary.LittleEndian.PutUint64(b, x)
			s, b = s[8:], b[8:]
		}
		return marks&highs == 0
	case n >= 4:
		x, y := load32(s), load32(s[n-4:])
		binary.LittleEndian.PutUint32(b, x)
		binary.LittleEndian.PutUint32(b[n-4:], y)
		return unprintable(uint64(x)|uint64(y)<<32)&highs == 0
	}
	for i := range len(s) {
		c := s[i]
		if c-' ' >= del-' ' {
			return false
		}
		b[i] = c
	}
	return true
}

// unprintable returns a word with the high bit of some byte set if a byte of x is
// not printable ASCII: it has a high bit of its own, or is below a space, or is
// DEL, one below 0x80. Borrows and carries do no harm: they come from a byte that is found itself.
func unprintable(x uint64) uint64 { return x | (x - ' '*ones) | (x + ones) }

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
