// Package text writes texts so that every tool prints them as one line of printable characters, and reads them back.
//
//	buf, cut := text.Append(nil, "a\nb\u202ec", math.MaxInt) // prints as it is written here: a\nb\u202ec
//	original := text.Unescape(string(buf))
//
// Tracing tools print the texts of a record as they are. A text that contains a newline, an escape sequence or a character that reverses the
// direction of writing could forge a record, control a terminal or disguise its meaning. So control characters, characters that are
// invisible or change the direction of text, backslashes, and bytes that are not UTF-8 are escaped, in ASCII and in the notation of Go and C:
// docs/wire-formats.md has the list. Invisible are those with Unicode's properties Bidi_Control and Default_Ignorable_Code_Point, except for those
// that words of several scripts and emoji need: U+200C, U+200D and the variation selectors up to U+FE0F. Everything else stays as it is: quotes, letters of all scripts, symbols, emoji (but flags of
// regions, which are made of tags). Since Linux 7 ftrace, but not perf and trace-cmd, prints a text as dots and a hex dump if any byte of it is
// not printable ASCII.
//
// [Unescape] returns the original, byte for byte. A text that was cut to fit ends in [CutMark]. Floating-point numbers for which a record has no
// type of its own are texts too; [AppendFloat] writes them.
//
// In JSON, such as the field attributes, the same characters have JSON's own escapes (\n, \u001b, and beyond U+FFFF a surrogate pair), which
// every parser reverses, and [UnescapeJSON] puts back the bytes that are not valid UTF-8.
//
// All sizes are in bytes. A text grows to at most four times its length. The functions keep nothing that is passed to them and may be used
// concurrently.
package text

import (
	"math"
	"strconv"
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

// Unescape returns the text that [Append] wrote as s. A [CutMark] stays. In a text that another
// program wrote, a backslash that begins no escape of this package stays as it is; so does an escape that is cut off.
func Unescape(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		n := 0
		if b, n = unescape(b, s[i:]); n == 0 {
			b, n = append(b, '\\'), 1
		}
		i += n
	}
	return string(b)
}

// unescape appends what the escape that s begins with stands for, and returns its length, or 0 if there is none.
func unescape(dst []byte, s string) (out []byte, n int) {
	if len(s) < 2 {
		return dst, 0
	}
	n = chars.EscapeLen(s[1])
	if n > len(s) {
		return dst, 0
	}
	switch s[1] {
	case '\\':
		return append(dst, '\\'), n
	case 'n':
		return append(dst, '\n'), n
	case 't':
		return append(dst, '\t'), n
	case 'r':
		return append(dst, '\r'), n
	case 'x', 'u', 'U':
	default:
		return dst, 0
	}
	v, err := strconv.ParseUint(s[2:n], 16, 32)
	switch {
	case err != nil:
		return dst, 0
	case s[1] == 'x':
		return append(dst, byte(v)), n
	}
	if !utf8.ValidRune(rune(v)) {
		return dst, 0
	}
	return utf8.AppendRune(dst, rune(v)), n
}

// UnescapeJSON returns a text that this module wrote as a key or a value of JSON, byte for byte, given what a JSON parser made of
// it. It puts back the bytes that are not valid UTF-8, which JSON has no escape for: they are there as characters of the private
// use area, U+EF80 to U+EFFF. A text without such bytes is returned as it is.
func UnescapeJSON(s string) string {
	if strings.IndexFunc(s, chars.IsRawByte) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if chars.IsRawByte(r) {
			b = append(b, chars.RawByte(r))
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// AppendFloat appends the shortest decimal number that reads back as v, in the form that encoding/json
// chooses, such as 0.25, 1e+21 or 1e-9: at most 25 bytes. bits is 32 or 64, the size of the number that v was
// converted from. NaN and the infinities are written as OpenTelemetry names them in JSON: NaN, Infinity and
// -Infinity.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	// Most bounds and many values are integers, which strconv formats in a fraction of the time. Up to here each has its
	// own floating-point number, so all its digits are the shortest form.
	if n := int64(v); bits == 64 && -1<<53 < n && n < 1<<53 && float64(n) == v && (n != 0 || !math.Signbit(v)) {
		return strconv.AppendInt(dst, n, 10)
	}
	if bits == 64 {
		if out, ok := appendDecimal(dst, v); ok {
			return out
		}
	}
	abs := math.Abs(v)
	small, large := 1e-6, 1e21
	if bits == 32 {
		small, large = float64(float32(small)), float64(float32(large))
	}
	if abs == 0 || small <= abs && abs < large {
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	// strconv writes two digits of exponent at least: e-09 becomes e-9. Large numbers have an exponent of 21 at least.
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendDecimal appends v if it is a number of at most 15 digits, 9 of them behind the point, and not an integer, as most
// fractions in logs are. No two such numbers have the same float, so the digits are the shortest ones, and strconv would
// find them more slowly.
func appendDecimal(dst []byte, v float64) (out []byte, ok bool) {
	const scale, large, small = 1e9, 1e6, 1e-6
	abs := math.Abs(v)
	if !(abs >= small && abs < large) {
		return dst, false
	}
	n := uint64(abs*scale + 0.5)
	if float64(n)/scale != abs { // both are exact, so this is the float that is nearest to the quotient
		return dst, false
	}
	if math.Signbit(v) {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(dst, n/scale, 10)
	point := len(dst)
	dst = strconv.AppendUint(dst, n%scale+scale, 10) // a one and all nine digits
	dst[point] = '.'
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst, true
}

// Short is a text that is appended to many lines. One of up to 24 bytes is copied as a whole, in a few instructions.
type Short struct {
	text  []byte
	short [24]byte
}

// Set sets the text, which must not change until the next call.
func (s *Short) Set(text []byte) {
	s.text = text
	copy(s.short[:], text)
}

// Bytes returns the text.
func (s *Short) Bytes() []byte { return s.text }

// Append appends the text.
func (s *Short) Append(b []byte) []byte {
	n, size := len(b), len(s.text)
	if size > len(s.short) || n+len(s.short) > cap(b) {
		return append(b, s.text...)
	}
	*(*[len(s.short)]byte)(b[n : n+len(s.short)]) = s.short // unlike copy, no call
	return b[:n+size]
}
