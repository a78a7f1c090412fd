package eventheader

import (
	"math"
	"math/bits"
)

// Strings adds an array of texts in UTF-8.
func (e *Encoder) Strings(name string, v []string) {
	Texts(e, name, v, func(s string) string { return s })
}

// Texts adds an array of the texts that a function makes of the elements of v.
func Texts[T any](e *Encoder, name string, v []T, text func(T) string) {
	if !e.array(name, TypeString) {
		return
	}
	n := min(len(v), e.items)
	e.lost += len(v) - n
	e.items -= n
	e.data = e.order.append16(e.data, uint16(n))
	for _, x := range v[:n] {
		e.data = e.order.appendText(e.data, text(x), e.limit)
	}
}

// Ints adds an array of signed integers of the size that T has.
func Ints[T ~int | ~int8 | ~int16 | ~int32 | ~int64](e *Encoder, name string, v []T) {
	size := sizeOf[T]()
	for _, x := range v[:e.values(name, Type(FormatSigned)<<8|valueOf(size), len(v))] {
		e.data = e.order.appendNumber(e.data, size, uint64(x))
	}
}

// Uints adds an array of unsigned integers of the size that T has.
func Uints[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](e *Encoder, name string, v []T) {
	size := sizeOf[T]()
	for _, x := range v[:e.values(name, valueOf(size), len(v))] {
		e.data = e.order.appendNumber(e.data, size, uint64(x))
	}
}

// Floats adds an array of floating-point numbers of the size that T has.
func Floats[T ~float32 | ~float64](e *Encoder, name string, v []T) {
	const tiny = 1e-50 // is zero in 32 bits
	if T(tiny) == 0 {
		for _, x := range v[:e.values(name, TypeFloat32, len(v))] {
			e.data = e.order.append32(e.data, math.Float32bits(float32(x)))
		}
		return
	}
	for _, x := range v[:e.values(name, TypeFloat64, len(v))] {
		e.data = e.order.append64(e.data, math.Float64bits(float64(x)))
	}
}

// Bools adds an array of booleans.
func (e *Encoder) Bools(name string, v []bool) {
	for _, x := range v[:e.values(name, TypeBool, len(v))] {
		e.data = append(e.data, bit(x))
	}
}

// sizeOf returns the size of an integer in bytes.
func sizeOf[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64]() uint8 {
	size := uint8(0)
	for x := T(1); x != 0; x = x << 4 << 4 {
		size++
	}
	return size
}

// valueOf returns the encoding of integers of a size.
func valueOf(size uint8) Type {
	return Type(Value8) + Type(bits.Len8(size)-1)
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
	take = min(take, e.limit/t.Encoding().size())
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
