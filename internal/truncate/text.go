package truncate

import "unicode/utf8"

// Text cuts a text that package text escaped to at most limit bytes, in place, between two characters or escapes.
// It returns the new length. The text must be longer than limit.
func Text(s []byte, limit int) (n int) {
	if limit < len(Mark) {
		return 0
	}
	keep := 0
	for last := limit - len(Mark); keep < len(s); {
		next := keep + textCharacter(s[keep:])
		if next > last {
			break
		}
		keep = next
	}
	return keep + copy(s[keep:], Mark)
}

// textCharacter returns the length of the first character or escape.
func textCharacter(s []byte) int {
	if s[0] != '\\' || len(s) < 2 {
		_, size := utf8.DecodeRune(s)
		return size
	}
	switch s[1] {
	case 'x':
		return len(`\x00`)
	case 'u':
		return len(`\u0000`)
	case 'U':
		return len(`\U00000000`)
	}
	return len(`\n`)
}

// List cuts a list whose elements are separated by commas to at most limit bytes, in place, and puts the mark in the
// place of the last elements. It returns the new length. The list must be longer than limit.
func List(s []byte, limit int) (n int) {
	if limit < len(Mark) {
		return 0
	}
	keep := 0
	for i, c := range s[:limit-len(Mark)] {
		if c == ',' {
			keep = i + 1
		}
	}
	return keep + copy(s[keep:], Mark)
}
