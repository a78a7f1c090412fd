package eventheader

import (
	"strconv"
	"strings"
	"time"
)

// node is a field of a materialised event.
type node struct {
	Name string
	Type Type // the format of a struct is its number of children
	Tag  uint16
	// Value is what [Value.any] returns; of a struct []Node, of an array []any,
	// whose elements are values or, in an array of structs, []Node.
	Value any
}

// tree returns the event's fields. They do not refer to the payload. Exactly one of fields and error is nil.
func (ev *Event) tree() ([]node, error) {
	c := ev.cursor()
	nodes := []node{}
	for c.Next() {
		nodes = append(nodes, c.node())
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nodes, nil
}

// node reads the field that the cursor stands at up to its end.
func (c *Cursor) node() node {
	n := node{Name: string(c.NameBytes()), Type: c.Type(), Tag: c.field.tag}
	n.Value = c.any()
	return n
}

// any reads the value, struct or array that the cursor stands at up to its end. The depth of
// a cursor's stack bounds the recursion.
func (c *Cursor) any() any {
	switch c.item {
	case ItemStruct:
		nodes := []node{}
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
	return c.Value().any()
}

// cursor returns a cursor before the event's first field.
func (ev *Event) cursor() *Cursor {
	c := new(Cursor)
	c.Reset(ev)
	return c
}

// any returns the value as a Go value.
func (v Value) any() any {
	switch f := v.format(); f {
	case FormatDefault:
		return nil
	case FormatUnsigned, FormatHex:
		return v.uint()
	case FormatSigned, FormatErrno, FormatPID:
		return v.int()
	case FormatTime:
		return time.Unix(v.int(), 0).UTC()
	case FormatBool:
		if n := v.uint(); n > 1 {
			return int64(int32(n))
		}
		return v.uint() == 1
	case FormatFloat:
		if len(v.raw) == 4 {
			return v.float32()
		}
		return v.float64()
	case FormatUUID:
		return UUID(v.raw)
	case FormatPort:
		return v.port()
	case FormatIP:
		return v.addr()
	case FormatHexBytes:
		return append([]byte{}, v.raw...)
	default:
		return string(v.Text())
	}
}

// appendJSON appends the event as a JSON object without white space: "n" with
// provider and event name, the fields, and "meta" with what the header says. On
// an error it returns dst as it was.
func (ev *Event) appendJSON(dst []byte) ([]byte, error) {
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
	b = ev.appendMetaJSON(b)
	return append(b, '}', '}'), nil
}

// appendMetaJSON appends the header and the parts of the tracepoint's name as the members of a JSON
// object, without its braces. Members that are zero are omitted.
func (ev *Event) appendMetaJSON(dst []byte) []byte {
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

// displayName returns the event's name without attributes, which follow a
// semicolon.
func (ev *Event) displayName() string {
	name, _, _ := strings.Cut(ev.Name, ";")
	return name
}

var encodingNames = [...]string{
	encStruct: "struct", encValue8: "value8", encValue16: "value16", encValue32: "value32", encValue64: "value64", encValue128: "value128",
	encZString8: "zstring8", encZString16: "zstring16", encZString32: "zstring32",
	encString8: "string8", encString16: "string16", encString32: "string32", encBinary: "binary",
}

var formatNames = [...]string{
	FormatDefault: "default", FormatUnsigned: "unsigned", FormatSigned: "signed", FormatHex: "hex", FormatErrno: "errno",
	FormatPID: "pid", FormatTime: "time", FormatBool: "bool", FormatFloat: "float", FormatHexBytes: "hexbytes",
	formatLatin1: "latin1", formatUTF: "utf", formatUTFBOM: "utfbom", formatXML: "xml", FormatJSON: "json",
	FormatUUID: "uuid", FormatPort: "port", FormatIP: "ip", formatOldIP: "oldip",
}

// String returns the encoding's name and, unless it is the default, the format's: "value64 signed".
func (t Type) String() string {
	s := "encoding " + strconv.Itoa(int(t.encoding()))
	if e := t.encoding(); e > 0 && e <= maxEncoding {
		s = encodingNames[e]
	}
	switch f := t.format(); {
	case f == FormatDefault:
		return s
	case int(f) < len(formatNames):
		return s + " " + formatNames[f]
	default:
		return s + " format " + strconv.Itoa(int(f))
	}
}
