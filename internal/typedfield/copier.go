package typedfield

import (
	"slices"
	"strconv"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/tracepoint"
)

// copier writes the fields of a struct type: those of fixed size to a part of a payload's fixed part, texts and arrays
// to the payload's end, in the order in which they are declared.
type copier struct {
	size        int  // bytes of the fields in the fixed part
	ids         int  // bytes of the texts of ids, which are never cut
	truncatedAt int  // offset of the field of type Truncated, or -1
	simple      bool // fast writes all fields
	numbers     []number
	strings     []stringField // the texts up to the first that is not a string in Go
	others      []step        // numbers that are not copied as they are in memory
	dynamic     []step        // all texts and arrays
}

// step writes a field in general. Numbers that are copied, and strings that are plain, need none.
type step struct {
	code  opcode
	field uintptr // offset in the struct
	at    int     // offset in the struct's part of the fixed part
	elem  int     // size of an array's elements in bytes
	n     int     // size of an array or an id in bytes, or a scale
}

type opcode uint8

const (
	opCopy8 opcode = iota
	opCopy16
	opCopy32
	opCopy64
	opTruncated
	opInt8
	opInt16
	opInt
	opUint
	opTime
	opScale32
	opScale64
	opString // this one and all that follow write behind the fixed part
	opHexArray
	opUUID
	opTextBytes
	opHexSlice
	opFloat32
	opFloat64
	opAddr
	opAddrPort
	opPrefix
	opIP
	opSlice
	opArray
)

// newCopier sorts the fields by how they are written.
func newCopier(fields []builtField) copier {
	c := copier{truncatedAt: -1}
	for _, f := range fields {
		s := f.step
		s.at = c.size
		c.size += f.Type.FixedSize()
		c.ids += s.idSize()
		if strconv.IntSize == 64 && (s.code == opInt || s.code == opUint) {
			s.code = opCopy64
		}
		switch {
		case s.code <= opCopy64:
			c.numbers = append(c.numbers, number{field: s.field, at: uintptr(s.at), size: 1 << s.code})
		case s.code == opTruncated:
			c.truncatedAt = s.at
		case s.code < opString:
			c.others = append(c.others, s)
		default:
			if s.code == opString && len(c.strings) == len(c.dynamic) {
				c.strings = append(c.strings, stringField{field: s.field, at: uintptr(s.at)})
			}
			c.dynamic = append(c.dynamic, s)
		}
	}
	c.simple = c.truncatedAt < 0 && len(c.others) == 0 && len(c.strings) == len(c.dynamic)
	return c
}

// least returns the size of a part in which all texts and arrays are empty but ids, which have a fixed size.
func (c *copier) least() int { return c.size + c.ids }

// idSize returns the bytes that the text of an id takes, or 0 for another field.
func (s *step) idSize() int {
	switch s.code {
	case opHexArray:
		return 2*s.n + 1
	case opUUID:
		return uuidSize
	}
	return 0
}

// write writes all fields. If that makes the payload larger than w.limit, it divides the space. End is
// what fast returned for the payload.
func (c *copier) write(w *writer, v pointer, end int) {
	begin := w.end
	w.limit -= c.ids
	next := 0
	if end > 0 {
		w.end = w.start + end
		next = len(c.strings)
	}
	for i := range c.others {
		c.others[i].write(w, v)
	}
	c.writeDynamic(w, v, next)
	if w.full {
		w.end = begin
		w.limit -= c.ids
		w.share = min(w.share, c.divide(*w, v))
		w.truncated = 0
		c.writeDynamic(w, v, 0)
	}
}

// writeDynamic writes the texts and arrays from the one with the number next on.
func (c *copier) writeDynamic(w *writer, v pointer, next int) {
	for i := next; i < len(c.dynamic); i++ {
		c.dynamic[i].write(w, v)
	}
}

// maxDynamic is how many dynamic fields a declaration can have at most.
const maxDynamic = (tracepoint.MaxCommand + len("; ")) / len("__data_loc u8[] a; ")

// divide returns to how many bytes texts and arrays are cut, so that all fit behind w.end. It finds out how long each
// of them is by writing it.
func (c *copier) divide(w writer, v pointer) (share int) {
	var lengths [maxDynamic]int
	begin, free := w.end, w.limit-w.end
	n := 0
	for i := range c.dynamic {
		s := &c.dynamic[i]
		if s.idSize() > 0 {
			continue
		}
		w.end = begin
		s.write(&w, v)
		lengths[n] = w.end - begin
		if s.code < opSlice && lengths[n] > 0 {
			lengths[n]-- // its NUL is not part of the share
			free--
		}
		n++
	}
	return truncate.Share(lengths[:n], free)
}

// writer writes the fields of a payload in general: texts that need replacements, and whatever must be cut.
type writer struct {
	b         []byte // the buffer, as long as its capacity
	start     int    // where the payload begins
	at        int    // where the struct's part of the fixed part begins
	end       int    // where the payload ends so far
	limit     int    // where it has to end, without the ids that are still to be written
	share     int    // what a text, without its NUL, or an array takes at most
	truncated int    // values that were cut or dropped so far
	full      bool   // a value had to be cut since the payload would have been larger than limit
}

// grow makes room for n bytes.
func (w *writer) grow(n int) {
	if n > len(w.b)-w.end {
		w.b = grown(w.b, n)
	}
}

// grown returns b with n bytes more. It is a function of its own since hardly any payload needs it.
//
//go:noinline
func grown(b []byte, n int) []byte {
	b = slices.Grow(b, n)
	return b[:cap(b)]
}

// count counts a truncated value, for which there was room, or max bytes if that is less.
func (w *writer) count(max, room int) {
	w.truncated++
	w.full = w.full || max > room
}

func (w *writer) text(at int, s string) {
	room := w.limit - 1 - w.end
	out, cut := text.Append(w.b[:w.end], s, min(w.share, room))
	if cut > 0 {
		w.count(w.share, room)
	}
	if cap(out) > len(w.b) {
		w.b = out[:cap(out)]
	}
	w.endText(at, len(out))
}

func (w *writer) hex(at int, data []byte) {
	room, keep, mark := w.limit-1-w.end, len(data), ""
	if most := min(w.share, room); 2*keep > most {
		if most >= len(text.CutMark) {
			mark = text.CutMark
		}
		keep = max(0, most-len(text.CutMark)) / 2
		w.count(w.share, room)
	}
	end := w.end + 2*keep
	w.grow(2*keep + len(mark))
	putHex(w.b[w.end:end:end], data[:keep])
	end += copy(w.b[end:], mark)
	w.endText(at, end)
}

// id returns the bytes of a text of size bytes, with its NUL, that is never cut. It returns nil if the payload would
// become longer than a location can tell, which can happen only to a part of a payload.
func (w *writer) id(at, size int) []byte {
	w.limit += size
	if size > w.limit-w.end {
		w.count(0, 0)
		putNoText(w.b, w.start, w.at+at)
		return nil
	}
	w.grow(size)
	begin := w.end
	w.endText(at, begin+size-1)
	return w.b[begin : begin+size-1]
}

// endText ends the text that begins at the payload's end.
func (w *writer) endText(at, end int) {
	if end == w.end {
		putNoText(w.b, w.start, w.at+at)
		return
	}
	if end >= len(w.b) {
		w.b = grown(w.b, 1)
	}
	w.b[end] = 0
	end++
	putDataLoc(w.b, w.at+at, w.end-w.start, end-w.end)
	w.end = end
}

// array writes the field of an array, given its elements of elem bytes each.
func (w *writer) array(at int, data []byte, elem int) {
	room, n := w.limit-w.end, len(data)
	if most := min(w.share, room); n > most {
		n = max(0, most) / elem * elem
		w.count(w.share, room)
	}
	w.grow(n)
	copy(w.b[w.end:], data[:n])
	putDataLoc(w.b, w.at+at, min(w.end-w.start, MaxLimit), n)
	w.end += n
}
