package eventheader

import "strconv"

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
	typeFloat32 = Type(FormatFloat)<<8 | Type(encValue32)
	typeFloat64 = Type(FormatFloat)<<8 | Type(encValue64)
	typeBool    = Type(FormatBool)<<8 | Type(encValue8)
	typeString  = Type(encString8)
	typeJSON    = Type(FormatJSON)<<8 | Type(encString8)
	typeBytes   = Type(encBinary)
	typeNull    = Type(FormatSigned)<<8 | Type(encBinary)
)

// encoding returns the type's encoding.
func (t Type) encoding() encoding { return encoding(t & encodingMask) }

// format returns the type's format.
func (t Type) format() Format { return Format(t >> 8) }

var encodingNames = [...]string{
	encStruct: "struct", encValue8: "value8", encValue16: "value16", encValue32: "value32", encValue64: "value64", encValue128: "value128",
	encZString8: "zstring8", encZString16: "zstring16", encZString32: "zstring32",
	encString8: "string8", encString16: "string16", encString32: "string32", encBinary: "binary",
}

var formatNames = [...]string{
	FormatDefault: "default", FormatUnsigned: "unsigned", FormatSigned: "signed", FormatHex: "hex", FormatErrno: "errno",
	FormatPID: "pid", FormatTime: "time", FormatBool: "bool", FormatFloat: "float", FormatHexBytes: "hexbytes",
	formatLatin1: "latin1", formatUTF: "utf", formatUTFBOM: "utfbom", formatXML: "xml", FormatJSON: "json",
	FormatUUID: "uuid", FormatPort: "port", FormatIP: "ip", formatOldIP: "oldip",
}

// String returns the encoding's name and, unless it is the default, the format's: "value64 signed".
func (t Type) String() string {
	s := "encoding " + strconv.Itoa(int(t.encoding()))
	if e := t.encoding(); e > 0 && e <= maxEncoding {
		s = encodingNames[e]
	}
	switch f := t.format(); {
	case f == FormatDefault:
		return s
	case int(f) < len(formatNames):
		return s + " " + formatNames[f]
	default:
		return s + " format " + strconv.Itoa(int(f))
	}
}

// Sets of formats, as bits.
const (
	formatsInteger = 1<<FormatDefault | 1<<FormatUnsigned | 1<<FormatSigned | 1<<FormatHex | 1<<FormatHexBytes
	formatsText    = 1<<FormatDefault | 1<<FormatHexBytes | 1<<formatUTF | 1<<formatUTFBOM | 1<<formatXML | 1<<FormatJSON
	formatsWritten = 1<<formatOldIP - 1
)

// formatsOf says which formats fit an encoding.
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

// fits reports whether the type is a value's, with a format that belongs to its encoding.
func (t Type) fits() bool {
	e, f := t.encoding(), t.format()
	return Type(e)|Type(f)<<8 == t && e <= maxEncoding && f < formatOldIP && formatsOf[e]&(1<<f) != 0
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
