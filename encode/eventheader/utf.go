package eventheader

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// textForm is how the bytes of a text stand for characters.
type textForm uint8

const (
	formLatin1 textForm = iota
	formUTF8
	formUTF16Little
	formUTF16Big
	formUTF32Little
	formUTF32Big
)

type byteOrderMark struct {
	bytes []byte
	form  textForm
}

// marks in the order to look for them: that of UTF-32 begins with that of UTF-16.
var marks = []byteOrderMark{
	{[]byte{0xff, 0xfe, 0, 0}, formUTF32Little},
	{[]byte{0, 0, 0xfe, 0xff}, formUTF32Big},
	{[]byte{0xff, 0xfe}, formUTF16Little},
	{[]byte{0xfe, 0xff}, formUTF16Big},
	{[]byte{0xef, 0xbb, 0xbf}, formUTF8},
}

// textForm returns the bytes of a text of format f, without a byte order mark, and their form.
func (v Value) textForm(f Format) ([]byte, textForm) {
	switch f {
	case FormatLatin1:
		return v.raw, formLatin1
	case FormatUTFBOM, FormatXML, FormatJSON:
		for _, m := range marks {
			if rest, ok := bytes.CutPrefix(v.raw, m.bytes); ok {
				return rest, m.form
			}
		}
	}
	little := bool(v.order) != hostLittle
	switch e := v.typ.Encoding(); {
	case e.unit() == 1:
		return v.raw, formUTF8
	case (e.unit() == 2 || e == Value16) && little:
		return v.raw, formUTF16Little
	case e.unit() == 2 || e == Value16:
		return v.raw, formUTF16Big
	case little:
		return v.raw, formUTF32Little
	}
	return v.raw, formUTF32Big
}

// rune decodes the first character of a text and returns its size, which is 0 if
// not even a unit is left. A byte that is not UTF-8 is taken for Latin-1, as other decoders
// do; what is no character becomes U+FFFD.
func (f textForm) rune(b []byte) (rune, int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case f == formLatin1:
		return rune(b[0]), 1
	case f == formUTF8:
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			r = rune(b[0])
		}
		return r, n
	case f == formUTF16Little:
		return rune16(b, binary.LittleEndian)
	case f == formUTF16Big:
		return rune16(b, binary.BigEndian)
	case f == formUTF32Little:
		return rune32(b, binary.LittleEndian)
	}
	return rune32(b, binary.BigEndian)
}

func rune16[O binary.ByteOrder](b []byte, o O) (rune, int) {
	if len(b) < 2 {
		return 0, 0
	}
	r := rune(o.Uint16(b))
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(b) >= 4 {
		if r = utf16.DecodeRune(r, rune(o.Uint16(b[2:]))); r != utf8.RuneError {
			return r, 4
		}
	}
	return utf8.RuneError, 2
}

func rune32[O binary.ByteOrder](b []byte, o O) (rune, int) {
	if len(b) < 4 {
		return 0, 0
	}
	if c := o.Uint32(b); c <= utf8.MaxRune && utf8.ValidRune(rune(c)) {
		return rune(c), 4
	}
	return utf8.RuneError, 4
}
