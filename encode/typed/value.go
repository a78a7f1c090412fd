package typed

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// Kind says what a [Value] is.
type Kind uint8

// The kinds of values.
const (
	KindInvalid Kind = iota // the zero Value
	KindInt                 // a signed integer
	KindUint                // an unsigned integer
	KindText                // an array of char or unsigned char
	KindArray               // an array of other integers
	KindBytes               // a structure, of which only the size is known
)

var kindNames = [...]string{"invalid", "int", "uint", "text", "array", "bytes"}

// String returns the kind's name, such as "int".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[KindInvalid]
}

// Value is the value of one field of a record. It refers to the bytes of the
// record: it is good for as long as these do not change.
type Value struct {
	kind  Kind
	elem  tracepoint.Kind // of an array
	order binary.ByteOrder
	num   uint64 // sign-extended
	data  []byte
}

// Kind returns what the value is.
func (v Value) Kind() Kind { return v.kind }

// Int64 returns an integer. One of KindUint above [math.MaxInt64] comes out
// negative. It is 0 for other kinds.
func (v Value) Int64() int64 { return int64(v.num) }

// Uint64 returns an integer. One of KindInt below zero comes out above
// [math.MaxInt64]. It is 0 for other kinds.
func (v Value) Uint64() uint64 { return v.num }

// Text returns a text up to its first NUL, which is where every consumer stops. [text.Unescape]
// reverses the escapes of this module. The bytes are those of the record and need not be valid UTF-8, or printable,
// if another program wrote it. It is empty for other kinds.
func (v Value) Text() string {
	if v.kind != KindText {
		return ""
	}
	return string(v.data)
}

// Bytes returns the bytes of a text up to its first NUL, and all bytes of an array or a
// structure as they are in the record, which they are a part of. It is nil for integers.
func (v Value) Bytes() []byte { return v.data }

// Len returns the number of elements of an array, and 0 for other kinds.
func (v Value) Len() int {
	if v.kind != KindArray {
		return 0
	}
	return len(v.data) / v.elem.Size()
}

// At returns an element of an array, which is an integer, or the zero Value if there
// is no such element.
func (v Value) At(i int) Value {
	if i < 0 || i >= v.Len() {
		return Value{}
	}
	size := v.elem.Size()
	return integer(v.elem, v.order, v.data[i*size:(i+1)*size])
}

// String returns the value as [Value.AppendTo] prints it.
func (v Value) String() string { return string(v.AppendTo(nil)) }

// AppendTo appends the value as text: an integer in decimal, a text as
// [text.AppendPrintable] prints it, an array as {1,2,3}, a structure as its bytes in hex, 01,02,ff.
func (v Value) AppendTo(dst []byte) []byte {
	switch v.kind {
	case KindInt:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case KindUint:
		return strconv.AppendUint(dst, v.num, 10)
	case KindText:
		dst = text.AppendPrintable(dst, string(v.data))
	case KindArray:
		dst = append(dst, '{')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.At(i).AppendTo(dst)
		}
		dst = append(dst, '}')
	case KindBytes:
		for i := range v.data {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = hex.AppendEncode(dst, v.data[i:i+1])
		}
	}
	return dst
}

// integer returns the value of an integer of the kind, whose bytes data are.
func integer(kind tracepoint.Kind, order binary.ByteOrder, data []byte) Value {
	v := Value{kind: KindUint, num: unsigned(order, data)}
	if kind.Signed() {
		v.kind = KindInt
		unused := 64 - 8*kind.Size()
		v.num = uint64(int64(v.num<<unused) >> unused)
	}
	return v
}

// unsigned returns the unsigned integer of 1, 2, 4 or 8 bytes.
func unsigned(order binary.ByteOrder, b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	default:
		return order.Uint64(b)
	}
}

// upToNUL returns data up to its first NUL.
func upToNUL(data []byte) []byte {
	n := len(data) - 1
	if n >= 0 && data[n] == 0 {
		data = data[:n] // most texts have one, at their end
	}
	if n = bytes.IndexByte(data, 0); n >= 0 {
		return data[:n]
	}
	return data
}
