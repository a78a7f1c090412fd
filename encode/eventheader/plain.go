package eventheader

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/userevents/userevents-go/encode/internal/chars"
)

// appendName appends a name, made valid and printable.
func appendName(dst []byte, name string) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(name))[:at+len(name)]
	if b := dst[at:]; putName(b, name) {
		repairName(b)
	}
	return dst
}

// putName copies a name to b, which has room, and reports whether it may need repair: whether it has a semicolon or
// something that is not printable ASCII.
func putName(b []byte, s string) bool {
	n := len(s)
	if n >= 8 {
		x := chars.Load64(s[n-8:])
		binary.LittleEndian.PutUint64(b[n-8:], x)
		bits := odd(x)
		for i := 0; i < n-8; i += 8 {
			x := chars.Load64(s[i:])
			binary.LittleEndian.PutUint64(b[i:], x)
			bits |= odd(x)
		}
		return bits&chars.Highs != 0
	}
	if n >= 4 {
		x, y := chars.Load32(s), chars.Load32(s[n-4:])
		binary.LittleEndian.PutUint32(b, x)
		binary.LittleEndian.PutUint32(b[n-4:], y)
		return odd(uint64(x)|uint64(y)<<32)&chars.Highs != 0
	}
	isOdd := false
	for i := range n {
		b[i] = s[i]
		isOdd = isOdd || s[i]-' ' >= 0x7f-' ' || s[i] == ';'
	}
	return isOdd
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
