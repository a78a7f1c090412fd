package typed

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"
)

// The Put functions write one field of the fixed part of a payload that [Layout.Begin] appended
// to a buffer. b[at] is the first byte of the field: at is the length that the
// buffer had before, plus the field's offset. They panic when b is too short, as indexing does.
// A slice of known length and capacity needs two comparisons, one that is open needs more.

// PutU8 writes a field of type u8, s8, char or unsigned char.
func PutU8(b []byte, at int, v uint8) { b[at] = v }

// PutU16 writes a field of type u16, s16, short or unsigned short in host byte order.
func PutU16(b []byte, at int, v uint16) { binary.NativeEndian.PutUint16(b[at:at+2:len(b)], v) }

// PutU32 writes a field of type u32, s32, int or unsigned int in host byte order.
func PutU32(b []byte, at int, v uint32) { binary.NativeEndian.PutUint32(b[at:at+4:len(b)], v) }

// PutU64 writes a field of type u64 or s64 in host byte order.
func PutU64(b []byte, at int, v uint64) { binary.NativeEndian.PutUint64(b[at:at+8:len(b)], v) }

// PutText writes s to a field of type char[size], as [AppendText] writes text,
// and fills the rest with NUL. It returns how many bytes of s were left out.
// A text may fill the field: consumers know its size.
func PutText(b []byte, at, size int, s string) (cut int) {
	field := within(b, at, size)
	out, cut := AppendText(field[:0], s, size)
	clear(field[len(out):])
	return cut
}

// within returns b[at:at+size], but does not reach for the capacity of b.
func within(b []byte, at, size int) []byte {
	return slices.Clip(b)[at : at+size : at+size]
}

// Sizes of fields that hold ids as text, with a NUL at the end. Without one, histograms lose
// the last character of a key, and filters find no pattern at the end.
const (
	TraceIDSize = 33 // of 16 bytes as hex digits
	SpanIDSize  = 17 // of 8 bytes
	UUIDSize    = 37 // 8-4-4-4-12
)

// PutHex writes id as lower-case hex digits to a field of type char[2*len(id)+1], such as
// char[33] for a trace id. A field that is left alone prints as an empty text, which is how
// to write an id that is not set.
func PutHex(b []byte, at int, id []byte) {
	field := within(b, at, 2*len(id))
	for len(id) >= 8 && len(field) >= 16 { // arrays spare all further checks
		from, to := (*[8]byte)(id), (*[16]byte)(field)
		binary.BigEndian.PutUint64(to[:8], hexDigits(binary.BigEndian.Uint32(from[:4])))
		binary.BigEndian.PutUint64(to[8:], hexDigits(binary.BigEndian.Uint32(from[4:])))
		id, field = id[8:], field[16:]
	}
	for len(id) > 0 && len(field) >= 2 {
		binary.BigEndian.PutUint16(field, uint16(hexDigits(uint32(id[0]))))
		id, field = id[1:], field[2:]
	}
}

// hexDigits returns the eight digits of v, the first one in the highest byte.
func hexDigits(v uint32) uint64 {
	x := uint64(v) // becomes one hex digit's value a byte
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & (0x0F * ones)
	letters := (x + 6*ones) >> 4 & ones // 1 for a digit above 9
	return x + '0'*ones + letters*('a'-10-'0')
}

// PutUUID writes id in the form 8-4-4-4-12 to a field of type char[37].
func PutUUID(b []byte, at int, id [16]byte) {
	field := within(b, at, UUIDSize-1)
	PutHex(field, 0, id[:4])
	PutHex(field, 9, id[4:6])
	PutHex(field, 14, id[6:8])
	PutHex(field, 19, id[8:10])
	PutHex(field, 24, id[10:])
	for _, i := range [...]int{8, 13, 18, 23} {
		field[i] = '-'
	}
}

// Bool returns the value of a bool in a field of type u8: 1 or 0.
func Bool(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

// UnixNano returns the value of a time in a field of type u64: nanoseconds
// since 1970. It is 0 for the zero time and all times before 1970, and
// the largest value for times after July 2554.
func UnixNano(t time.Time) uint64 {
	const last = math.MaxUint64/uint64(time.Second) - 1
	switch s := t.Unix(); {
	case s < 0:
		return 0
	case uint64(s) > last:
		return math.MaxUint64
	default:
		return uint64(s)*uint64(time.Second) + uint64(t.Nanosecond())
	}
}

// Scale returns the value of a floating-point number in a field of type s64: v times
// scale, rounded to the nearest integer. It is cut at the ends of the range, and
// the smallest s64 for a NaN.
func Scale(v, scale float64) int64 {
	switch v = math.Round(v * scale); {
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v > math.MinInt64:
		return int64(v)
	}
	return math.MinInt64
}

// AppendFloat appends the shortest text that stands for v, such as 0.25, 1e+21 or NaN.
func AppendFloat(dst []byte, v float64) []byte { return appendFloat(dst, v, 64) }

func appendFloat(dst []byte, v float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e' // as package encoding/json does
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}
