package typedfield

import (
	"encoding/binary"
	"slices"

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

// maxWord is the largest size or offset that a location word holds.
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
