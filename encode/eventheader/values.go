package eventheader

import (
	"math"
	"math/bits"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
)

// Int64 adds a signed integer of 64 bits.
func (e *Encoder) Int64(name string, v int64) {
	e.put(name, typeInt64.kind(), uint64(v), 8)
}

// Float64 adds a floating-point number of 64 bits.
func (e *Encoder) Float64(name string, v float64) {
	e.put(name, typeFloat64.kind(), math.Float64bits(v), 8)
}

// Bool adds a boolean of 8 bits.
func (e *Encoder) Bool(name string, v bool) {
	e.put(name, typeBool.kind(), uint64(bit(v))*chars.Ones, 1) // it is the first byte in each byte order
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// Bytes adds binary data.
func (e *Encoder) Bytes(name string, v []byte) {
	if e.field(name, typeBytes) {
		v = v[:min(len(v), e.limit)]
		e.data = append(e.order.append16(e.data, uint16(len(v))), v...)
	}
}

// Value adds a value of 8, 16, 32 or 64 bits with any format but [FormatHexBytes] and [FormatIP]. Its low bits are
// v; those of a float are its IEEE representation. A port is written in network order.
func (e *Encoder) Value(name string, t Type, v uint64) {
	size, f := t.encoding().size(), t.format()
	if !t.fits() || size == 0 || size > 8 || f == FormatHexBytes || f == FormatIP {
		if e.err == nil {
			e.err = invalidf("field %q: type %v is not a number of 8 to 64 bits", name, t)
		}
		return
	}
	little := bool(e.order) != hostLittle
	if f == FormatPort && little {
		v = uint64(bits.ReverseBytes16(uint16(v)))
	}
	if !little { // the first bytes are the high ones
		v <<= 64 - 8*size
	}
	e.put(name, t.kind(), v, size)
}

// Null adds a null: a signed integer without bytes.
func (e *Encoder) Null(name string) {
	if e.field(name, typeNull) {
		e.data = e.order.append16(e.data, 0)
	}
}

// Strings adds an array of texts in UTF-8.
func (e *Encoder) Strings(name string, v []string) {
	if !e.array(name, typeString) {
		return
	}
	n := min(len(v), e.items)
	e.lost += len(v) - n
	e.items -= n
	e.data = e.order.append16(e.data, uint16(n))
	for _, x := range v[:n] {
		e.data = e.order.appendText(e.data, x, e.limit)
	}
}

// Ints adds an array of signed integers of the size that T has.
func Ints[T ~int | ~int8 | ~int16 | ~int32 | ~int64](e *Encoder, name string, v []T) {
	size := sizeOf[T]()
	for _, x := range v[:e.values(name, Type(FormatSigned)<<8|valueOf(size), len(v))] {
		e.data = e.order.appendNumber(e.data, size, uint64(x))
	}
}

// Floats adds an array of floating-point numbers of the size that T has.
func Floats[T ~float32 | ~float64](e *Encoder, name string, v []T) {
	const tiny = 1e-50 // is zero in 32 bits
	if T(tiny) == 0 {
		for _, x := range v[:e.values(name, typeFloat32, len(v))] {
			e.data = e.order.append32(e.data, math.Float32bits(float32(x)))
		}
		return
	}
	for _, x := range v[:e.values(name, typeFloat64, len(v))] {
		e.data = e.order.append64(e.data, math.Float64bits(float64(x)))
	}
}

// Bools adds an array of booleans.
func (e *Encoder) Bools(name string, v []bool) {
	for _, x := range v[:e.values(name, typeBool, len(v))] {
		e.data = append(e.data, bit(x))
	}
}

// sizeOf returns the size of an integer in bytes.
func sizeOf[T ~int | ~int8 | ~int16 | ~int32 | ~int64]() uint8 {
	size := uint8(0)
	for x := T(1); x != 0; x = x << 4 << 4 {
		size++
	}
	return size
}

// valueOf returns the encoding of integers of a size.
func valueOf(size uint8) Type {
	return Type(encValue8) + Type(bits.Len8(size)-1)
}

// values begins an array of n values of a fixed size and returns how many of them to append.
func (e *Encoder) values(name string, t Type, n int) int {
	if !e.array(name, t) {
		return 0
	}
	take := min(n, e.items)
	if take < n {
		e.lost++
	}
	e.items -= take
	// End cuts what goes beyond the limit, and counts it.
	take = min(take, e.limit/t.encoding().size())
	e.data = e.order.append16(e.data, uint16(take))
	return take
}

// array begins an array of variable count.
func (e *Encoder) array(name string, t Type) bool {
	if e.items == 0 && e.skipped == 0 {
		e.lost++
		return false
	}
	if !e.field(name, t|flagVariable) {
		return false
	}
	e.items-- // its end is one more item
	return true
}

// beyond is how much more of a text is written than the limit of the event, so that fit notices that it is too long.
const beyond = 8

// String adds a text in UTF-8, escaped as package text says.
func (e *Encoder) String(name, v string) {
	const each = 0x0001_0001_0001_0001 // the length is the first two bytes in each byte order
	if !e.put(name, typeString.kind(), uint64(len(v))*each, 2) {
		return
	}
	at := len(e.data)
	if len(v) <= e.limit && chars.CopyPlain(e.data[:cap(e.data)], at, v) {
		e.data = e.data[:at+len(v)]
		return
	}
	e.data = e.order.appendText(e.data[:at-2], v, e.limit)
}

// appendText appends a text with its count. It stops once more than limit bytes are written, but does not call that a cut: the
// event will be too large then, and fit cuts it.
func (o order) appendText(dst []byte, v string, limit int) []byte {
	at := len(dst)
	dst, _ = text.Append(append(dst, 0, 0), v, limit+beyond)
	o.put16(dst[at:], uint16(len(dst)-at-2))
	return dst
}

// JSON adds a text that is JSON, with what is not printable escaped in JSON's notation. If it is cut, it becomes plain text.
func (e *Encoder) JSON(name, v string) {
	if !e.field(name, typeJSON) {
		return
	}
	at := len(e.data)
	e.data = chars.SanitizeJSON(append(e.data, 0, 0), v, e.limit+beyond)
	e.order.put16(e.data[at:], uint16(len(e.data)-at-2))
}
