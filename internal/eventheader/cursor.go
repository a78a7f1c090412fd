package eventheader

import (
	"bytes"
)

// Event is a decoded event. It refers to the payload that it was decoded from,
// which must not change while the event is in use. Methods may be called concurrently.
type Event struct {
	Header
	Tracepoint Name
	// Activity and Related are zero if the event has none.
	Activity UUID
	Related  UUID

	activity []byte // content of the extension
	meta     []byte // of the fields, after the event's name
	data     []byte
	order    order
}

// Decode parses the header of an event. The name is the tracepoint's, the
// payload everything from the field eventheader_flags on; what follows the last
// field is ignored, since perf pads records.
//
// Exactly one of event and error is nil. Fields are not decoded yet: [Cursor.Next] and [Event.AppendFieldsJSON] may still fail.
func Decode(name string, payload []byte) (*Event, error) {
	tp, err := ParseName(name)
	if err != nil {
		return nil, err
	}
	ev := new(Event)
	if err := ev.Decode(tp, payload); err != nil {
		return nil, err
	}
	return ev, nil
}

// Decode is the function Decode for readers of many events: ev takes the place of the event that it was. It does not
// allocate if that had the same name. On an error, ev must not be used but for another Decode.
func (ev *Event) Decode(tp Name, payload []byte) error {
	fail := func(at int, problem string) error {
		return &decodeError{part: "header", offset: at, problem: problem}
	}
	if len(payload) < headerSize {
		return fail(len(payload), "shorter than a header")
	}
	flags := payload[0]
	if flags&^flagsKnown != 0 {
		return fail(0, "unknown flags")
	}
	o := orderOf(flags)
	*ev = Event{
		Header: Header{
			Name:    ev.Name,
			Version: payload[1],
			ID:      o.get16(payload[2:]),
			Tag:     o.get16(payload[4:]),
			Opcode:  Opcode(payload[6]),
			Level:   Level(payload[7]),
		},
		Tracepoint: tp,
		order:      o,
	}
	if ev.Level != tp.Level {
		return fail(7, "level differs from that of the tracepoint's name")
	}
	rest := payload[headerSize:]
	for more := flags&flagExtension != 0; more; {
		at := len(payload) - len(rest)
		if len(rest) < extensionSize {
			return fail(at, "extension is cut off")
		}
		size, kind := int(o.get16(rest)), o.get16(rest[2:])
		rest = rest[extensionSize:]
		if size > len(rest) {
			return fail(at, "extension is longer than the event")
		}
		if problem := ev.extension(kind&^kindChain, rest[:size]); problem != "" {
			return fail(at, problem)
		}
		rest = rest[size:]
		more = kind&kindChain != 0
	}
	if ev.meta == nil {
		return fail(headerSize, "no metadata")
	}
	ev.data = rest
	nameEnd := bytes.IndexByte(ev.meta, 0)
	if nameEnd < 0 {
		return &decodeError{part: "metadata", problem: "event name does not end"}
	}
	if name := ev.meta[:nameEnd]; ev.Name != string(name) {
		ev.Name = string(name)
	}
	ev.meta = ev.meta[nameEnd+1:]
	return nil
}

// extension takes in one extension and returns what is wrong with it, or "".
func (ev *Event) extension(kind uint16, content []byte) string {
	switch kind {
	case 0:
		return "extension of kind 0"
	case kindMetadata:
		if ev.meta != nil {
			return "second metadata extension"
		}
		ev.meta = content
	case kindActivity:
		if ev.activity != nil {
			return "second activity extension"
		}
		if len(content) != 16 && len(content) != 32 {
			return "activity extension of neither 16 nor 32 bytes"
		}
		ev.activity = content
		copy(ev.Related[:], content[copy(ev.Activity[:], content):])
	}
	return ""
}

// Bounds of the decoder. An event cannot make it do more than this, however its counts are nested.
const (
	// A step is an item, or the reading of the metadata of a field, which takes one
	// more for each nameStep bytes of its name.
	maxSteps = 1 << 17
	nameStep = 64
	maxDepth = 32 // structs within structs, each possibly in an array
)

// Item is what a [Cursor] stands at: a value, or the begin or end of a struct or an array.
type Item uint8

// The items that are no values. The elements of an array follow its ItemArray: values, or ItemStruct to ItemStructEnd each.
const (
	itemNone Item = iota // before the first field or after the last
	itemValue
	ItemStruct
	ItemStructEnd
	ItemArray
	ItemArrayEnd
)

// Cursor reads the fields of an event one after the other, depth first, without
// allocating. It is not safe for concurrent use.
//
//	var c eventheader.Cursor
//	c.Reset(ev)
//	for c.Next() {
//		switch c.Item() { ... }
//	}
//	if err := c.Err(); err != nil { ... }
type Cursor struct {
	meta, data []byte
	order      order

	pos   int // next byte of meta
	off   int // next byte of data
	steps int // left
	err   error

	item  Item
	field field
	value []byte // of an itemValue, or of an ItemArray whose elements have a fixed size
	index int    // of an element; -1 outside of arrays

	depth int // open levels
	stack [2*maxDepth + 1]level
}

type level struct {
	field field
	array bool
	left  uint16 // elements or children to come
	body  uint32 // of an array: where the metadata of a struct's children begins
}

// Reset makes c a cursor before the first field of ev, without allocating. The zero Cursor has no fields.
func (c *Cursor) Reset(ev *Event) {
	c.meta, c.data, c.order = ev.meta, ev.data, ev.order
	c.pos, c.off, c.steps, c.err = 0, 0, maxSteps, nil
	c.item, c.field, c.value, c.index, c.depth = itemNone, field{}, nil, -1, 0
}

// Next moves to the next item. It returns false after the last one and after an error.
func (c *Cursor) Next() bool {
	c.value, c.index = nil, -1
	if c.err != nil {
		return false
	}
	if !c.step(1) {
		return false
	}
	if c.depth == 0 {
		if c.pos == len(c.meta) {
			c.item, c.field = itemNone, field{}
			return false
		}
		return c.readField()
	}
	l := &c.stack[c.depth-1]
	switch {
	case l.array && l.left > 0:
		return c.nextElement(l)
	case l.array:
		c.end(ItemArrayEnd, l)
	case l.left > 0 && c.pos < len(c.meta):
		l.left--
		return c.readField()
	default:
		// The metadata may end before all children of a struct were declared.
		c.end(ItemStructEnd, l)
	}
	return true
}

func (c *Cursor) step(n int) bool {
	if c.steps < n {
		return c.fail("data", c.off, "more items than the decoder takes")
	}
	c.steps -= n
	return true
}

func (c *Cursor) end(item Item, l *level) {
	c.item, c.field = item, l.field
	c.depth--
}

func (c *Cursor) nextElement(l *level) bool {
	c.field, c.index = l.field, int(l.field.count-l.left)
	l.left--
	if l.field.typ.encoding() != encStruct {
		return c.readValue()
	}
	c.pos = int(l.body)
	return c.beginStruct()
}

// readField reads a field's metadata, and its value unless it is a struct or an array.
func (c *Cursor) readField() bool {
	if !c.readMeta() {
		return false
	}
	f := &c.field
	switch {
	case f.array != 0:
		return c.beginArray()
	case f.typ.encoding() == encStruct:
		return c.beginStruct()
	}
	return c.readValue()
}

func (c *Cursor) beginArray() bool {
	f := c.field
	if f.array == flagVariable {
		if len(c.data)-c.off < 2 {
			return c.fail("data", c.off, "array count is cut off")
		}
		f.count = c.order.get16(c.data[c.off:])
		c.off += 2
	}
	if size := f.typ.encoding().size() * int(f.count); size > 0 {
		if size > len(c.data)-c.off {
			return c.fail("data", c.off, "array is longer than the event")
		}
		c.value = c.data[c.off : c.off+size]
	}
	body := uint32(c.pos)
	if f.typ.encoding() == encStruct && f.count == 0 && !c.skipMeta(int(f.typ.format())) {
		return false // without elements nobody consumes the children's metadata
	}
	c.field = f
	return c.push(ItemArray, level{field: f, array: true, left: f.count, body: body})
}

func (c *Cursor) beginStruct() bool {
	return c.push(ItemStruct, level{field: c.field, left: uint16(c.field.typ.format())})
}

func (c *Cursor) push(item Item, l level) bool {
	if c.depth == len(c.stack) {
		return c.fail("metadata", int(c.field.typeAt), "nested too deeply")
	}
	c.stack[c.depth] = l
	c.depth++
	c.item = item
	return true
}

func (c *Cursor) fail(part string, at int, problem string) bool {
	c.item, c.field, c.value = itemNone, field{}, nil
	c.err = &decodeError{part: part, offset: at, problem: problem}
	return false
}

// Err returns nil, or the error that stopped Next. Offsets of metadata
// count from the end of the event's name.
func (c *Cursor) Err() error { return c.err }

// Item returns what the cursor stands at.
func (c *Cursor) Item() Item { return c.item }

// NameBytes returns the name of the field that the item belongs to. It is part of the payload and must not be changed.
func (c *Cursor) NameBytes() []byte { return c.meta[c.field.nameAt:c.field.nameEnd] }

// Type returns the type of the field. The format of a struct is its number of children.
func (c *Cursor) Type() Type { return c.field.typ }

// Value returns the value that the cursor stands at, which refers to the payload. It is the zero Value where a struct or an array
// begins or ends.
func (c *Cursor) Value() Value {
	if c.item != itemValue {
		return Value{}
	}
	return Value{typ: c.field.typ, raw: c.value, order: c.order}
}

// skip moves to the end of the struct or array that has just begun, so that
// Next returns what follows it. At other items it does nothing.
func (c *Cursor) skip() {
	if c.item != ItemStruct && c.item != ItemArray {
		return
	}
	if size := c.field.typ.encoding().size(); size > 0 {
		// Next would need a step for each element.
		c.off += int(c.stack[c.depth-1].left) * size
		c.stack[c.depth-1].left = 0
	}
	for depth := c.depth; c.depth >= depth && c.Next(); {
	}
}

// field is what the metadata says about a field. It is small, so that a cursor is. The metadata of an event has at
// most 65535 bytes, that of one which has yet to be cut may have more.
type field struct {
	nameAt, nameEnd uint32 // in meta
	typeAt          uint32
	typ             Type
	tag             uint16
	count           uint16 // of an array
	array           uint8  // flagFixed, flagVariable or 0
}

func (c *Cursor) readMeta() bool {
	n := bytes.IndexByte(c.meta[c.pos:], 0)
	if n < 0 {
		return c.fail("metadata", c.pos, "field name does not end")
	}
	if !c.step(1 + n/nameStep) {
		return false
	}
	at := c.pos + n + 1 // of the type
	f := field{nameAt: uint32(c.pos), nameEnd: uint32(at - 1), typeAt: uint32(at)}
	b := c.meta[at:]
	if len(b) == 0 {
		return c.fail("metadata", at, "field type is cut off")
	}
	enc, format := b[0], byte(0)
	b = b[1:]
	if enc&chainFlag != 0 {
		if len(b) == 0 {
			return c.fail("metadata", at, "field format is cut off")
		}
		format, b = b[0], b[1:]
		if format&chainFlag != 0 {
			if len(b) < 2 {
				return c.fail("metadata", at, "field tag is cut off")
			}
			f.tag, b = c.order.get16(b), b[2:]
		}
	}
	f.typ = typeOf(encoding(enc&encodingMask), Format(format&formatMask))
	f.array = enc & flagArray
	switch e := f.typ.encoding(); {
	case e == 0 || e > maxEncoding:
		return c.fail("metadata", at, "reserved encoding")
	case f.array == flagArray:
		return c.fail("metadata", at, "array of both fixed and variable count")
	case e == encStruct && f.typ.format() == 0:
		return c.fail("metadata", at, "struct without children")
	}
	if f.array == flagFixed {
		if len(b) < 2 {
			return c.fail("metadata", at, "count of a fixed array is cut off")
		}
		f.count, b = c.order.get16(b), b[2:]
		if f.count == 0 {
			return c.fail("metadata", at, "fixed array without elements")
		}
	}
	c.field = f
	c.pos = len(c.meta) - len(b)
	return true
}

func (c *Cursor) skipMeta(n int) bool {
	for ; n > 0 && c.pos < len(c.meta); n-- {
		if !c.readMeta() {
			return false
		}
		if c.field.typ.encoding() == encStruct {
			n += int(c.field.typ.format())
		}
	}
	return true
}

func (c *Cursor) readValue() bool {
	rest := c.data[c.off:]
	e := c.field.typ.encoding()
	start, size := 0, e.size()
	switch {
	case size > 0:
	case e.counted():
		if len(rest) < 2 {
			return c.fail("data", c.off, "count of a value is cut off")
		}
		start, size = 2, int(c.order.get16(rest))*e.unit()
	default:
		size = zeroUnit(rest, e.unit())
		if size < 0 {
			return c.fail("data", c.off, "zero-terminated string does not end")
		}
	}
	if size > len(rest)-start {
		return c.fail("data", c.off, "value is longer than the event")
	}
	c.value = rest[start : start+size]
	c.off += start + size
	if start == 0 && e.unit() > 0 {
		c.off += e.unit()
	}
	c.item = itemValue
	return true
}

// zeroUnit returns the offset of the first zero unit, or -1.
func zeroUnit(b []byte, unit int) int {
	if unit == 1 {
		return bytes.IndexByte(b, 0)
	}
	var zero [4]byte
	for i := 0; i+unit <= len(b); i += unit {
		if bytes.Equal(b[i:i+unit], zero[:unit]) {
			return i
		}
	}
	return -1
}
