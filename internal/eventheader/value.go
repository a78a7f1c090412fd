package eventheader

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding says how many bytes a value has and where it ends.
type encoding uint8

// The encodings. Values of 8 to 128 bits have that size; a zstring ends in a zero unit; the others begin with a 16-bit count of units.
const (
	encStruct    encoding = 1
	encValue8    encoding = 2
	encValue16   encoding = 3
	encValue32   encoding = 4
	encValue64   encoding = 5
	encValue128  encoding = 6
	encZString8  encoding = 7 // units of 8 bits
	encZString16 encoding = 8
	encZString32 encoding = 9
	encString8   encoding = 10
	encString16  encoding = 11
	encString32  encoding = 12
	encBinary    encoding = 13
)

// Bits of an encoding byte and of a format byte.
const (
	encodingMask  = 0x1f
	flagFixed     = 0x20 // an array whose count is in the metadata
	flagVariable  = 0x40 // an array whose count precedes its elements
	flagArray     = flagFixed | flagVariable
	chainFlag     = 0x80 // encoding: a format follows; format: a tag follows
	formatMask    = 0x7f
	maxEncoding   = encBinary
	maxStructSize = 127 // children, since they are counted in a format's bits
)

// Format says what a value means. Decoders ignore a format that does not fit the encoding.
type Format uint8

// The formats. The default is unsigned for values up to 64 bits, hexadecimal bytes
// for values of 128 bits and binaries, and UTF for strings.
const (
	FormatDefault  Format = 0
	FormatUnsigned Format = 1
	FormatSigned   Format = 2
	FormatHex      Format = 3 // an integer in hexadecimal
	FormatErrno    Format = 4
	FormatPID      Format = 5
	FormatTime     Format = 6 // signed seconds since 1970, UTC
	FormatBool     Format = 7
	FormatFloat    Format = 8
	FormatHexBytes Format = 9
	formatLatin1   Format = 10 // text of one byte per character
	formatUTF      Format = 11 // UTF-8, UTF-16 or UTF-32, by the size of a unit
	formatUTFBOM   Format = 12 // UTF that may begin with a byte order mark
	formatXML      Format = 13 // the same, and XML
	FormatJSON     Format = 14 // the same, and JSON
	FormatUUID     Format = 15 // network byte order, as the next two
	FormatPort     Format = 16
	FormatIP       Format = 17
	formatOldIP    Format = 18 // decoded as FormatIP, never written
)

// Type is an encoding together with a format.
type Type uint16

// typeOf returns the type of an encoding and a format. Not every format fits every encoding. Binary and string8 take every format:
// with one of a fixed size they hold a value that may also be null.
func typeOf(e encoding, f Format) Type { return Type(f)<<8 | Type(e) }

// The types of the numbers of the Common Schema.
const (
	TypeInt16      = Type(FormatSigned)<<8 | Type(encValue16)
	TypeUnsigned32 = Type(FormatUnsigned)<<8 | Type(encValue32) // the format is written, although it is the default
)

const (
	typeStruct  = Type(encStruct)
	typeInt64   = Type(FormatSigned)<<8 | Type(encValue64)
	typeFloat64 = Type(FormatFloat)<<8 | Type(encValue64)
	typeBool    = Type(FormatBool)<<8 | Type(encValue8)
	typeString  = Type(encString8)
	typeJSON    = Type(FormatJSON)<<8 | Type(encString8)
	typeBytes   = Type(encBinary)
	typeNull    = Type(FormatSigned)<<8 | Type(encBinary)
)

func (t Type) encoding() encoding { return encoding(t & encodingMask) }

func (t Type) format() Format { return Format(t >> 8) }

// Sets of formats, as bits.
const (
	formatsInteger = 1<<FormatDefault | 1<<FormatUnsigned | 1<<FormatSigned | 1<<FormatHex | 1<<FormatHexBytes
	formatsText    = 1<<FormatDefault | 1<<FormatHexBytes | 1<<formatUTF | 1<<formatUTFBOM | 1<<formatXML | 1<<FormatJSON
	formatsWritten = 1<<formatOldIP - 1
)

var formatsOf = [maxEncoding + 1]uint32{
	encValue8:    formatsInteger | 1<<FormatBool | 1<<formatLatin1,
	encValue16:   formatsInteger | 1<<FormatBool | 1<<formatUTF | 1<<FormatPort,
	encValue32:   formatsInteger | 1<<FormatErrno | 1<<FormatPID | 1<<FormatTime | 1<<FormatBool | 1<<FormatFloat | 1<<formatUTF | 1<<FormatIP,
	encValue64:   formatsInteger | 1<<FormatTime | 1<<FormatFloat,
	encValue128:  1<<FormatDefault | 1<<FormatHexBytes | 1<<FormatUUID | 1<<FormatIP,
	encZString8:  formatsText | 1<<formatLatin1,
	encZString16: formatsText,
	encZString32: formatsText,
	encString8:   formatsWritten,
	encString16:  formatsText,
	encString32:  formatsText,
	encBinary:    formatsWritten,
}

// size returns the size in bytes of a value of the encoding, or 0 if it varies.
func (e encoding) size() int {
	switch e {
	case encValue8:
		return 1
	case encValue16:
		return 2
	case encValue32:
		return 4
	case encValue64:
		return 8
	case encValue128:
		return 16
	}
	return 0
}

// unit returns the size in bytes of a string's or binary's unit, or 0 for other encodings.
func (e encoding) unit() int {
	switch e {
	case encZString8, encString8, encBinary:
		return 1
	case encZString16, encString16:
		return 2
	case encZString32, encString32:
		return 4
	}
	return 0
}

// counted reports whether a 16-bit count precedes the value.
func (e encoding) counted() bool { return e >= encString8 && e <= encBinary }

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
