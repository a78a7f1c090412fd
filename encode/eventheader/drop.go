package eventheader

import (
	"math"

	"github.com/userevents/userevents-go/internal/truncate"
)

// class says when a value is dropped: the lowest class first, and of a class the last value.
type class int

const (
	longText class = iota
	shortText
	other // numbers, ids in a type of their own, empty texts
	classes
)

// classOf returns the class of the value that the cursor stands at, and how many bytes of metadata and data it takes, cut to
// the mark, beside its excess, by which it can be cut.
func (s *spans) classOf() (c class, size, excess int) {
	c = other
	if s.cuttable() {
		c, excess = shortText, max(0, s.end-s.begin-least)
		if s.end-s.begin > truncate.Short {
			c = longText
		}
	}
	return c, s.c.pos - s.fromMeta + s.c.off - s.fromData - excess, excess
}

// keeping says how much is kept.
type keeping struct {
	// left is for how many bytes of each class there is room. At the first value for which there is none it becomes 0, as
	// the others of the class come after that one.
	left [classes]int
	// room is for metadata and data, once only what is of the last class is left.
	room int
}

// takes reports whether a value of size bytes is kept after written bytes, and takes its room if so.
func (k *keeping) takes(c class, size, written int) bool {
	if size > k.left[c] || written+size > k.room {
		k.left[c] = 0
		return false
	}
	k.left[c] -= size
	return true
}

// plan decides how much of each class is kept: all long texts for which there is room beside short texts that are whole. If there is
// no room for these, everything is kept for which there is room once all texts are cut to the mark.
func (f *fitting) plan(room int) keeping {
	var sizes [other]int
	over, short := len(f.meta)+len(f.data)-room, 0
	for s := f.spans(); s.advance(); {
		c, size, excess := s.classOf()
		switch c {
		case longText:
			sizes[c] += size
			over -= excess
		case shortText:
			sizes[c] += size
			short += excess
		default:
		}
	}
	if over > sizes[longText] {
		over -= short
	}
	k := keeping{left: [classes]int{math.MaxInt, math.MaxInt, math.MaxInt}, room: math.MaxInt}
	for c := range other {
		switch {
		case over <= 0:
			return k
		case over <= sizes[c]:
			k.left[c] = sizes[c] - over
			return k
		}
		over -= sizes[c]
		k.left[c] = 0
	}
	k.room = room
	return k
}

// dropper leaves out fields in place.
type dropper struct {
	*fitting
	keeping
	toMeta, toData int // where the next field goes

	open  [maxNesting]openStruct
	depth int

	// The array of texts that is being read: where its count is, how many elements are kept, and whether one was dropped, after which
	// all are, since elements are known by their position.
	count, elements int
	ended           bool
}

type openStruct struct {
	begin    int // of its field in the metadata
	format   int // of its number of children there
	children int
}

// drop leaves out fields, and elements of arrays of texts, from the end: texts that are not short first, so that short ones
// stay whole, then other texts, then anything. What it keeps fits the room once texts are cut.
func (f *fitting) drop(room int) {
	d := dropper{fitting: f, keeping: f.plan(room)}
	for s := f.spans(); s.advance(); {
		switch s.c.item {
		case ItemStruct:
			d.open[d.depth].begin = d.toMeta
			d.move(s)
			d.open[d.depth].format, d.open[d.depth].children = d.toMeta-1, 0
			d.depth++
		case ItemStructEnd:
			d.endStruct()
		case ItemArrayEnd:
			d.order.put16(d.data[d.count:], uint16(d.elements))
		default:
			d.value(s)
		}
	}
	f.meta, f.data = f.meta[:d.toMeta], f.data[:d.toData]
}

// value keeps or drops a value, or the beginning of an array of texts.
func (d *dropper) value(s *spans) {
	element, array := s.c.index >= 0, s.c.item == ItemArray && s.c.field.typ.Encoding().size() == 0
	class, size, _ := s.classOf()
	if element && d.ended || !d.takes(class, size, d.toMeta+d.toData) {
		d.lost++
		d.ended = true
		d.moved(s, math.MinInt)
		if array {
			s.c.Skip()
		}
		return
	}
	switch {
	case element:
		d.elements++
	case array:
		d.count, d.elements, d.ended = d.toData, 0, false
		fallthrough
	default:
		d.child()
	}
	d.move(s)
}

// child counts a field that is kept.
func (d *dropper) child() {
	if d.depth > 0 {
		d.open[d.depth-1].children++
	}
}

// endStruct ends the open struct, which is left out if nothing of it is kept.
func (d *dropper) endStruct() {
	d.depth--
	o := d.open[d.depth]
	if o.children == 0 {
		d.toMeta = o.begin
		return
	}
	d.meta[o.format] = byte(o.children)
	d.child()
}

// move keeps what the cursor has read last.
func (d *dropper) move(s *spans) {
	d.moved(s, d.toData-s.fromData)
	d.toMeta += copy(d.meta[d.toMeta:], d.meta[s.fromMeta:s.c.pos])
	d.toData += copy(d.data[d.toData:], d.data[s.fromData:s.c.off])
}

// moved adapts where identifiers are to a move of what the cursor has read last by so many bytes.
func (d *dropper) moved(s *spans, by int) {
	for i, at := range d.identifiers {
		if at >= s.fromData && at < s.c.off {
			d.identifiers[i] += by
		}
	}
}
