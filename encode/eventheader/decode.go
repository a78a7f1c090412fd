package eventheader

import (
	"bytes"
	"strings"
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
// Errors are [*DecodeError]; exactly one of event and error is nil. Fields are not looked at yet: [Event.Cursor],
// [Event.Tree] and [Event.AppendJSON] may still fail.
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
		return &DecodeError{Part: "header", Offset: at, Problem: problem}
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
			Arch:    archOf(flags),
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
		return &DecodeError{Part: "metadata", Problem: "event name does not end"}
	}
	if name := ev.meta[:nameEnd]; ev.Name != string(name) {
		ev.Name = string(name)
	}
	ev.meta = ev.meta[nameEnd+1:]
	return nil
}

// Clone returns a copy of the event that does not refer to the payload.
func (ev *Event) Clone() *Event {
	c := *ev
	c.activity, c.meta, c.data = bytes.Clone(ev.activity), bytes.Clone(ev.meta), bytes.Clone(ev.data)
	return &c
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

// Cursor returns a cursor before the event's first field.
func (ev *Event) Cursor() *Cursor {
	c := new(Cursor)
	c.Reset(ev)
	return c
}

// displayName returns the event's name without attributes, which follow a
// semicolon.
func (ev *Event) displayName() string {
	name, _, _ := strings.Cut(ev.Name, ";")
	return name
}

// Node is a field of a materialised event.
type Node struct {
	Name string
	Type Type // the format of a struct is its number of children
	Tag  uint16
	// Value is what [Value.Any] returns; of a struct []Node, of an array []any,
	// whose elements are values or, in an array of structs, []Node.
	Value any
}

// Tree returns the event's fields. They do not refer to the payload. Exactly one of fields and error is nil.
func (ev *Event) Tree() ([]Node, error) {
	c := ev.Cursor()
	nodes := []Node{}
	for c.Next() {
		nodes = append(nodes, c.node())
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nodes, nil
}

// node reads the field that the cursor stands at up to its end.
func (c *Cursor) node() Node {
	n := Node{Name: c.Name(), Type: c.Type(), Tag: c.Tag()}
	n.Value = c.any()
	return n
}

// any reads the value, struct or array that the cursor stands at up to its end. The depth of
// a cursor's stack bounds the recursion.
func (c *Cursor) any() any {
	switch c.item {
	case ItemStruct:
		nodes := []Node{}
		for c.Next() && c.item != ItemStructEnd {
			nodes = append(nodes, c.node())
		}
		return nodes
	case ItemArray:
		elements := []any{}
		for c.Next() && c.item != ItemArrayEnd {
			elements = append(elements, c.any())
		}
		return elements
	}
	return c.Value().Any()
}
