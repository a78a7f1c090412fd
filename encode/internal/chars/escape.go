package chars

// MaxEscape is the length of the longest escape of one character or byte.
const MaxEscape = len(`\u0000`)

// EscapeLen returns the length of an escape whose character behind the backslash is c, in plain text or in JSON.
func EscapeLen(c byte) int {
	switch c {
	case 'x':
		return len(`\x00`)
	case 'u':
		return len(`\u0000`)
	}
	return len(`\n`)
}
