package eventheader

import (
	"math"
	"math/bits"

	"github.com/userevents/userevents-go/internal/chars"
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

// Bytes adds binary data.
func (e *Encoder) Bytes(name string, v []byte) { e.Data(name, TypeBytes, v) }

// Value adds a value of 8, 16, 32 or 64 bits with any format but
// [FormatHexBytes] and [FormatIP], which [Encoder.Data] adds. Its low bits are
// v; those of a float are its IEEE representation. A port is written in network order.
func (e *Encoder) Value(name string, t Type, v uint64) {
	size, f := t.Encoding().size(), t.Format()
	if !t.fits() || size == 0 || size > 8 || f == FormatHexBytes || f == FormatIP {
		e.refuse(name, t, "is not a number of 8 to 64 bits")
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

// Data adds bytes as they are, in network order: with [TypeBytes] any number of them, with Value128 16, with other values those
// of [FormatHexBytes] and [FormatIP], as many as the encoding has.
func (e *Encoder) Data(name string, t Type, v []byte) {
	size, f := t.Encoding().size(), t.Format()
	if !t.fits() || t != TypeBytes && (size == 0 || len(v) != size || size < 16 && f != FormatHexBytes && f != FormatIP) {
		e.refuse(name, t, "does not take these bytes")
		return
	}
	if !e.field(name, t) {
		return
	}
	v = v[:min(len(v), e.limit)]
	if t == TypeBytes {
		e.data = e.order.append16(e.data, uint16(len(v)))
	}
	e.data = append(e.data, v...)
}

// Null adds a null: a signed integer without bytes.
func (e *Encoder) Null(name string) {
	if e.field(name, typeNull) {
		e.data = e.order.append16(e.data, 0)
	}
}

func (e *Encoder) refuse(name string, t Type, problem string) {
	if e.err == nil {
		e.err = invalidf("field %q: type %v %s", name, t, problem)
	}
}
