package eventheader

import (
	"math"

	"github.com/userevents/userevents-go/encode/internal/share"
)

// class says when a value is dropped: the lowest class first, and of a class the last value.
type class int

const (
	longText class = iota
	shortText
	other // numbers, ids in a type of their own, empty texts
	classes
)

// classOf returns the class of the value that the cursor stands at.
func (s *spans) classOf() class {
	switch {
	case !s.cuttable():
		return other
	case s.end-s.begin > share.Short:
		return longText
	}
	return shortText
}

// keeping says how much is kept.
type keeping struct {
	// left is for how many bytes of each class there is room. At the first value for which there is none it becomes 0, as
	// the others of the class come after that one.
	left [classes]int
	// room is for metadata and data, once only what is of the last class is left.
	room int
}

// drop leaves out fields, and elements of arrays of texts, from the end: texts that are not short first, so that short ones
// stay whole, then other texts, then anything. What it keeps fits the room once texts are cut.
func (f *fitting) drop(room int) {
	k := f.plan(room)
	var open [2*maxDepth + 1]struct {
		begin    int // of the struct's field in the metadata
		format   int
		children int
	}
	depth, meta, data := 0, 0, 0
	count, elements, ended := 0, 0, false // of the array of texts that is being read
	s := f.spans()
	for {
		fromMeta, fromData := s.c.pos, s.c.off
		if !s.c.Next() {
			break
		}
		keep := true
		switch s.c.item {
		case ItemStructEnd:
			depth--
			if open[depth].children == 0 {
				meta = open[depth].begin
				continue
			}
			f.meta[open[depth].format] = byte(open[depth].children)
			if depth > 0 {
				open[depth-1].children++
			}
			continue
		case ItemArrayEnd:
			f.order.put16(f.data[count:], uint16(elements))
			continue
		case ItemStruct:
			depth++
			open[depth-1].begin, open[depth-1].children = meta, 0
		default:
			class := s.classOf()
			size := s.c.pos - fromMeta + s.c.off - fromData
			if class != other {
				size -= s.excess()
			}
			element := s.c.index >= 0
			keep = !(element && ended) && k.takes(class, size, meta+data)
			switch {
			case element && keep:
				elements++
			case element:
				ended = true
			case keep && depth > 0:
				open[depth-1].children++
			}
			if s.c.item == ItemArray {
				count, elements, ended = data, 0, false
				if !keep {
					s.c.Skip()
				}
			}
		}
		if !keep {
			f.lost++
			continue
		}
		meta += copy(f.meta[meta:], f.meta[fromMeta:s.c.pos])
		data += copy(f.data[data:], f.data[fromData:s.c.off])
		if s.c.item == ItemStruct {
			open[depth-1].format = meta - 1
		}
	}
	f.meta, f.data = f.meta[:meta], f.data[:data]
}

// excess returns by how much the value can be cut.
func (s *spans) excess() int { return max(0, s.end-s.begin-least) }

// plan decides how much of each class is kept: all long texts for which there is room beside short texts that are whole. If there is
// no room for these, everything is kept for which there is room once all texts are cut to the mark.
func (f *fitting) plan(room int) keeping {
	var sizes [other]int // of fields, cut to the mark
	over, short := len(f.meta)+len(f.data)-room, 0
	s := f.spans()
	for {
		fromMeta, fromData := s.c.pos, s.c.off
		if !s.c.Next() {
			break
		}
		switch c := s.classOf(); c {
		case longText:
			sizes[c] += s.c.pos - fromMeta + s.c.off - fromData - s.excess()
			over -= s.excess()
		case shortText:
			sizes[c] += s.c.pos - fromMeta + s.c.off - fromData - s.excess()
			short += s.excess()
		}
	}
	k := keeping{left: [classes]int{math.MaxInt, math.MaxInt, math.MaxInt}, room: math.MaxInt}
	if over > sizes[longText] {
		over -= short
	}
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

// takes reports whether a value of size bytes is kept after written bytes, and takes its room if so.
func (k *keeping) takes(c class, size, written int) bool {
	if size > k.left[c] || written+size > k.room {
		k.left[c] = 0
		return false
	}
	k.left[c] -= size
	return true
}
