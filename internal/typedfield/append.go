package typedfield

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// The functions here write __data_loc fields, which have a location word in the fixed part and their
// bytes behind it. dst[start] is the first byte of the payload, dst[at] that of the
// location word. A payload must not become longer than MaxLimit: size and offset have 16 bits each.

// AppendString writes the whole of a __data_loc char[] field: s in the form that
// [text.Append] gives it, a NUL, and the location word. The bytes behind the fixed part take at most
// max bytes, with the NUL. It returns how many bytes of s were cut.
//
// An empty string adds nothing: [Layout.Begin] made the field empty.
func AppendString(dst []byte, start, at int, s string, max int) (out []byte, cut int) {
	if s == "" {
		return dst, 0
	}
	if begin, end := len(dst), len(dst)+len(s); len(s) < max && end < min(cap(dst), maxWord) {
		out = dst[:end+1]
		out[end] = 0
		putDataLoc(out, at, begin-start, len(s)+1)
		if chars.CopyPlain(out[:cap(out)], begin, s) {
			return out, 0
		}
	}
	return appendEscaped(dst, start, at, s, max)
}

// appendEscaped is AppendString for a string that has something to escape, that must be cut, or for which
// dst has no room.
func appendEscaped(dst []byte, start, at int, s string, max int) (out []byte, cut int) {
	begin := len(dst)
	if out, cut = text.Append(dst, s, max-1); len(out) == begin {
		putNoText(out, start, at)
		return out, cut
	}
	return EndText(out, start, at, begin), cut
}

// AppendHex writes the whole of a __data_loc char[] field that holds an id: its bytes as lower-case hex digits, a
// NUL, and the location word. These are 2*len(id)+1 bytes behind the fixed part, such as [TraceIDSize]. An id that
// is not set is best left alone: [Layout.Begin] made the field empty.
func AppendHex(dst []byte, start, at int, id []byte) []byte {
	begin, size := len(dst), 2*len(id)+1
	if size > cap(dst)-begin {
		dst = slices.Grow(dst, size)
	}
	dst = dst[:begin+size]
	putDataLoc(dst, at, begin-start, size)
	dst[begin+size-1] = 0
	switch field := dst[begin:]; {
	case len(id) == 16 && len(field) == TraceIDSize:
		put32Digits((*[32]byte)(field), (*[16]byte)(id))
	case len(id) == 8 && len(field) == SpanIDSize:
		put16Digits((*[16]byte)(field), (*[8]byte)(id))
	default:
		putHex(field, id)
	}
	return dst
}

// EndText ends a __data_loc char[] field whose text is dst[begin:]: it appends a
// NUL and writes the location word. The text is taken as it is; what it must not contain
// is told in package [text].
//
// A payload may be longer than [MaxLimit] until it is cut. The locations of texts that end beyond are then of no use, but
// not those of empty texts.
func EndText(dst []byte, start, at, begin int) []byte {
	dst = append(dst, 0)
	offset, size := begin-start, len(dst)-begin
	if len(dst)-start > MaxLimit {
		offset, size = min(offset, MaxLimit), min(size, maxWord)
	}
	putDataLoc(dst, at, offset, size)
	return dst
}

// EndArray ends a __data_loc field of integers whose elements, in host byte
// order, are dst[begin:]: it writes the location word.
func EndArray(dst []byte, start, at, begin int) {
	putDataLoc(dst, at, min(begin-start, MaxLimit), len(dst)-begin)
}

// putDataLoc writes a location word for size bytes at offset of a payload. The word counts from the start of the
// record, whose common fields are before the payload.
func putDataLoc(b []byte, at, offset, size int) {
	PutU32(b, at, uint32(size<<16+offset+tracepoint.CommonSize))
}

// putNoText writes the location word of an empty text, in a payload that starts at b[start]. The kernel demands a
// NUL at the end of a text, and reads before the record if the length is 0. So the text is one byte of
// the word itself: that of the length's higher half, which is 0.
func putNoText(b []byte, start, at int) { putDataLoc(b, at, at-start+lengthHigh, 1) }

const maxWord = 0xFFFF

// locSize is the size in bytes of a location word.
const locSize = 4

// lengthHigh is where the highest byte is in a word.
var lengthHigh = func() int {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return locSize - 1
	}
	return 0
}()

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

// Bytes that ids take as text behind the fixed part, with the NUL at the end.
const (
	TraceIDSize = 33 // of 16 bytes as hex digits
	SpanIDSize  = 17 // of 8 bytes
	uuidSize    = 37 // 8-4-4-4-12
)

// putHex writes id as lower-case hex digits to field, which has 2*len(id) bytes.
func putHex(field, id []byte) {
	for len(id) >= 4 && len(field) >= 8 {
		put8Digits((*[8]byte)(field), (*[4]byte)(id))
		id, field = id[4:], field[8:]
	}
	for len(id) > 0 && len(field) >= 2 {
		digits := hexDigits(uint32(id[0]))
		field[0], field[1] = byte(digits), byte(digits>>8)
		id, field = id[1:], field[2:]
	}
}

// put32Digits writes 16 bytes as hex digits, the others 8 and 4. Arrays spare all further checks.

func put32Digits(to *[32]byte, from *[16]byte) {
	put8Digits((*[8]byte)(to[:8]), (*[4]byte)(from[:4]))
	put8Digits((*[8]byte)(to[8:]), (*[4]byte)(from[4:]))
	put8Digits((*[8]byte)(to[16:]), (*[4]byte)(from[8:]))
	put8Digits((*[8]byte)(to[24:]), (*[4]byte)(from[12:]))
}

func put16Digits(to *[16]byte, from *[8]byte) {
	put8Digits((*[8]byte)(to[:8]), (*[4]byte)(from[:4]))
	put8Digits((*[8]byte)(to[8:]), (*[4]byte)(from[4:]))
}

func put8Digits(to *[8]byte, from *[4]byte) {
	binary.LittleEndian.PutUint64(to[:], hexDigits(binary.LittleEndian.Uint32(from[:])))
}

// hexDigits returns the eight digits of the bytes of v, the two of its lowest byte in the lowest bytes.
func hexDigits(v uint32) uint64 {
	x := uint64(v) // becomes one hex digit's value a byte
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x>>4 | x<<8) & (0x0F * chars.Ones)
	letters := (x + 6*chars.Ones) >> 4 & chars.Ones // 1 for a digit above 9
	return x + '0'*chars.Ones + letters*('a'-10-'0')
}

// putUUID writes id in the form 8-4-4-4-12 to field, which has 36 bytes.
func putUUID(field []byte, id [16]byte) {
	field = field[:uuidSize-1]
	putHex(field, id[:4])
	putHex(field[9:], id[4:6])
	putHex(field[14:], id[6:8])
	putHex(field[19:], id[8:10])
	putHex(field[24:], id[10:])
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
