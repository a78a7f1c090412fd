package eventheader

import (
	"math"
	"slices"
)

// structItems is what the children of a struct and its end take of what decoders take.
// Reserving it also limits the depth of structs to 30, which a cursor can follow.
const structItems = maxStructSize + 1

// overflowMeta is the metadata of OverflowField.
var overflowMeta = []byte(OverflowField + "\x00" + string([]byte{byte(Struct) | chainFlag, 0}))

// BeginStruct begins a struct. The fields that follow are its children, until
// [Encoder.EndStruct]. A struct without children is omitted. One that is nested
// more than 8 levels deep becomes a text that holds a JSON object.
func (e *Encoder) BeginStruct(name string) {
	full := e.items < structItems
	if e.skipped == 0 && full {
		e.lost++
	}
	const oneChild = TypeStruct | 1<<8 // EndStruct knows how many there are
	if e.skipped > 0 || full || !e.put(name, oneChild.kind(), 0, 0) {
		e.skip()
		return
	}
	end := offset(len(e.meta))
	e.push(end-offset(typeSize+max(len(name), len(noName))), end-1, offset(len(e.data)))
}

// push opens a struct. Its own field begins at begin in the metadata, its number of children is at format, and its data begins at data.
func (e *Encoder) push(begin, format, data offset) {
	e.parents = append(e.parents, e.frame)
	e.spare, e.begin, e.format, e.dataBefore, e.itemsBefore, e.overflow = maxStructSize-1, begin, format, data, int32(e.items), false
	e.items -= structItems
}

// skip drops a struct with its children.
func (e *Encoder) skip() {
	if e.skipped == 0 {
		e.saved, e.spare = e.spare, 0
	}
	e.skipped++
}

// beginOverflow moves the last field that fits the open struct to a struct that takes its place, and opens that one.
func (e *Encoder) beginOverflow() bool {
	if e.items < structItems {
		return false
	}
	e.meta = slices.Insert(e.meta, int(e.last), overflowMeta...)
	if e.fixed > int(e.last) {
		e.fixed += len(overflowMeta)
	}
	e.push(e.last, e.last+offset(len(overflowMeta))-1, e.lastData)
	e.overflow = true
	e.spare--
	return true
}

// EndStruct ends the struct that was begun last.
func (e *Encoder) EndStruct() {
	for e.overflow && e.skipped == 0 {
		e.pop()
	}
	if e.skipped == 0 && len(e.parents) == 0 {
		if e.err == nil {
			e.err = invalidf("EndStruct without BeginStruct")
		}
		return
	}
	e.pop()
}

// pop ends the innermost struct.
func (e *Encoder) pop() {
	if e.skipped > 0 {
		if e.skipped--; e.skipped == 0 {
			e.spare = e.saved
		}
		return
	}
	f := e.frame
	e.frame = e.parents[len(e.parents)-1]
	e.parents = e.parents[:len(e.parents)-1]
	switch children := maxStructSize - 1 - f.spare; {
	case children == 0:
		e.meta = e.meta[:f.begin]
		e.items = int(f.itemsBefore)
		e.spare++
	case len(e.parents) == maxNesting:
		e.structToText(f)
	default:
		e.meta[f.format] = byte(children)
		e.items += maxStructSize - children
	}
}

// structToText replaces a struct that decoders would not follow by its JSON.
func (e *Encoder) structToText(f frame) {
	format := f.format
	c := Cursor{meta: e.meta[format+1:], data: e.data[f.dataBefore:], order: e.order, steps: math.MaxInt}
	e.json = append(appendMembers(append(e.json[:0], '{'), &c), '}')
	e.meta = append(e.meta[:format-1], byte(String8)|chainFlag, byte(FormatJSON)) // behind name and NUL
	e.items = int(f.itemsBefore)
	for n := len(e.identifiers); n > 0 && e.identifiers[n-1] >= int(f.dataBefore); n-- {
		e.identifiers = e.identifiers[:n-1] // they are in the text
	}
	text := e.json[:min(len(e.json), e.limit+beyond)]
	e.data = append(e.order.append16(e.data[:f.dataBefore], uint16(len(text))), text...)
}
