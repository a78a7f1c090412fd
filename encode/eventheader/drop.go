package eventheader

import (
	"math"
	"sort"

	"github.com/userevents/userevents-go/internal/truncate"
)

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
	case s.c.item == ItemArray && s.c.field.typ.Encoding().size() == 0:
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
	case d.remote(s), d.depth == maxNesting && s.c.field.typ == TypeJSON: // structs that were too deep
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
