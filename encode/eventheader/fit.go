package eventheader

import (
	"math"
	"slices"
	"sort"

	"github.com/userevents/userevents-go/internal/text"
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
		if s.c.field.typ == typeJSON {
			format := &s.c.meta[s.c.field.typeAt+1]
			*format = *format&chainFlag | byte(formatUTFBOM)
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
	e := s.c.field.typ.encoding()
	switch {
	case s.c.item == ItemArray && e.size() > 0:
		s.begin, s.unit = s.c.off, e.size()
		s.end = s.begin + len(s.c.value)
		s.c.skip()
		return s.begin < s.end
	case s.c.item == itemValue && e.counted():
		s.end, s.unit = s.c.off, 1
		s.begin = s.end - len(s.c.value)
		return s.begin < s.end && !slices.Contains(s.identifiers, s.begin)
	}
	return false
}

// isText reports whether the value is a text and not bytes or an array.
func (s *spans) isText() bool { return s.c.item == itemValue && s.c.field.typ.encoding() == encString8 }

// drop drops fields, and elements of arrays of texts, in the order of package truncate, until the rest fits the room with
// its long texts cut. Fixed fields are dropped only if there is no room for them with all texts cut to nothing.
func (f *fitting) drop(room int) {
	d := dropper{fitting: f}
	d.pass(truncate.Selection{})
	counts := d.counts
	fits := func(n int) bool {
		d := dropper{fitting: f}
		return d.pass(counts.Select(n)) <= room
	}
	n := sort.Search(counts.Total(), fits)
	if f.tight = !fits(n); f.tight {
		n += sort.Search(counts[truncate.ClassFixed], func(fixed int) bool { return fits(n + fixed) })
	}
	d = dropper{fitting: f, moves: true}
	d.pass(counts.Select(n))
	f.meta, f.data = f.meta[:d.toMeta], f.data[:d.toData]
	f.lost += d.lost
}

// dropper drops fields in one pass over an event, or only computes the size that would remain.
type dropper struct {
	*fitting
	moves bool // the event changes, in place

	dropped        truncate.Selection
	counts         truncate.Counts // of all values
	lost           int             // dropped values
	toMeta, toData int             // where the next field goes
	excess         int             // bytes of data that will be cut

	open  [maxNesting]openStruct
	depth int
	array openArray
}

// openStruct is a struct that is being read.
type openStruct struct {
	begin    int // of its field in the metadata
	format   int // of its number of children there
	children int
	remote   bool // it or one around it has a long name
}

// openArray is the array of texts that is being read.
type openArray struct {
	count    int            // where its number of elements is in the data
	elements int            // that are kept
	class    truncate.Class // of an element
	single   bool           // elements are values of their own
	gone     bool           // it is dropped
}

// pass goes over the event and returns how many bytes are left of metadata and data, without what will be cut.
func (d *dropper) pass(dropped truncate.Selection) int {
	d.dropped = dropped
	for s := d.spans(); s.advance(); {
		switch s.c.item {
		case ItemStruct:
			remote := d.remote(s)
			o := &d.open[d.depth]
			o.begin, o.children, o.remote = d.toMeta, 0, remote
			d.keep(s)
			o.format = d.toMeta - 1
			d.depth++
		case ItemStructEnd:
			d.endStruct()
		case ItemArrayEnd:
			if d.moves && !d.array.gone {
				d.order.put16(d.data[d.array.count:], uint16(d.array.elements))
			}
		default:
			d.value(s)
		}
	}
	return d.toMeta + d.toData - d.excess
}

// remote reports whether the field is behind a name that leaves little room for others.
func (d *dropper) remote(s *spans) bool {
	return d.depth > 0 && d.open[d.depth-1].remote || int(s.c.field.nameEnd)-int(s.c.field.nameAt) > truncate.MaxKey
}

// value keeps or drops a value, an array of numbers, or the beginning of an array of texts.
func (d *dropper) value(s *spans) {
	switch {
	case s.c.index >= 0:
		d.element(s)
		return
	case s.c.item == ItemArray && s.c.field.typ.encoding().size() == 0:
		d.beginArray(s)
		return
	}
	length, excess := 0, 0
	if s.cuttable() {
		length = s.end - s.begin
		excess = d.excessOf(length)
	}
	if d.drops(d.class(s, length)) {
		d.lost++
		if d.moves {
			d.moved(s, math.MinInt)
		}
		return
	}
	d.child()
	d.excess += excess
	d.keep(s)
}

// drops counts a value and reports whether it is dropped.
func (d *dropper) drops(c truncate.Class) bool {
	d.counts[c]++
	return d.dropped.Drops(c)
}

// class returns the class of a field whose text or array has length bytes.
func (d *dropper) class(s *spans, length int) truncate.Class {
	switch {
	case int(s.c.field.nameAt) < d.fixed:
		return truncate.ClassFixed
	case d.remote(s), d.depth == maxNesting && s.c.field.typ == typeJSON: // structs that were too deep
		return truncate.ClassRemote
	case length > truncate.Short:
		return truncate.ClassLongText
	case length > 0:
		return truncate.ClassText
	}
	return truncate.ClassNumber
}

// excessOf returns by how much a text of so many bytes can be cut.
func (d *dropper) excessOf(length int) int {
	switch {
	case d.tight:
		return length
	case length > truncate.Short:
		return length - least
	}
	return 0
}

func (d *dropper) beginArray(s *spans) {
	length := s.textsLength()
	class := d.class(s, length)
	d.array = openArray{count: d.toData, class: class, single: length > truncate.Short, gone: d.drops(class)}
	if class == truncate.ClassLongText {
		d.array.class = truncate.ClassElement
	}
	if d.array.gone {
		d.lost++
		return
	}
	d.child()
	d.keep(s)
}

// textsLength returns how many bytes the elements have of the array of texts at which the cursor stands.
func (s *spans) textsLength() (length int) {
	for at, left := s.c.off, s.c.field.count; left > 0; left-- {
		n := int(s.c.order.get16(s.c.data[at:]))
		at += 2 + n
		length += n
	}
	return length
}

// element keeps or drops a text in an array. Elements are known by their positions, so the last ones are dropped first.
func (d *dropper) element(s *spans) {
	a := &d.array
	dropped := a.single && d.drops(a.class)
	switch {
	case a.gone: // with its elements, which do not count
	case dropped:
		d.lost++
	default:
		a.elements++
		if s.cuttable() {
			d.excess += d.excessOf(s.end - s.begin)
		}
		d.keep(s)
	}
}

// child counts a field that is kept.
func (d *dropper) child() {
	if d.depth > 0 {
		d.open[d.depth-1].children++
	}
}

// endStruct ends the open struct, which is dropped if nothing of it is kept.
func (d *dropper) endStruct() {
	d.depth--
	o := d.open[d.depth]
	if o.children == 0 {
		d.toMeta = o.begin
		return
	}
	if d.moves {
		d.meta[o.format] = byte(o.children)
	}
	d.child()
}

// keep keeps what the cursor has read last.
func (d *dropper) keep(s *spans) {
	if d.moves {
		d.moved(s, d.toData-s.fromData)
		copy(d.meta[d.toMeta:], d.meta[s.fromMeta:s.c.pos])
		copy(d.data[d.toData:], d.data[s.fromData:s.c.off])
	}
	d.toMeta += s.c.pos - s.fromMeta
	d.toData += s.c.off - s.fromData
}

// moved adapts where identifiers are to a move of what the cursor has read last by so many bytes.
func (d *dropper) moved(s *spans, by int) {
	for i, at := range d.identifiers {
		if at >= s.fromData && at < s.c.off {
			d.identifiers[i] += by
		}
	}
}
