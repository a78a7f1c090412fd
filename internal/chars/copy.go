package chars

import (
	"encoding/binary"
	"math"
)

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
