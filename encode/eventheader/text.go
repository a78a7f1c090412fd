package eventheader

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// isText reports whether [Encoder.Text] takes the type.
func (t Type) isText() bool {
	f := t.Format()
	return t.fits() && t.Encoding().unit() > 0 && (f == FormatDefault || f >= FormatHexBytes && f <= FormatJSON)
}

// isNumber reports whether [Encoder.Value] takes the type.
func (t Type) isNumber() bool {
	e, f := t.Encoding(), t.Format()
	return t.fits() && e >= Value8 && e <= Value64 && f != FormatHexBytes && f != FormatIP
}

// takesBytes reports whether [Encoder.Data] takes n bytes with the type.
func (t Type) takesBytes(n int) bool {
	e, f := t.Encoding(), t.Format()
	switch {
	case !t.fits():
		return false
	case e == Value128:
		return n == 16
	case e.size() > 0:
		return n == e.size() && (f == FormatHexBytes || f == FormatIP)
	case t.nullable():
		return n > 0 && n <= 16 && fixedSizes[f]&(1<<n) != 0
	}
	return e == Binary && f == FormatDefault || (e == Binary || e == String8) && f == FormatHexBytes
}

// nullable reports whether a value of the type may be null: it has a count, and
// a format of fixed size.
func (t Type) nullable() bool {
	e := t.Encoding()
	return (e == Binary || e == String8) && t.fits() && fixedSizes[t.Format()] != 0
}

// appendValue appends a value of 8 to 64 bits.
func (o order) appendValue(dst []byte, t Type, v uint64) []byte {
	switch t.Format() {
	case FormatUTF:
		if v > utf8.MaxRune || !utf8.ValidRune(rune(v)) || t.Encoding() == Value16 && v > math.MaxUint16 {
			v = utf8.RuneError
		}
	case FormatPort:
		return binary.BigEndian.AppendUint16(dst, uint16(v))
	}
	switch t.Encoding() {
	case Value8:
		return append(dst, byte(v))
	case Value16:
		return o.append16(dst, uint16(v))
	case Value32:
		return o.append32(dst, uint32(v))
	}
	return o.append64(dst, v)
}

// appendString appends a text that is ASCII as TypeString.
func (o order) appendString(dst []byte, v string) []byte {
	return append(o.append16(dst, uint16(len(v))), v...)
}

// clip returns how much of a text to write: more than the limit, if it is longer, so that
// fit notices.
func clip(v string, limit int) int {
	if len(v) <= limit {
		return len(v)
	}
	return cutUTF8(v, limit+utf8.UTFMax)
}

// repairText replaces what is not UTF-8, in place.
func repairText(b []byte) {
	if utf8.Valid(b) {
		return
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			b[i] = '?'
		}
		i += size
	}
}

// appendText appends a text that is given in UTF-8, with its count or its end.
// What is not UTF-8 becomes question marks, so that the length remains. It stops
// once limit bytes are written, but does not call that a cut: the event will be
// too large then, and fit cuts it. It returns false if a zero-terminated text
// ends at a NUL of its own.
func (o order) appendText(dst []byte, t Type, v string, limit int) ([]byte, bool) {
	e, whole := t.Encoding(), true
	start := len(dst)
	if e.counted() {
		dst = append(dst, 0, 0)
	} else if i := strings.IndexByte(v, 0); i >= 0 {
		v, whole = v[:i], false
	}
	content := len(dst)
	f := t.Format()
	if e.unit() > 1 || f == FormatLatin1 {
		dst = o.appendRunes(dst, e.unit(), v, limit)
	} else {
		dst = append(dst, v[:clip(v, limit)]...)
		if f != FormatHexBytes && t != TypeBytes {
			repairText(dst[content:])
		}
	}
	if f >= FormatUTFBOM && f <= FormatJSON && beginsLikeMark(dst[content:]) {
		// A decoder would take the text's beginning for a mark. Give it a real one.
		dst = slices.Insert(dst, content, o.mark(e.unit())...)
	}
	if e.counted() {
		o.put16(dst[start:], uint16((len(dst)-content)/e.unit()))
		return dst, whole
	}
	return append(dst, make([]byte, e.unit())...), whole
}

// appendRunes appends a text as Latin-1, UTF-16 or UTF-32 until limit bytes are written.
func (o order) appendRunes(dst []byte, unit int, v string, limit int) []byte {
	start := len(dst)
	for i, r := range v {
		if len(dst)-start >= limit {
			break
		}
		if r == utf8.RuneError && !strings.HasPrefix(v[i:], "\ufffd") || unit == 1 && r > 0xff {
			r = '?'
		}
		switch hi, lo := utf16.EncodeRune(r); {
		case unit == 1:
			dst = append(dst, byte(r))
		case unit == 4:
			dst = o.append32(dst, uint32(r))
		case hi != utf8.RuneError:
			dst = o.append16(o.append16(dst, uint16(hi)), uint16(lo))
		default:
			dst = o.append16(dst, uint16(r))
		}
	}
	return dst
}

func beginsLikeMark(b []byte) bool {
	return slices.ContainsFunc(marks, func(m byteOrderMark) bool { return bytes.HasPrefix(b, m.bytes) })
}

// mark returns the byte order mark for texts of such units.
func (o order) mark(unit int) []byte {
	switch unit {
	case 2:
		return o.append16(nil, 0xfeff)
	case 4:
		return o.append32(nil, 0xfeff)
	}
	return []byte("\ufeff")
}

// cutUTF8 returns the length of the longest prefix of at most n bytes that does
// not end within a character.
func cutUTF8[T string | []byte](s T, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for i := n; i >= 0 && n-i < utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n // not UTF-8
}
