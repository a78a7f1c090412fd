package record

import (
	"math/bits"
	"strings"

	"github.com/userevents/userevents-go/internal/chars"
)

// isPlain reports whether json is an object with members that comes out the same, byte for byte, when it is read and written
// again: its texts are printable ASCII without escapes, its numbers have the form that this module writes, keys are
// unique in each object, and there is no white space between tokens. Then it can be copied in place of being read. The
// result is true for most attributes that this module wrote, and never for anything else than JSON; false says nothing.
func isPlain(json string) bool { return json != "" && plainLen(json) == len(json) }

// plainLen returns the length of the plain object at the beginning of s, or 0 if there is none.
func plainLen(s string) int {
	if !strings.HasPrefix(s, `{"`) {
		return 0
	}
	return plainObject(s[:min(len(s), maxPlain)], len(`{`), 0)
}

const (
	maxPlain      = 1<<16 - 1 // positions have 16 bits
	maxPlainKeys  = 24        // of an object
	maxPlainDepth = 8
)

// The plain functions return the position behind what is next in s, from position i on, or 0 if it is not plain.

func plainObject(s string, i, depth int) int {
	if i < len(s) && s[i] == '}' {
		return i + 1
	}
	var keys [maxPlainKeys]struct{ begin, end uint16 }
	var marks uint64 // of the keys so far: most keys differ in theirs, which depend on the length and the last character
	for n := range keys {
		if i >= len(s) || s[i] != '"' {
			return 0
		}
		// As in plainText. Most keys end here, without a call.
		begin, end := i+1, 0
		for at := begin; ; at += 8 {
			if at > len(s)-8 {
				if end = plainText(s, at) - 1; end < 0 {
					return 0
				}
				break
			}
			if found := chars.Unquoted(chars.Load64(s[at:])) & chars.Highs; found != 0 {
				end = at + bits.TrailingZeros64(found)/8
				break
			}
		}
		if end+2 >= len(s) || s[end:end+2] != `":` {
			return 0
		}
		keys[n].begin, keys[n].end = uint16(begin), uint16(end)
		mark := uint64(1) << ((uint(end-begin) + 11*uint(s[end-1])) % 64)
		if marks&mark != 0 && hasKey(s, keys[:n], s[begin:end]) {
			return 0
		}
		marks |= mark
		switch c := s[end+2]; {
		case c == '"':
			i = plainText(s, end+3)
		case c <= '9':
			i = plainNumber(s, end+2)
		default:
			i = plainValue(s, end+2, depth)
		}
		if i == 0 || i >= len(s) {
			return 0
		}
		switch s[i] {
		case ',':
			i++
		case '}':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

func hasKey(s string, keys []struct{ begin, end uint16 }, key string) bool {
	for _, k := range keys {
		if s[k.begin:k.end] == key {
			return true
		}
	}
	return false
}

func plainValue(s string, i, depth int) int {
	if i >= len(s) {
		return 0
	}
	switch s[i] {
	case '"':
		return plainText(s, i+1)
	case 't':
		return plainWord(s, i, "true")
	case 'f':
		return plainWord(s, i, "false")
	case 'n':
		return plainWord(s, i, "null")
	case '{':
		if depth < maxPlainDepth {
			return plainObject(s, i+1, depth+1)
		}
		return 0
	case '[':
		if depth < maxPlainDepth {
			return plainList(s, i+1, depth+1)
		}
		return 0
	default:
		return plainNumber(s, i)
	}
}

func plainWord(s string, i int, word string) int {
	if len(s)-i < len(word) || s[i:i+len(word)] != word {
		return 0
	}
	return i + len(word)
}

func plainList(s string, i, depth int) int {
	if i < len(s) && s[i] == ']' {
		return i + 1
	}
	for {
		if i = plainValue(s, i, depth); i == 0 || i >= len(s) {
			return 0
		}
		switch s[i] {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return 0
		}
	}
}

// plainText skips a text behind its opening quote. It looks at eight bytes at a time, as [chars.PlainLen] does, without a call.
func plainText(s string, i int) int {
	rest := s[i:]
	for len(rest) >= 8 {
		if found := chars.Unquoted(chars.Load64(rest)) & chars.Highs; found != 0 {
			n := bits.TrailingZeros64(found) / 8 // the first one that is found is exact
			if rest[n] != '"' {
				return 0
			}
			return len(s) - len(rest) + n + 1
		}
		rest = rest[8:]
	}
	for n := range len(rest) {
		switch c := rest[n]; {
		case c == '"':
			return len(s) - len(rest) + n + 1
		case !chars.IsPlain(c):
			return 0
		}
	}
	return 0
}

// plainNumber skips a number of at most 15 digits. No two of them have the same float, so a fraction that does not end in a
// zero, or is one, is the shortest form of its own. Numbers below 1e-6 have another form.
func plainNumber(s string, i int) int {
	negative := s[i] == '-'
	if negative {
		i++
	}
	first := i
	for i < len(s) && s[i]-'0' < 10 {
		i++
	}
	whole := i - first
	if whole == 0 || s[first] == '0' && whole > 1 {
		return 0
	}
	if i == len(s) || s[i] != '.' {
		if whole > maxPlainDigits || negative && s[first] == '0' { // a float
			return 0
		}
		return i
	}
	i++
	for i < len(s) && s[i]-'0' < 10 {
		i++
	}
	if c := s[i-1]; c == '.' || c == '0' && i-first != whole+len(".0") || i-first > maxPlainDigits+len(".") {
		return 0
	}
	const tooSmall = "0.000000"
	if s[first] == '0' && i-first >= len(tooSmall) && s[first:first+len(tooSmall)] == tooSmall {
		return 0
	}
	return i
}

const maxPlainDigits = 15
