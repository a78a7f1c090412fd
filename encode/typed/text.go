package typed

import (
	"slices"
	"unicode/utf8"
)

// CutMark ends a text that was cut to fit.
const CutMark = "…"

// AppendText appends s in the form in which text stands in a payload, at most
// max bytes of it, and returns how many bytes of s were left out.
//
// Printing a record must not move the cursor of a terminal, begin a line that
// looks like a record of its own, or end early. So control characters are replaced by
// their pictures, U+2400 to U+2421: a newline becomes ␊, NUL becomes ␀. Those
// without a picture (U+0080 to U+009F), the line and paragraph separators U+2028 and
// U+2029, and every byte that is not valid UTF-8 become U+FFFD. Everything else is
// kept as it is, including backslashes and quotes.
//
// A text that would be longer than max is cut between two characters and ends in
// [CutMark], which counts toward max. With a max of less than the mark's 3 bytes nothing is left of it.
func AppendText(dst []byte, s string, max int) (out []byte, cut int) {
	if len(s) <= max {
		// Most texts are plain. Copying is then all there is to do.
		end := len(dst) + len(s)
		if out = slices.Grow(dst, len(s)); copyPrintable(out[:cap(out)], len(dst), s) {
			return out[:end], 0
		}
		if len(s) <= max/longestReplacement || fitting(s, max) == len(s) {
			return appendReplaced(dst, s), 0
		}
	}
	if max < len(CutMark) {
		return dst, len(s)
	}
	keep := fitting(s, max-len(CutMark))
	out = appendReplaced(dst, s[:keep])
	return append(out, CutMark...), len(s) - keep
}

// CutText cuts the text dst[begin:] to at most max bytes, as [AppendText] does, and
// returns how many bytes were left out. It is for text that
// another function appended.
func CutText(dst []byte, begin, max int) (out []byte, cut int) {
	text := dst[begin:]
	if len(text) <= max {
		return dst, 0
	}
	if max < len(CutMark) {
		return dst[:begin], len(text)
	}
	keep := max - len(CutMark)
	for keep > 0 && !utf8.RuneStart(text[keep]) {
		keep--
	}
	return append(dst[:begin+keep], CutMark...), len(text) - keep
}

// appendReplaced appends the whole of s, with what must not be printed replaced.
func appendReplaced(dst []byte, s string) []byte {
	kept := 0 // s[kept:i] is to be copied
	for i := 0; i < len(s); {
		if c := s[i]; c-' ' < del-' ' {
			i++
			continue
		}
		r, size := decode(s[i:])
		if sub := substitute(r); sub != r || size == 1 && r == utf8.RuneError {
			dst = append(dst, s[kept:i]...)
			dst = utf8.AppendRune(dst, sub)
			kept = i + size
		}
		i += size
	}
	return append(dst, s[kept:]...)
}

// fitting returns how many bytes of s, up to the end of a character, take at most
// max bytes in a payload.
func fitting(s string, max int) int {
	n := 0
	for i := 0; i < len(s); {
		r, size := decode(s[i:])
		n += utf8.RuneLen(substitute(r))
		if n > max {
			return i
		}
		i += size
	}
	return len(s)
}

// decode is utf8.DecodeRuneInString with a short way for ASCII.
func decode(s string) (r rune, size int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

const (
	controlPictures = 0x2400
	deletePicture   = 0x2421
	del             = 0x7F
	lineSeparator   = 0x2028
	paraSeparator   = 0x2029

	// longestReplacement is how many bytes stand for one byte at most.
	longestReplacement = 3
)

// substitute returns what stands for a character in a payload: mostly itself.
func substitute(r rune) rune {
	switch {
	case r < ' ':
		return controlPictures + r
	case r < del:
		return r
	case r == del:
		return deletePicture
	case r < 0xA0, r == lineSeparator, r == paraSeparator:
		return utf8.RuneError
	}
	return r
}
