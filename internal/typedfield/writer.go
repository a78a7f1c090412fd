package typedfield

import (
	"slices"

	"github.com/userevents/userevents-go/internal/text"
)

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

// text writes a text field.
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

// hex writes a text field of hex digits.
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
