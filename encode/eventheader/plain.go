package eventheader

import (
	"unicode/utf8"

	"github.com/userevents/userevents-go/encode/internal/chars"
)

// oddName reports whether a name may need repair: whether it has a semicolon or something that is not
// printable ASCII.
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
	}
	return odd(tiny(s))&chars.Highs != 0
}

// odd returns the high bits of bytes that are a semicolon or not printable ASCII, and
// other bits. If one is set, those of the bytes above may be wrong.
func odd(w uint64) uint64 {
	return (w - ' '*chars.Ones) | (w + chars.Ones) | ((w ^ (';'^0x7f)*chars.Ones) + chars.Ones)
}

// tiny returns the bytes of a string of less than 4, filled up with spaces.
func tiny(s string) uint64 {
	const spaces = ' ' * chars.Ones
	switch len(s) {
	case 3:
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | spaces<<24&(1<<64-1)
	case 2:
		return uint64(s[0]) | uint64(s[1])<<8 | spaces<<16&(1<<64-1)
	case 1:
		return uint64(s[0]) | spaces<<8&(1<<64-1)
	}
	return spaces
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
