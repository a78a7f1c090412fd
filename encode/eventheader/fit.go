package eventheader

import (
	"math"
	"slices"

	"github.com/userevents/userevents-go/encode/internal/chars"
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
// of package truncate. Texts are cut between characters or escapes and end in [text.CutMark] then; a text in JSON or XML has its
// format changed to plain text.
//
// Where that is not enough for what should survive, it drops fields, if it may, or else cuts values to nothing, which must
// be enough.
func (f *fitting) fit(room int, mayDrop bool) {
	if len(f.meta)+len(f.data) <= room {
		return
	}
	whole, cut, fits := truncate.Divide(f.measure(room))
	if !fits && mayDrop {
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
		n := s.cut(data[write:], limit)
		if s.counted {
			f.order.put16(data[write-2:], uint16(n/s.unit))
		}
		write += n
		read = s.end
		f.lost++
		s.asPlainText()
	}
	write += copy(data[write:], data[read:])
	f.data = data[:write]
}

// spans returns an iterator over the values.
func (f *fitting) spans() *spans {
	return &spans{c: Cursor{meta: f.meta, data: f.data, order: f.order, steps: math.MaxInt}, identifiers: f.identifiers}
}

// spans iterates over the values of an event.
type spans struct {
	c           Cursor
	identifiers []int

	fromMeta, fromData int // where the cursor was before

	begin, end int  // of the content in the cursor's data
	unit       int  // size of what cannot be divided
	counted    bool // two bytes before the content hold the number of units
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
		s.begin, s.unit, s.counted = s.c.off, e.size(), true
		s.end = s.begin + len(s.c.value)
		s.c.Skip()
		return s.c.field.array == flagVariable && s.begin < s.end
	case s.c.item == ItemValue && e.unit() > 0:
		s.end, s.unit, s.counted = s.c.off, e.unit(), e.counted()
		if !s.counted {
			s.end -= s.unit
		}
		s.begin = s.end - len(s.c.value)
		return fixedSizes[s.c.Value().format()] == 0 && s.begin < s.end && !slices.Contains(s.identifiers, s.begin)
	}
	return false
}

// cut writes the content, shortened to limit bytes, to dst, which may begin before
// the content in the same array, and returns how many it wrote.
func (s *spans) cut(dst []byte, limit int) int {
	limit -= limit % s.unit
	mark := ""
	if s.isText() {
		mark = text.CutMark
	}
	keep := limit - len(mark)*s.unit
	if keep < 0 {
		return 0
	}
	content := s.c.data[s.begin:s.end]
	n := copy(dst, content[:s.boundary(content, keep)])
	return len(s.c.order.appendRunes(dst[:n], s.unit, mark, limit))
}

// isText reports whether the value is a text and not bytes or an array.
func (s *spans) isText() bool {
	return s.c.item == ItemValue && s.c.Value().format() != FormatHexBytes
}

// boundary returns the largest length of at most n bytes where the content may be divided.
func (s *spans) boundary(content []byte, n int) int {
	switch {
	case !s.isText():
		return n
	case s.unit == 1 && s.c.Value().format() != FormatLatin1:
		n = len(chars.Clip(content, n))
	case s.unit == 2 && n > 0 && s.c.order.get16(content[n-2:])&0xfc00 == 0xd800:
		n -= 2 // half of a surrogate pair
	}
	return n - s.brokenEscape(content, n)
}

// brokenEscape returns how many bytes at the end of content[:n] are the beginning of an escape that goes on behind.
func (s *spans) brokenEscape(content []byte, n int) int {
	for i := n - s.unit; i >= 0 && n-i < chars.MaxEscape*s.unit; i -= s.unit {
		if s.character(content[i:]) != '\\' {
			continue
		}
		run := i // where the backslashes begin
		for run > 0 && s.character(content[run-s.unit:]) == '\\' {
			run -= s.unit
		}
		if (i-run)/s.unit%2 == 1 {
			return 0 // the second one of an escaped backslash
		}
		if i+s.escapeLen(content[i:]) > n {
			return n - i + s.brokenEscape(content, i) // what stands before may be the first half of a pair
		}
		return 0
	}
	return 0
}

// escapeLen returns the length of an escape in bytes.
func (s *spans) escapeLen(escape []byte) int {
	at := func(i int) byte { return byte(s.character(escape[i*s.unit:])) }
	switch units := len(escape) / s.unit; {
	case units < len(`\n`):
		return len(`\n`) * s.unit
	case units >= len(`\u0000`) && at(1) == 'u' && chars.HalfPair(at(2), at(3)):
		return len(`\ud800\udc00`) * s.unit
	}
	return chars.EscapeLen(at(1)) * s.unit
}

// character returns the first unit of a text.
func (s *spans) character(b []byte) uint32 {
	switch s.unit {
	case 2:
		return uint32(s.c.order.get16(b))
	case 4:
		return s.c.order.get32(b)
	}
	return uint32(b[0])
}

// asPlainText changes the format of a value that is not JSON or XML any more.
func (s *spans) asPlainText() {
	if f := s.c.field.typ.Format(); s.c.item == ItemValue && (f == FormatXML || f == FormatJSON) {
		format := &s.c.meta[s.c.field.typeAt+1]
		*format = *format&chainFlag | byte(FormatUTFBOM)
	}
}
