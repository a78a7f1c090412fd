package eventheader

import (
	"slices"

	"github.com/userevents/userevents-go/encode/internal/chars"
	"github.com/userevents/userevents-go/encode/text"
)

// fit makes the data of an event smaller by at least need bytes. It cuts the
// longest values, all of them to about the same length, so that one long text
// does not cost the others. Texts are cut between characters or escapes and end in
// [text.CutMark] then. It returns the data, which stays in place, and how many values
// it cut. What can be cut must be enough.
//
// Meta is the metadata of the fields; a text in JSON or XML that is cut has its
// format changed to plain text there. Keep says at which offsets of data the
// values are that must not be cut, in ascending order.
func fit(meta, data []byte, o order, keep []int, need int) ([]byte, int) {
	if need <= 0 {
		return data, 0
	}
	s := spans{c: Cursor{meta: meta, data: data, order: o, steps: maxSteps}, keep: keep}
	limit := s.longest(need)
	read, write, cut := 0, 0, 0
	for s.next() {
		if s.end-s.begin <= limit {
			continue
		}
		// The count moves along, so that it is before the content in both places.
		write += copy(data[write:], data[read:s.begin])
		n := s.cut(data[write:], limit)
		if s.counted {
			o.put16(data[write-2:], uint16(n/s.unit))
		}
		write += n
		read = s.end
		cut++
		s.asPlainText()
	}
	write += copy(data[write:], data[read:])
	return data[:write], cut
}

// spans iterates over the values of an event that can be cut.
type spans struct {
	c    Cursor
	keep []int

	begin, end int  // of the content in the cursor's data
	unit       int  // size of what cannot be divided
	counted    bool // two bytes before the content hold the number of units
}

func (s *spans) next() bool {
	for s.c.Next() {
		e := s.c.field.typ.Encoding()
		switch {
		case s.c.item == ItemArray && e.size() > 0:
			s.begin, s.unit, s.counted = s.c.off, e.size(), true
			s.end = s.begin + len(s.c.value)
			s.c.Skip()
			if s.c.field.array == flagVariable && s.begin < s.end {
				return true
			}
		case s.c.item == ItemValue && e.unit() > 0:
			s.end, s.unit, s.counted = s.c.off, e.unit(), e.counted()
			if !s.counted {
				s.end -= s.unit
			}
			s.begin = s.end - len(s.c.value)
			if fixedSizes[s.c.Value().format()] == 0 && s.begin < s.end && !s.kept() {
				return true
			}
		}
	}
	return false
}

// kept reports whether the value must not be cut.
func (s *spans) kept() bool {
	if !s.counted {
		return false
	}
	_, found := slices.BinarySearch(s.keep, s.begin-2)
	return found
}

// longest returns the largest length so that cutting what is longer frees need bytes.
func (s *spans) longest(need int) int {
	start := s.c
	low, high := 0, MaxLimit
	for low < high {
		middle := (low + high + 1) / 2
		free := 0
		for s.next() {
			free += max(0, s.end-s.begin-middle)
		}
		s.c = start
		if free >= need {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
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
