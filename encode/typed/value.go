package typed

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strconv"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// Record is a decoded record. It refers to the bytes that it was decoded from: it is good
// for as long as these do not change.
type Record struct {
	decoder *Decoder
	data    []byte
}

// Event returns the name of the event.
func (r Record) Event() string {
	if r.decoder == nil {
		return ""
	}
	return r.decoder.event
}

// Len returns the number of fields, without the common ones.
func (r Record) Len() int { return len(r.fields()) }

// Field returns the name and value of field i, counted from 0. It panics if i is not below Len.
func (r Record) Field(i int) (name string, v Value) {
	f := &r.fields()[i]
	return f.name, r.decoder.value(f, r.data)
}

// All returns the names and values of all fields, without the common ones, in order.
func (r Record) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range r.Len() {
			if !yield(r.Field(i)) {
				return
			}
		}
	}
}

// Lookup returns the value of the field with the name. With a decoder made by
// [NewFormatDecoder] it finds common fields as well, such as common_pid, the thread
// that wrote the record.
func (r Record) Lookup(name string) (v Value, found bool) {
	if r.decoder == nil {
		return Value{}, false
	}
	for i := range r.decoder.fields {
		if f := &r.decoder.fields[i]; f.name == name {
			return r.decoder.value(f, r.data), true
		}
	}
	return Value{}, false
}

func (r Record) fields() []decoderField {
	if r.decoder == nil {
		return nil
	}
	return r.decoder.own
}

// String returns the record as one line of text without a newline:
//
//	myapp_http_request: method=GET route=/users status=200 latency_ns=1500
//
// This is what perf script and trace-cmd report print, which follow the event's
// print format, and with the exceptions in the package comment. The
// text is always valid UTF-8 without control characters.
func (r Record) String() string {
	dst := append(text.AppendPrintable(nil, r.Event()), ':')
	for name, v := range r.All() {
		dst = append(dst, ' ')
		dst = append(text.AppendPrintable(dst, name), '=')
		dst = v.AppendTo(dst)
	}
	return string(dst)
}

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
