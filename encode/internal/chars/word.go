package chars

// Eight bytes of a text are examined at a time: most texts are short and plain, and a loop over
// bytes would take more instructions. All results are in the high bit of each byte. A borrow or a
// carry may set the bits of bytes above one that is found, never without one.
const (
	Ones  = 0x0101010101010101
	Highs = 0x80 * Ones
)

// masks are the constants of Unplain. As constants of the code they would be loaded into registers, for
// which the compiler finds too few where strings are copied in a loop.
var masks = struct{ space, ones, backslash uint64 }{^uint64(' '*Ones) + 1, Ones, ('\\' ^ del) * Ones}

// Unplain returns a word with some of [Highs] set if a byte of x is not written as it is in plain
// text: if it is not printable ASCII, or is a backslash, which flipping some bits makes a DEL.
func Unplain(x uint64) uint64 {
	return (x + masks.space) | (x + masks.ones) | ((x ^ masks.backslash) + masks.ones)
}

// Unquoted is Unplain for the inside of a JSON string, where a quotation mark is not written as it is either.
func Unquoted(x uint64) uint64 {
	// Flipping bit 1 makes the quotation mark the successor of the control characters.
	const below = Ones * ('"' ^ 2 + 1)
	return ((x ^ Ones*2) - below) | (x + Ones) | ((x ^ '\\'*Ones) - Ones)
}

// IsPlain reports whether c is written as it is in plain text, wherever it stands.
func IsPlain(c byte) bool { return c-' ' < del-' ' && c != '\\' }

// Load64, Load32 and load16 return the first bytes of s, the very first in the lowest byte. Each is a single
// load to the compiler.

// Load64 returns the first 8 bytes of s.
func Load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Load32 returns the first 4 bytes of s.
func Load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func load16(s string) uint16 { return uint16(s[0]) | uint16(s[1])<<8 }
