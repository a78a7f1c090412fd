package eventheader

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
)

// appendName appends a name, made valid and printable.
func appendName(dst []byte, name string) []byte {
	at := len(dst)
	dst = append(dst, name...)
	if chars.PlainLen(name) < len(name) || strings.IndexByte(name, ';') >= 0 {
		repairName(dst[at:])
	}
	return dst
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
