package eventheader

import (
	"encoding/binary"
	"unicode/utf8"
)

// Nearly all names and most texts are short and ASCII. These functions look at
// eight bytes at a time, which takes a third of the instructions of a loop or of
// package utf8.
const (
	eachByte = 0x0101010101010101
	highBits = 0x80 * eachByte
	spaces   = ' ' * eachByte
)

// ascii reports whether s is ASCII.
func ascii(s string) bool {
	n := len(s)
	switch {
	case n >= 8:
		w := last8(s)
		for i := 0; i < n-8; i += 8 {
			w |= first8(s[i:])
		}
		return w&highBits == 0
	case n >= 4:
		return (first4(s)|last4(s)<<32)&highBits == 0
	}
	return tiny(s)&highBits == 0
}

// oddName reports whether a name may need repair: whether it has a NUL, a
// semicolon or something that is not ASCII.
func oddName(s string) bool {
	n := len(s)
	switch {
	case n >= 8:
		bits := odd(last8(s))
		for i := 0; i < n-8; i += 8 {
			bits |= odd(first8(s[i:]))
		}
		return bits&highBits != 0
	case n >= 4:
		return odd(first4(s)|last4(s)<<32)&highBits != 0
	}
	return odd(tiny(s))&highBits != 0
}

// odd returns the high bits of bytes that are NUL, a semicolon or not ASCII, and
// other bits. If one is set, those of the bytes above may be wrong.
func odd(w uint64) uint64 { return (w - eachByte) | (w ^ ';'*eachByte - eachByte) | w }

// The compiler makes a single load of each of these.

func first8(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:8])) }

func last8(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[len(s)-8:])) }

func first4(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

func last4(s string) uint64 {
	n := len(s)
	return uint64(s[n-4]) | uint64(s[n-3])<<8 | uint64(s[n-2])<<16 | uint64(s[n-1])<<24
}

// tiny returns the bytes of a string of less than 4, filled up with spaces.
// Those of an empty string are 0.
func tiny(s string) uint64 {
	switch len(s) {
	case 3:
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | spaces<<24&(1<<64-1)
	case 2:
		return uint64(s[0]) | uint64(s[1])<<8 | spaces<<16&(1<<64-1)
	case 1:
		return uint64(s[0]) | spaces<<8&(1<<64-1)
	}
	return 0
}

// repairName makes a name valid, in place.
func repairName(name []byte) {
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRune(name[i:])
		if r == utf8.RuneError && size == 1 || r == 0 || r == ';' {
			name[i] = '_'
		}
		i += size
	}
}
