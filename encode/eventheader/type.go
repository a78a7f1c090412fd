package eventheader

import "strconv"

// Encoding says how many bytes a value has and where it ends.
type Encoding uint8

// The encodings. Values of 8 to 128 bits have that size; a ZString ends in a zero
// unit; the others begin with a 16-bit count of units. Prefer counted strings: decoders
// disagree about a ZString that lacks its end.
const (
	Struct    Encoding = 1
	Value8    Encoding = 2
	Value16   Encoding = 3
	Value32   Encoding = 4
	Value64   Encoding = 5
	Value128  Encoding = 6
	ZString8  Encoding = 7 // units of 8 bits
	ZString16 Encoding = 8
	ZString32 Encoding = 9
	String8   Encoding = 10
	String16  Encoding = 11
	String32  Encoding = 12
	Binary    Encoding = 13
)

// Bits of an encoding byte and of a format byte.
const (
	encodingMask  = 0x1f
	flagFixed     = 0x20 // an array whose count is in the metadata
	flagVariable  = 0x40 // an array whose count precedes its elements
	flagArray     = flagFixed | flagVariable
	chainFlag     = 0x80 // encoding: a format follows; format: a tag follows
	formatMask    = 0x7f
	maxEncoding   = Binary
	maxStructSize = 127 // children, since they are counted in a format's bits
)

// Format says what a value means. Decoders ignore a format that does not fit the encoding.
type Format uint8

// The formats. The default is unsigned for values up to 64 bits, hexadecimal bytes
// for Value128 and Binary, and UTF for strings.
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
	FormatLatin1   Format = 10 // text of one byte per character
	FormatUTF      Format = 11 // UTF-8, UTF-16 or UTF-32, by the size of a unit
	FormatUTFBOM   Format = 12 // UTF that may begin with a byte order mark
	FormatXML      Format = 13 // the same, and XML
	FormatJSON     Format = 14 // the same, and JSON
	FormatUUID     Format = 15 // network byte order, as the next two
	FormatPort     Format = 16
	FormatIP       Format = 17
	formatOldIP    Format = 18 // decoded as FormatIP, never written
)

// Type is an encoding together with a format.
type Type uint16

// TypeOf returns the type of an encoding and a format. Not every format fits every
// encoding; what does not fit is refused where the type is used. Binary and String8 take every format:
// with one of a fixed size they hold a value that may also be null.
func TypeOf(e Encoding, f Format) Type { return Type(f)<<8 | Type(e) }

// The types that programs mostly need.
const (
	TypeStruct  = Type(Struct)
	TypeUint8   = Type(Value8)
	TypeUint16  = Type(Value16)
	TypeUint32  = Type(Value32)
	TypeUint64  = Type(Value64)
	TypeInt8    = Type(FormatSigned)<<8 | Type(Value8)
	TypeInt16   = Type(FormatSigned)<<8 | Type(Value16)
	TypeInt32   = Type(FormatSigned)<<8 | Type(Value32)
	TypeInt64   = Type(FormatSigned)<<8 | Type(Value64)
	TypeHex64   = Type(FormatHex)<<8 | Type(Value64)
	TypeFloat32 = Type(FormatFloat)<<8 | Type(Value32)
	TypeFloat64 = Type(FormatFloat)<<8 | Type(Value64)
	TypeBool    = Type(FormatBool)<<8 | Type(Value8)
	TypeTime    = Type(FormatTime)<<8 | Type(Value64)
	TypeErrno   = Type(FormatErrno)<<8 | Type(Value32)
	TypePID     = Type(FormatPID)<<8 | Type(Value32)
	TypePort    = Type(FormatPort)<<8 | Type(Value16)
	TypeIPv4    = Type(FormatIP)<<8 | Type(Value32)
	TypeIPv6    = Type(FormatIP)<<8 | Type(Value128)
	TypeUUID    = Type(FormatUUID)<<8 | Type(Value128)
	TypeString  = Type(String8)
	TypeJSON    = Type(FormatJSON)<<8 | Type(String8)
	TypeBytes   = Type(Binary)

	typeNull = Type(FormatSigned)<<8 | Type(Binary)
)

// Encoding returns the type's encoding.
func (t Type) Encoding() Encoding { return Encoding(t & encodingMask) }

// Format returns the type's format.
func (t Type) Format() Format { return Format(t >> 8) }

var encodingNames = [...]string{
	Struct: "struct", Value8: "value8", Value16: "value16", Value32: "value32", Value64: "value64", Value128: "value128",
	ZString8: "zstring8", ZString16: "zstring16", ZString32: "zstring32",
	String8: "string8", String16: "string16", String32: "string32", Binary: "binary",
}

var formatNames = [...]string{
	FormatDefault: "default", FormatUnsigned: "unsigned", FormatSigned: "signed", FormatHex: "hex", FormatErrno: "errno",
	FormatPID: "pid", FormatTime: "time", FormatBool: "bool", FormatFloat: "float", FormatHexBytes: "hexbytes",
	FormatLatin1: "latin1", FormatUTF: "utf", FormatUTFBOM: "utfbom", FormatXML: "xml", FormatJSON: "json",
	FormatUUID: "uuid", FormatPort: "port", FormatIP: "ip", formatOldIP: "oldip",
}

// String returns the encoding's name and, unless it is the default, the format's: "value64 signed".
func (t Type) String() string {
	s := "encoding " + strconv.Itoa(int(t.Encoding()))
	if e := t.Encoding(); e > 0 && e <= maxEncoding {
		s = encodingNames[e]
	}
	switch f := t.Format(); {
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
	formatsText    = 1<<FormatDefault | 1<<FormatHexBytes | 1<<FormatUTF | 1<<FormatUTFBOM | 1<<FormatXML | 1<<FormatJSON
	formatsWritten = 1<<formatOldIP - 1
)

// formatsOf says which formats fit an encoding.
var formatsOf = [maxEncoding + 1]uint32{
	Value8:    formatsInteger | 1<<FormatBool | 1<<FormatLatin1,
	Value16:   formatsInteger | 1<<FormatBool | 1<<FormatUTF | 1<<FormatPort,
	Value32:   formatsInteger | 1<<FormatErrno | 1<<FormatPID | 1<<FormatTime | 1<<FormatBool | 1<<FormatFloat | 1<<FormatUTF | 1<<FormatIP,
	Value64:   formatsInteger | 1<<FormatTime | 1<<FormatFloat,
	Value128:  1<<FormatDefault | 1<<FormatHexBytes | 1<<FormatUUID | 1<<FormatIP,
	ZString8:  formatsText | 1<<FormatLatin1,
	ZString16: formatsText,
	ZString32: formatsText,
	String8:   formatsWritten,
	String16:  formatsText,
	String32:  formatsText,
	Binary:    formatsWritten,
}

// fits reports whether the type is a value's, with a format that belongs to its encoding.
func (t Type) fits() bool {
	e, f := t.Encoding(), t.Format()
	return Type(e)|Type(f)<<8 == t && e <= maxEncoding && f < formatOldIP && formatsOf[e]&(1<<f) != 0
}

// size returns the size in bytes of a value of the encoding, or 0 if it varies.
func (e Encoding) size() int {
	switch e {
	case Value8:
		return 1
	case Value16:
		return 2
	case Value32:
		return 4
	case Value64:
		return 8
	case Value128:
		return 16
	}
	return 0
}

// unit returns the size in bytes of a string's or binary's unit, or 0 for other encodings.
func (e Encoding) unit() int {
	switch e {
	case ZString8, String8, Binary:
		return 1
	case ZString16, String16:
		return 2
	case ZString32, String32:
		return 4
	}
	return 0
}

// counted reports whether a 16-bit count precedes the value.
func (e Encoding) counted() bool { return e >= String8 && e <= Binary }
