// Package jsonscan walks over JSON that package attrjson wrote: valid, and without white space between tokens. On
// anything else the functions return some position, at most len(b).
package jsonscan

import "bytes"

// String returns the position behind the string that begins at b[i].
func String(b []byte, i int) int {
	begin := i + 1
	for i = begin; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		first := i // of the backslashes before the quotation mark
		for first > begin && b[first-1] == '\\' {
			first--
		}
		if (i-first)%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// Value returns the position behind the value that begins at b[i].
func Value(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = String(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // behind a number or literal
			}
			depth--
			if depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}
