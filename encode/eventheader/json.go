package eventheader

import "strconv"

// AppendJSON appends the event as a JSON object without white space: "n" with
// provider and event name, the fields, and "meta" with what the header says. On
// an error it returns dst as it was.
func (ev *Event) AppendJSON(dst []byte) ([]byte, error) {
	b := append(dst, `{"n":"`...)
	b = appendEscaped(b, []byte(ev.Tracepoint.Provider), formUTF8)
	b = append(b, ':')
	b = appendEscaped(b, []byte(ev.displayName()), formUTF8)
	b = append(b, '"', ',')
	fields := len(b)
	b, err := ev.AppendFieldsJSON(b)
	if err != nil {
		return dst, err
	}
	if len(b) > fields {
		b = append(b, ',')
	}
	b = append(b, `"meta":{`...)
	b = ev.AppendMetaJSON(b)
	return append(b, '}', '}'), nil
}

// AppendFieldsJSON appends the fields as the members of a JSON object, without
// its braces: "a":1,"b":[2,3]. On an error it returns dst as it was.
func (ev *Event) AppendFieldsJSON(dst []byte) ([]byte, error) {
	c := ev.Cursor()
	b := appendMembers(dst, c)
	if err := c.Err(); err != nil {
		return dst, err
	}
	return b, nil
}

// AppendMetaJSON appends the header and the parts of the tracepoint's name as the members of a JSON
// object, without its braces. Members that are zero are omitted.
func (ev *Event) AppendMetaJSON(dst []byte) []byte {
	start := len(dst)
	key := func(name string) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, name...)
		dst = append(dst, '"', ':')
	}
	number := func(name string, v uint64) {
		if v != 0 {
			key(name)
			dst = strconv.AppendUint(dst, v, 10)
		}
	}
	hexNumber := func(name string, v uint64) {
		if v != 0 {
			key(name)
			dst = appendHex(dst, v)
		}
	}
	id := func(name string, u UUID) {
		if u != (UUID{}) {
			key(name)
			dst = append(u.append(append(dst, '"')), '"')
		}
	}
	number("id", uint64(ev.ID))
	number("version", uint64(ev.Version))
	number("level", uint64(ev.Level))
	hexNumber("keyword", ev.Tracepoint.Keyword)
	number("opcode", uint64(ev.Opcode))
	hexNumber("tag", uint64(ev.Tag))
	id("activity", ev.Activity)
	id("relatedActivity", ev.Related)
	return dst
}

// appendMembers appends all fields that a cursor has to come.
func appendMembers(dst []byte, c *Cursor) []byte {
	comma := false
	for c.Next() {
		switch c.item {
		case ItemStructEnd:
			dst, comma = append(dst, '}'), true
			continue
		case ItemArrayEnd:
			dst, comma = append(dst, ']'), true
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		if c.index < 0 {
			dst = appendKey(dst, c)
		}
		switch c.item {
		case ItemStruct:
			dst, comma = append(dst, '{'), false
		case ItemArray:
			dst, comma = append(dst, '['), false
		default:
			dst, comma = c.Value().AppendJSON(dst), true
		}
	}
	return dst
}

func appendKey(dst []byte, c *Cursor) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, c.NameBytes(), formUTF8)
	if c.field.tag != 0 {
		dst = append(dst, ";tag=0x"...)
		dst = appendUpperHex(dst, uint64(c.field.tag))
	}
	return append(dst, '"', ':')
}
