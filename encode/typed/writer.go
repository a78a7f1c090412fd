package typed

import (
	"slices"

	"github.com/userevents/userevents-go/encode/text"
)

// writer writes the fields of a payload in general: texts that need replacements, and whatever must be cut.
type writer struct {
	b      []byte // ends where the payload ends so far
	start  int    // where the payload begins
	at     int    // where the struct's part of the fixed part begins
	limit  int    // the most that the payload may take
	ids    int    // bytes of ids that are still to be written
	whole  int    // a text, without its NUL, or an array that takes at most this stays as it is
	share  int    // what the others are cut to
	cut    int    // bytes of values left out so far
	values int    // values of which something was left out
	full   bool   // a value had to be cut since the payload would have been larger than limit
}

// room returns how many bytes there are for the next text or array.
func (w *writer) room() int { return w.limit - w.ids - (len(w.b) - w.start) }

// lost counts n bytes of a value that got at most max bytes of room.
func (w *writer) lost(n, max, room int) {
	if n > 0 {
		w.cut += n
		w.values++
		w.full = w.full || max > room
	}
}

// text writes a text field.
func (w *writer) text(at int, s string) {
	begin, room := len(w.b), w.room()-1
	out, cut := text.Append(w.b, s, min(w.whole, room))
	if cut > 0 && w.share < w.whole {
		out, cut = text.Append(w.b, s, min(w.share, room))
	}
	w.lost(cut, w.share, room)
	w.endText(at, out, begin)
}

// hex writes a text field of hex digits.
func (w *writer) hex(at int, data []byte) {
	begin, room, keep := len(w.b), w.room()-1, len(data)
	mark := ""
	if 2*keep > min(w.whole, room) {
		most := min(w.share, room)
		if most >= len(text.CutMark) {
			mark = text.CutMark
		}
		keep = max(0, most-len(text.CutMark)) / 2
	}
	w.lost(len(data)-keep, w.share, room)
	end := begin + 2*keep
	out := slices.Grow(w.b, 2*keep+len(mark)+1)[:end]
	putHex(out[begin:], data[:keep])
	w.endText(at, append(out, mark...), begin)
}

// id makes room for a text of size bytes that is never cut, with the NUL at its end. It returns nil if the payload would
// become longer than a location can tell, which can happen only to a part of a payload.
func (w *writer) id(at, size int) []byte {
	w.ids -= size
	begin := len(w.b)
	if size > w.room() {
		w.lost((size-1)/2, 0, 0)
		putNoText(w.b, w.start, w.at+at)
		return nil
	}
	out := slices.Grow(w.b, size)[:begin+size-1]
	w.b = EndText(out, w.start, w.at+at, begin)
	return w.b[begin : begin+size-1]
}

// endText ends the text out[begin:].
func (w *writer) endText(at int, out []byte, begin int) {
	if len(out) == begin {
		putNoText(out, w.start, w.at+at)
		w.b = out
		return
	}
	w.b = EndText(out, w.start, w.at+at, begin)
}

// array writes the field of an array, given its elements of elem bytes each.
func (w *writer) array(at int, data []byte, elem int) {
	begin, room, n := len(w.b), w.room(), len(data)
	if n > min(w.whole, room) {
		n = min(n, max(0, min(w.share, room))/elem*elem)
	}
	w.lost(len(data)-n, w.share, room)
	w.b = append(w.b, data[:n]...)
	putDataLoc(w.b, w.at+at, min(begin-w.start, MaxLimit), n)
}
