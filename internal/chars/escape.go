package chars

// maxEscape is the length of the longest escape of one character or byte.
const maxEscape = len(`\ud800\udc00`)

// EscapeLen returns the length of an escape whose character behind the backslash is c, in plain text or in JSON. An
// escape in JSON may be half of a surrogate pair.
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

// ClipEscaped returns the longest prefix of an escaped text, plain or in JSON, with at most n bytes that ends neither inside a
// character nor inside an escape. A surrogate pair is one escape: strict parsers refuse one half of it.
func ClipEscaped[T string | []byte](s T, n int) T {
	if n >= len(s) {
		return s
	}
	s, rest := Clip(s, n), s
	for i := len(s) - 1; i >= 0 && len(s)-i < maxEscape; i-- {
		if s[i] != '\\' {
			continue
		}
		first := i // of a row of backslashes
		for first > 0 && s[first-1] == '\\' {
			first--
		}
		if (i-first)%2 == 0 && i+escapeLen(rest[i:]) > len(s) {
			return ClipEscaped(s, i) // what is before may be the first half of a pair
		}
		break
	}
	return s
}

// escapeLen returns the length of the escape that s begins with, and of both if it is the first half of a pair.
func escapeLen[T string | []byte](s T) int {
	switch {
	case len(s) < len(`\n`):
		return len(`\n`)
	case len(s) >= len(`\u0000`) && s[1] == 'u' && s[2]|0x20 == 'd' && (s[3] == '8' || s[3] == '9' || s[3]|0x20 == 'a' || s[3]|0x20 == 'b'):
		return len(`\ud800\udc00`)
	}
	return EscapeLen(s[1])
}
