package otlp

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// wire writes protobuf. Methods append a field by its number, which is less than 16 for all that metrics need, so that
// tags have one byte. A method called put writes its value in any case; the others omit protobuf's default values.
// A message of more than limit bytes is not written to its end: it fits no event.
type wire struct {
	buf   []byte
	limit int // of buf
}

// Wire types of protobuf.
const (
	typeVarint  = 0
	typeFixed64 = 1
	typeBytes   = 2
)

// full reports whether the limit is exceeded.
func (w *wire) full() bool { return len(w.buf) > w.limit }

// message begins a message. It returns where its contents begin, which close takes.
func (w *wire) message(field byte) (at int) {
	w.buf = append(w.buf, field<<3|typeBytes, 0)
	return len(w.buf)
}

// close ends a message: it writes the length, which has one byte mostly. Others move the contents.
func (w *wire) close(at int) {
	n := len(w.buf) - at
	if n < 1<<7 {
		w.buf[at-1] = byte(n)
		return
	}
	var length [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(length[:], uint64(n))
	w.buf = append(w.buf, length[:size-1]...) // for room
	copy(w.buf[at-1+size:], w.buf[at:at+n])
	copy(w.buf[at-1:], length[:size])
}

// lengthSize returns how many bytes the length of a message takes.
func lengthSize(n int) (size int) {
	for size = 1; n >= 1<<7; size++ {
		n >>= 7
	}
	return size
}

func (w *wire) putUvarint(field byte, v uint64) {
	w.buf = binary.AppendUvarint(append(w.buf, field<<3|typeVarint), v)
}

func (w *wire) uvarint(field byte, v uint64) {
	if v != 0 {
		w.putUvarint(field, v)
	}
}

// zigzag writes a field of type sint32.
func (w *wire) zigzag(field byte, v int32) { w.uvarint(field, uint64(uint32(v<<1)^uint32(v>>31))) }

func (w *wire) putFixed64(field byte, v uint64) {
	w.buf = binary.LittleEndian.AppendUint64(append(w.buf, field<<3|typeFixed64), v)
}

func (w *wire) fixed64(field byte, v uint64) {
	if v != 0 {
		w.putFixed64(field, v)
	}
}

func (w *wire) putDouble(field byte, v float64) { w.putFixed64(field, math.Float64bits(v)) }

// double omits 0, but not -0.
func (w *wire) double(field byte, v float64) { w.fixed64(field, math.Float64bits(v)) }

// putBytes writes bytes or a text, as much of it as shows that it is too long.
func putBytes[T string | []byte](w *wire, field byte, v T) {
	v = v[:min(len(v), w.limit+1)]
	w.buf = binary.AppendUvarint(append(w.buf, field<<3|typeBytes), uint64(len(v)))
	w.buf = append(w.buf, v...)
}

// text writes a text. Bytes that are not UTF-8, with which decoders would refuse the whole request, become U+FFFD.
func (w *wire) text(field byte, s string) {
	if s == "" {
		return
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	putBytes(w, field, s)
}

// packed begins a list of n numbers of 64 bits, and returns the room for them: as many as show that the list is too long.
func (w *wire) packed(field byte, n int) (numbers []byte) {
	size := 8 * min(n, w.limit/8+1)
	w.buf = binary.AppendUvarint(append(w.buf, field<<3|typeBytes), uint64(size))
	w.buf = slices.Grow(w.buf, size)[:len(w.buf)+size]
	return w.buf[len(w.buf)-size:]
}

func (w *wire) packedFixed64(field byte, list []uint64) {
	if len(list) == 0 {
		return
	}
	numbers := w.packed(field, len(list))
	for i := 0; i < len(numbers)/8; i++ {
		binary.LittleEndian.PutUint64(numbers[8*i:], list[i])
	}
}

func (w *wire) packedDouble(field byte, list []float64) {
	if len(list) == 0 {
		return
	}
	numbers := w.packed(field, len(list))
	for i := 0; i < len(numbers)/8; i++ {
		binary.LittleEndian.PutUint64(numbers[8*i:], math.Float64bits(list[i]))
	}
}

// packedUvarint writes a list of numbers of variable size.
func (w *wire) packedUvarint(field byte, list []uint64) {
	if len(list) == 0 {
		return
	}
	at := w.message(field)
	for _, v := range list[:min(len(list), w.limit+1)] {
		w.buf = binary.AppendUvarint(w.buf, v)
	}
	w.close(at)
}
