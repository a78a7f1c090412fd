package eventheader

import (
	"math"

	"github.com/userevents/userevents-go/encode/internal/chars"
)

// Uint64 adds an unsigned integer of 64 bits.
func (e *Encoder) Uint64(name string, v uint64) {
	e.put(name, TypeUint64.kind(), v, 8)
}

// Int64 adds a signed integer of 64 bits.
func (e *Encoder) Int64(name string, v int64) {
	e.put(name, TypeInt64.kind(), uint64(v), 8)
}

// Float64 adds a floating-point number of 64 bits.
func (e *Encoder) Float64(name string, v float64) {
	e.put(name, TypeFloat64.kind(), math.Float64bits(v), 8)
}

// Bool adds a boolean of 8 bits.
func (e *Encoder) Bool(name string, v bool) {
	e.put(name, TypeBool.kind(), uint64(bit(v))*chars.Ones, 1) // it is the first byte in each byte order
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// String adds a text in UTF-8, escaped as package text says.
func (e *Encoder) String(name, v string) {
	const each = 0x0001_0001_0001_0001 // the length is the first two bytes in each byte order
	if !e.put(name, TypeString.kind(), uint64(len(v))*each, 2) {
		return
	}
	at := len(e.data)
	if len(v) <= e.limit && chars.CopyPlain(e.data[:cap(e.data)], at, v) {
		e.data = e.data[:at+len(v)]
		return
	}
	e.data, _ = e.order.appendText(e.data[:at-2], TypeString, v, e.limit)
}

// Identifier is String for a text of which a part would be wrong, such as an id or a time. It is never cut, and dropped
// only where numbers are dropped, too.
func (e *Encoder) Identifier(name, v string) {
	begin := len(e.data) + 2 // behind the length
	if e.String(name, v); len(e.data) > begin {
		e.identifiers = append(e.identifiers, begin)
	}
}

// Bytes adds binary data.
func (e *Encoder) Bytes(name string, v []byte) { e.Data(name, TypeBytes, v) }

// Value adds a value of 8, 16, 32 or 64 bits with any format but
// [FormatHexBytes] and [FormatIP], which [Encoder.Data] adds. Its low bits are
// v; those of a float are its IEEE representation. A port is written in network order.
func (e *Encoder) Value(name string, t Type, v uint64) {
	if !t.isNumber() {
		e.refuse(name, t, "is not a number of 8 to 64 bits")
		return
	}
	if f := t.Format(); f == FormatUTF || f == FormatPort {
		if e.field(name, t) {
			e.data = e.order.appendValue(e.data, t, v)
		}
		return
	}
	size := t.Encoding().size()
	if bool(e.order) == hostLittle { // in big-endian order the first bytes are the high ones
		v <<= 64 - 8*size
	}
	e.put(name, t.kind(), v, size)
}

// Text adds a text with any encoding of text or with Binary, and with the default
// format, [FormatHexBytes] or one of the formats of text. It is given in UTF-8
// and written in the encoding's. Characters that Latin-1 lacks become question
// marks. Zero-terminated bytes are cut at their first NUL.
func (e *Encoder) Text(name string, t Type, v string) {
	if !t.isText() {
		e.refuse(name, t, "is not a type of text")
		return
	}
	if !e.field(name, t) {
		return
	}
	var whole bool
	if e.data, whole = e.order.appendText(e.data, t, v, e.limit); !whole {
		e.lost++
	}
}

// Data adds bytes as they are: with Binary the default format, with Binary and
// String8 any format but those of text, with Value128 any, with other values
// [FormatHexBytes] and [FormatIP]. The length must be that of the encoding and of
// the format. UUIDs, ports and addresses are in network order.
func (e *Encoder) Data(name string, t Type, v []byte) {
	if !t.takesBytes(len(v)) {
		e.refuse(name, t, "does not take these bytes")
		return
	}
	if !e.field(name, t) {
		return
	}
	v = v[:min(len(v), e.limit)]
	if t.Encoding().counted() {
		e.data = e.order.append16(e.data, uint16(len(v)))
	}
	e.data = append(e.data, v...)
}

// Null adds a null. The type must be Binary or String8 with a format of fixed
// size, such as TypeOf(Binary, FormatSigned).
func (e *Encoder) Null(name string, t Type) {
	if !t.nullable() {
		e.refuse(name, t, "has no null")
		return
	}
	if e.field(name, t) {
		e.data = e.order.append16(e.data, 0)
	}
}

func (e *Encoder) refuse(name string, t Type, problem string) {
	if e.err == nil {
		e.err = invalidf("field %q: type %v %s", name, t, problem)
	}
}
