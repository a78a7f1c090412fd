package eventheader

import (
	"math"
	"slices"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/internal/truncate"
)

// least is the length to which a text may be cut: that of the mark which says so.
const least = len(text.CutMark)

// fitting makes the fields of an event smaller, in place.
type fitting struct {
	meta, data []byte
	order      order

	identifiers []int // where in data the texts are that are never cut
	lengths     []int // scratch
	fixed       int   // where in meta the fields begin that are dropped before others
	tight       bool  // only fixed fields are left, and short texts are cut like long ones
	lost        int   // values that were cut or dropped
}

// fit makes metadata and data together take at most room bytes. It cuts texts, bytes and arrays of numbers by the rule
// of package truncate, texts between characters or escapes, with [text.CutMark] at their end; a text in JSON has its
// format changed to plain text. Where that is not enough for what should survive, it drops fields.
func (f *fitting) fit(room int) {
	if len(f.meta)+len(f.data) <= room {
		return
	}
	whole, cut, fits := truncate.Divide(f.measure(room))
	if !fits {
		if f.drop(room); len(f.meta)+len(f.data) <= room {
			return
		}
		whole, cut, _ = truncate.Divide(f.measure(room))
	}
	f.cut(whole, cut)
}

// measure returns the lengths of the values that can be cut, and how many bytes they may have in all.
func (f *fitting) measure(room int) ([]int, int) {
	f.lengths = f.lengths[:0]
	room -= len(f.meta) + len(f.data)
	for s := f.spans(); s.next(); {
		f.lengths = append(f.lengths, s.end-s.begin)
		room += s.end - s.begin
	}
	return f.lengths, room
}

// cut cuts the values that are longer than whole to limit bytes.
func (f *fitting) cut(whole, limit int) {
	data := f.data
	read, write := 0, 0
	for s := f.spans(); s.next(); {
		if s.end-s.begin <= whole {
			continue
		}
		// The count moves along, so that it is before the content in both places.
		write += copy(data[write:], data[read:s.begin])
		n := copy(data[write:], data[s.begin:s.end])
		if s.isText() {
			n = truncate.Text(data[write:write+n], limit)
		} else {
			n = limit - limit%s.unit
		}
		f.order.put16(data[write-2:], uint16(n/s.unit))
		write += n
		read = s.end
		f.lost++
		if s.c.field.typ == TypeJSON {
			format := &s.c.meta[s.c.field.typeAt+1]
			*format = *format&chainFlag | byte(FormatUTFBOM)
		}
	}
	write += copy(data[write:], data[read:])
	f.data = data[:write]
}

// spans returns an iterator over the values.
func (f *fitting) spans() *spans {
	return &spans{c: Cursor{meta: f.meta, data: f.data, order: f.order, steps: math.MaxInt}, identifiers: f.identifiers}
}

// spans iterates over the values of an event that an Encoder has made.
type spans struct {
	c           Cursor
	identifiers []int

	fromMeta, fromData int // where the cursor was before

	begin, end int // of the content in the cursor's data; its number of units is in the two bytes before
	unit       int // size of what cannot be divided
}

// advance moves the cursor to the next item.
func (s *spans) advance() bool {
	s.fromMeta, s.fromData = s.c.pos, s.c.off
	return s.c.Next()
}

// next moves the cursor to the next value that can be cut.
func (s *spans) next() bool {
	for s.c.Next() {
		if s.cuttable() {
			return true
		}
	}
	return false
}

// cuttable reports whether the cursor stands at a value that can be cut. An array of numbers is one.
func (s *spans) cuttable() bool {
	e := s.c.field.typ.Encoding()
	switch {
	case s.c.item == ItemArray && e.size() > 0:
		s.begin, s.unit = s.c.off, e.size()
		s.end = s.begin + len(s.c.value)
		s.c.Skip()
		return s.begin < s.end
	case s.c.item == ItemValue && e.counted():
		s.end, s.unit = s.c.off, 1
		s.begin = s.end - len(s.c.value)
		return s.begin < s.end && !slices.Contains(s.identifiers, s.begin)
	}
	return false
}

// isText reports whether the value is a text and not bytes or an array.
func (s *spans) isText() bool { return s.c.item == ItemValue && s.c.field.typ.Encoding() == String8 }
