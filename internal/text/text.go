package text

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
)

// CutMark ends a text that was cut to fit. A text may end like that on its own: the count of truncated
// values in a record tells the two apart.
const CutMark = "..."

// longestEscape is how many bytes stand for one byte at most.
const longestEscape = len(`\x00`)

// Append appends s, escaped as the package comment says, in at most max bytes, of which [math.MaxInt] sets no
// limit. It returns the extended buffer and how many bytes of s were cut.
//
// A text that would be longer than max is cut between two characters or escapes and ends in [CutMark],
// which counts toward max. If max is less than the length of the mark, or negative, nothing of it is appended. A
// buffer that has room for max bytes is not reallocated. Bytes between the length and the capacity of the
// result may change.
func Append(dst []byte, s string, max int) (out []byte, cut int) {
	if len(s) <= max {
		// Most texts are plain. Copying is then all there is to do.
		if chars.CopyPlain(dst[:cap(dst)], len(dst), s) {
			return dst[:len(dst)+len(s)], 0
		}
		if len(s) <= max/longestEscape || fitting(s, max) == len(s) {
			return appendEscaped(dst, s), 0
		}
	}
	if max < len(CutMark) {
		return dst, len(s)
	}
	keep := fitting(s, max-len(CutMark))
	out = appendEscaped(dst, s[:keep])
	return append(out, CutMark...), len(s) - keep
}

// AppendPrintable appends s, which may have been escaped already, so that it prints as one line: backslashes stay as
// they are, everything else is escaped as [Append] does. It is for printing what another program wrote.
func AppendPrintable(dst []byte, s string) []byte {
	if chars.CopyPlain(dst[:cap(dst)], len(dst), s) {
		return dst[:len(dst)+len(s)]
	}
	for {
		head, rest, more := strings.Cut(s, `\`)
		dst, _ = Append(dst, head, math.MaxInt)
		if !more {
			return dst
		}
		dst, s = append(dst, '\\'), rest
	}
}

// Printable returns s as [AppendPrintable] appends it.
func Printable(s string) string { return string(AppendPrintable(nil, s)) }

// appendEscaped appends the whole of s.
func appendEscaped(dst []byte, s string) []byte {
	kept := 0 // s[kept:i] is to be copied
	for i := 0; i < len(s); {
		c := s[i]
		if chars.IsPlain(c) {
			if i++; len(s)-i >= 8 {
				i += chars.PlainLen(s[i:])
			}
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(s[i:]); size > 1 && !chars.Deceptive(r) {
				i += size
				continue
			}
		}
		dst = append(dst, s[kept:i]...)
		dst = appendEscape(dst, r, width(r, size), c)
		i += size
		kept = i
	}
	return append(dst, s[kept:]...)
}

// fitting returns how many bytes of s, up to the end of a character, take at most max bytes when they are escaped.
func fitting(s string, max int) int {
	n := 0
	for i := 0; ; {
		plain := chars.PrintableLen(s[i:min(len(s), max-n+i)])
		n, i = n+plain, i+plain
		if i == len(s) {
			return i
		}
		r, size := chars.Decode(s[i:])
		if n += width(r, size); n > max {
			return i
		}
		i += size
	}
}

// width returns how many bytes a character of size bytes takes.
func width(r rune, size int) int {
	switch {
	case r == utf8.RuneError && size == 1:
		return len(`\xff`)
	case r == '\\' || r == '\n' || r == '\t' || r == '\r':
		return len(`\n`)
	case !chars.Unprintable(r):
		return size
	case r < utf8.RuneSelf:
		return len(`\x00`)
	case r > 0xffff:
		return len(`\U00000000`)
	}
	return len(`\u0000`)
}

// appendEscape appends the escape of n bytes for a character that begins with the byte first.
func appendEscape(dst []byte, r rune, n int, first byte) []byte {
	switch n {
	case len(`\n`):
		switch r {
		case '\n':
			first = 'n'
		case '\t':
			first = 't'
		case '\r':
			first = 'r'
		}
		return append(dst, '\\', first)
	case len(`\x00`):
		return append(dst, '\\', 'x', chars.Hex[first>>4], chars.Hex[first&0xf])
	}
	digits := n - len(`\u`)
	if digits == len("0000") {
		dst = append(dst, '\\', 'u')
	} else {
		dst = append(dst, '\\', 'U')
	}
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, chars.Hex[r>>shift&0xf])
	}
	return dst
}
