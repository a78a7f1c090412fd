// Package chars has what the encodings of texts have in common: which characters are escaped, and how
// texts that need no escape are found and copied.
package chars

import "unicode/utf8"

const del = 0x7f

// Unprintable reports whether a character must not reach a terminal or a line of a trace as it is: a
// control character, or one that is [Deceptive].
func Unprintable(r rune) bool { return r < ' ' || r >= del && (r == del || Deceptive(r)) }

// Deceptive reports whether r is not ASCII and controls a terminal, ends a line, reorders text or is
// invisible: a C1 control, a line or paragraph separator, an annotation, or a character with Unicode's property
// Bidi_Control or Default_Ignorable_Code_Point, such as the tags U+E0000 to U+E007F. Of the ignorable ones the joiners
// U+200C and U+200D and the variation selectors U+FE00 to U+FE0F and of Mongolian are not among them: words of several
// scripts and emoji need them.
func Deceptive(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r < 0xa0:
		return true // C1 controls
	case r < 0x2000:
		return r == 0xad || r == 0x34f || r == 0x61c || // soft hyphen, grapheme joiner, direction mark
			r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 || r == 0x180e // fillers, vowels, vowel separator
	case r <= 0x206f:
		return r == 0x200b || r == 0x200e || r == 0x200f || // zero-width space, direction marks
			r >= 0x2028 && r <= 0x202e || // separators, embeddings and overrides
			r >= 0x2060 // invisible operators, isolates
	case r <= 0xffff:
		return r == 0x3164 || r == 0xfeff || r == 0xffa0 || // filler, byte order mark, filler
			r >= 0xfff0 && r <= 0xfffb // reserved, annotations
	}
	return r >= 0xe0000 && r <= 0xe0fff || // tags, variation selectors, reserved
		r >= 0x1bca0 && r <= 0x1bca3 || r >= 0x1d173 && r <= 0x1d17a // controls of shorthand and of music
}

// Decode returns the first character of s, which is not empty, and its size. A byte that is not valid
// UTF-8 is [utf8.RuneError] with size 1.
func Decode[T string | []byte](s T) (r rune, size int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
}

// Clip returns the longest prefix of s with at most n bytes that does not end inside a
// character.
func Clip[T string | []byte](s T, n int) T {
	if n >= len(s) {
		return s
	}
	// Invalid text may have any number of continuation bytes: a character has three.
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// Hex has the digits of escapes.
const Hex = "0123456789abcdef"
