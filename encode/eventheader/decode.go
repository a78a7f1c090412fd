package eventheader

import "bytes"

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
			arch:    archOf(flags),
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
