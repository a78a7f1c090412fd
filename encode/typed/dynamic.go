package typed

import "github.com/userevents/userevents-go/tracepoint"

// The functions here write fields that have a location word in the fixed part,
// and their bytes behind it. dst[at] is the first byte of the location word. A payload
// must not become longer than MaxLimit: size and offset have 16 bits each.

// AppendString writes the whole of a __rel_loc char[] field: s in the form that
// [AppendText] describes, a NUL, and the location word. The bytes behind the fixed part take at most
// max bytes, with the NUL. It returns how many bytes of s were left out.
//
// An empty string adds nothing: [Layout.Begin] made the field empty.
func AppendString(dst []byte, at int, s string, max int) (out []byte, cut int) {
	begin, end := len(dst), len(dst)+len(s)
	if out = dst[:cap(dst)]; 0 < len(s) && len(s) < max && end < len(out) && copyPrintable(out, begin, s) {
		out[end] = 0
		putRelLoc(out, at, begin, len(s)+1)
		return out[:end+1], 0
	}
	if out, cut = AppendText(dst, s, max-1); len(out) == begin {
		return out, cut
	}
	return EndText(out, at, begin), cut
}

// EndText ends a __rel_loc char[] field whose text is dst[begin:]: it appends a
// NUL and writes the location word. The text is taken as it is; what it must not contain
// is told at [AppendText].
func EndText(dst []byte, at, begin int) []byte {
	dst = append(dst, 0)
	putRelLoc(dst, at, begin, len(dst)-begin)
	return dst
}

// EndArray ends a __rel_loc field of integers whose elements, in host byte
// order, are dst[begin:]: it writes the location word.
func EndArray(dst []byte, at, begin int) {
	putRelLoc(dst, at, begin, len(dst)-begin)
}

// PutDataLoc writes the location word of a __data_loc field whose bytes are
// dst[begin:] of a payload that starts at dst[start]. Text must end in NUL. The
// type exists for compatibility: prefer __rel_loc, which more consumers read.
func PutDataLoc(dst []byte, at, start, begin int) {
	putLoc(dst, at, begin-start+tracepoint.CommonSize, len(dst)-begin)
}

// putRelLoc writes a location word that counts from its own end.
func putRelLoc(b []byte, at, begin, size int) { putLoc(b, at, begin-at-locSize, size) }

func putLoc(b []byte, at, offset, size int) {
	PutU32(b, at, uint32(size)<<16|uint32(offset)&0xFFFF)
}

// locSize is the size in bytes of a location word.
const locSize = 4
