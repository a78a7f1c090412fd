package chars

// MaxEscape is the length of the longest escape of one character or byte.
const MaxEscape = len(`\ud800\udc00`)

// EscapeLen returns the length of an escape whose character behind the backslash is c, in plain text or in JSON. An
// escape in JSON may be half of a pair: see [HalfPair].
func EscapeLen(c byte) int {
	switch c {
	case 'x':
		return len(`\x00`)
	case 'u':
		return len(`\u0000`)
	case 'U':
		return len(`\U00000000`)
	}
	return len(`\n`)
}

// HalfPair reports whether an escape in JSON that begins with \u and these two digits is the first half of a surrogate
// pair. The other half follows, and without it strict parsers refuse the JSON.
func HalfPair(first, second byte) bool {
	return (first == 'd' || first == 'D') && (second >= '8' && second <= '9' || second|0x20 == 'a' || second|0x20 == 'b')
}
