package eventheader

import (
	"math"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
)

// appendName appends a name, made valid and printable.
func appendName(dst []byte, name string) []byte {
	at := len(dst)
	dst = append(dst, name...)
	if oddName(name) {
		repairName(dst[at:])
	}
	return dst
}

// oddName reports whether a name may need repair: whether it has a semicolon or something that is not printable ASCII.
func oddName(s string) bool {
	n := len(s)
	switch {
	case n >= 8:
		bits := odd(chars.Load64(s[n-8:]))
		for i := 0; i < n-8; i += 8 {
			bits |= odd(chars.Load64(s[i:]))
		}
		return bits&chars.Highs != 0
	case n >= 4:
		return odd(uint64(chars.Load32(s))|uint64(chars.Load32(s[n-4:]))<<32)&chars.Highs != 0
	case n >= 1:
		return odd(tiny(s[0], s[n>>1], s[n-1]))&chars.Highs != 0
	}
	return false
}

// tiny returns a word of the bytes of a name that has at most three, some of them twice, filled up with spaces.
func tiny(first, middle, last byte) uint64 {
	const spaces = ' ' * chars.Ones << 24 & math.MaxUint64
	return uint64(first) | uint64(middle)<<8 | uint64(last)<<16 | spaces
}

// odd returns the high bits of bytes that are a semicolon or not printable ASCII, and
// other bits. If one is set, those of the bytes above may be wrong.
func odd(w uint64) uint64 {
	return (w - ' '*chars.Ones) | (w + chars.Ones) | ((w ^ (';'^0x7f)*chars.Ones) + chars.Ones)
}

// repairName makes a name valid and printable, in place.
func repairName(name []byte) {
	for i := 0; i < len(name); {
		r, size := chars.Decode(name[i:])
		if r == utf8.RuneError && size == 1 || r == ';' || chars.Unprintable(r) {
			for j := range size {
				name[i+j] = '_'
			}
		}
		i += size
	}
}
