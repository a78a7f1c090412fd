package eventheader

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is one decoded value. It refers to the payload that it was decoded from. The zero
// Value is a null.
type Value struct {
	typ   Type
	raw   []byte
	order order
}

// Raw returns the bytes of the value in the byte order of the event, without count
// and without terminator. They must not be changed.
func (v Value) Raw() []byte { return v.raw }

// Format returns the format that applies to the value: the declared one, or the default of the encoding if that does
// not fit. It is FormatDefault if the value is null, and [FormatIP] for the old format of addresses.
func (v Value) Format() Format { return v.format() }

// Uint64 returns what Any returns as an integer or a boolean, and the seconds of a time. A signed one below zero comes out
// above [math.MaxInt64]. It is 0 for other formats.
func (v Value) Uint64() uint64 {
	switch v.format() {
	case FormatUnsigned, FormatHex, FormatBool:
		return v.uint()
	case FormatSigned, FormatErrno, FormatPID, FormatTime:
		return uint64(v.int())
	case FormatPort:
		return v.port()
	default:
		return 0
	}
}

// Float64 returns a floating-point number. It is 0 for other formats.
func (v Value) Float64() float64 {
	switch {
	case v.format() != FormatFloat:
		return 0
	case len(v.raw) == 4:
		return float64(v.float32())
	}
	return v.float64()
}

// Text returns a text as valid UTF-8: part of the payload where that has this form, which must not be changed, and else
// a copy. It is nil for other formats.
func (v Value) Text() []byte {
	f := v.format()
	if f < formatLatin1 || f > FormatJSON {
		return nil
	}
	b, form := v.textForm(f)
	if form == formUTF8 && utf8.Valid(b) {
		return b
	}
	var dst []byte
	for {
		r, n := form.rune(b)
		if n == 0 {
			return dst
		}
		dst, b = utf8.AppendRune(dst, r), b[n:]
	}
}

// fixedSizes says, as bits, which lengths fit the formats of fixed size.
var fixedSizes = [formatOldIP + 1]uint32{
	FormatUnsigned: 1<<1 | 1<<2 | 1<<4 | 1<<8,
	FormatSigned:   1<<1 | 1<<2 | 1<<4 | 1<<8,
	FormatHex:      1<<1 | 1<<2 | 1<<4 | 1<<8,
	FormatErrno:    1 << 4,
	FormatPID:      1 << 4,
	FormatTime:     1<<4 | 1<<8,
	FormatBool:     1<<1 | 1<<2 | 1<<4,
	FormatFloat:    1<<4 | 1<<8,
	FormatUUID:     1 << 16,
	FormatPort:     1 << 2,
	FormatIP:       1<<4 | 1<<16,
	formatOldIP:    1<<4 | 1<<16,
}

// format returns the format that applies to the value: the declared one if it
// fits, else the encoding's default. FormatDefault means that the value is null.
func (v Value) format() Format {
	e, f := v.typ.encoding(), v.typ.format()
	if f > formatOldIP {
		return e.defaultFormat()
	}
	if f == formatOldIP {
		f = FormatIP
	}
	switch {
	case f == FormatDefault || formatsOf[e]&(1<<f) == 0:
		return e.defaultFormat()
	case e != encString8 && e != encBinary || fixedSizes[f] == 0:
		return f
	case len(v.raw) == 0:
		return FormatDefault
	case len(v.raw) <= 16 && fixedSizes[f]&(1<<len(v.raw)) != 0:
		return f
	}
	return e.defaultFormat()
}

func (e encoding) defaultFormat() Format {
	switch e {
	case 0:
		return FormatDefault
	case encValue8, encValue16, encValue32, encValue64:
		return FormatUnsigned
	case encValue128, encBinary:
		return FormatHexBytes
	}
	return formatUTF
}

// uint returns the value of 1, 2, 4 or 8 bytes.
func (v Value) uint() uint64 {
	switch len(v.raw) {
	case 1:
		return uint64(v.raw[0])
	case 2:
		return uint64(v.order.get16(v.raw))
	case 4:
		return uint64(v.order.get32(v.raw))
	}
	return v.order.get64(v.raw)
}

// int returns the value of 1, 2, 4 or 8 bytes with its sign.
func (v Value) int() int64 {
	unused := 64 - 8*len(v.raw)
	return int64(v.uint()<<unused) >> unused
}

func (v Value) float32() float32 { return math.Float32frombits(uint32(v.uint())) }
func (v Value) float64() float64 { return math.Float64frombits(v.uint()) }

// port returns a port number, which is in network order whatever the event's order is.
func (v Value) port() uint64 { return uint64(v.raw[0])<<8 | uint64(v.raw[1]) }

func (v Value) addr() netip.Addr {
	a, _ := netip.AddrFromSlice(v.raw)
	return a
}

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
	case formatLatin1:
		return v.raw, formLatin1
	case formatUTFBOM, formatXML, FormatJSON:
		for _, m := range marks {
			if rest, ok := bytes.CutPrefix(v.raw, m.bytes); ok {
				return rest, m.form
			}
		}
	}
	little := bool(v.order) != hostLittle
	switch e := v.typ.encoding(); {
	case e.unit() == 1:
		return v.raw, formUTF8
	case (e.unit() == 2 || e == encValue16) && little:
		return v.raw, formUTF16Little
	case e.unit() == 2 || e == encValue16:
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
