package eventheader

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/userevents/userevents-go/encode/internal/chars"
	"github.com/userevents/userevents-go/encode/text"
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

// putPlain writes a text as TypeString behind dst and returns the length of dst with it. It returns 0 if something
// has to be escaped, or if dst may not have room for it. Returned so, dst need not be stored again.
func (o order) putPlain(dst []byte, v string) int {
	at, room := len(dst), dst[:cap(dst)]
	begin := at + 2
	if len(v) > MaxLimit || begin > len(room) {
		return 0
	}
	o.put16(room[at:begin:len(room)], uint16(len(v)))
	if !chars.CopyPlain(room, begin, v) {
		return 0
	}
	return begin + len(v)
}

// beyond is how much more of a text is written than the limit of the event, so that fit notices that it is too long.
const beyond = 8

// appendText appends a text that is given in UTF-8, with its count or its end. It is escaped as package text says, in
// JSON and XML in their own notations; hexadecimal bytes and binaries are taken as they are. It stops
// once limit bytes are written, but does not call that a cut: the event will be
// too large then, and fit cuts it. It returns false if zero-terminated bytes
// end at a NUL of their own.
func (o order) appendText(dst []byte, t Type, v string, limit int) ([]byte, bool) {
	e, f, whole := t.Encoding(), t.Format(), true
	start := len(dst)
	if e.counted() {
		dst = append(dst, 0, 0)
	}
	content := len(dst)
	switch {
	case f == FormatHexBytes || t == TypeBytes:
		if i := strings.IndexByte(v, 0); i >= 0 && !e.counted() {
			v, whole = v[:i], false
		}
		if e.unit() > 1 {
			dst = o.appendRunes(dst, e.unit(), v, limit)
		} else {
			dst = append(dst, v[:min(len(v), limit+beyond)]...)
		}
	case e.unit() > 1 || f == FormatLatin1:
		var escaped [chars.MaxJSON]byte
		for begin := len(dst); len(v) > 0 && len(dst)-begin <= limit; {
			_, size := chars.Decode(v)
			dst = o.appendRunes(dst, e.unit(), string(appendUTF8(escaped[:0], f, v[:size], len(escaped))), limit)
			v = v[size:]
		}
	default:
		dst = appendUTF8(dst, f, v, limit+beyond)
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

// appendUTF8 appends a text with what is not printable escaped, in about max bytes.
func appendUTF8(dst []byte, f Format, v string, max int) []byte {
	switch f {
	case FormatJSON:
		return chars.SanitizeJSON(dst, v, max)
	case FormatXML:
		return chars.SanitizeXML(dst, v, max)
	}
	dst, _ = text.Append(dst, v, max)
	return dst
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
