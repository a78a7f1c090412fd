package record

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/text"
)

// decodeHeader decodes an EventHeader event: first all fields, then their meaning.
func (d *Decoder) decodeHeader(raw []byte, rec *Record) error {
	if len(raw) < d.payload {
		return fmt.Errorf("%d bytes, and the payload begins at %d", len(raw), d.payload)
	}
	s := rec.scratch
	h := &s.encoded
	if err := h.Decode(d.header, raw[d.payload:]); err != nil {
		return err
	}
	s.cursor.Reset(h)
	p := headerParser{scratch: s, c: &s.cursor, plain: d.plain}
	p.fields(h)
	if err := p.c.Err(); err != nil {
		return err
	}
	if p.names > maxNames {
		return fmt.Errorf("the names of the members of structs have more than %d bytes", maxNames)
	}
	if s.header == nil {
		s.header = new(Header)
	}
	*s.header = Header{
		Name: h.Name, Provider: h.Tracepoint.Provider, Keyword: h.Tracepoint.Keyword, ID: h.ID, Tag: h.Tag, Level: uint8(h.Level), Opcode: uint8(h.Opcode),
		Version: h.Version, ActivityID: h.Activity, RelatedID: h.Related,
	}
	rec.Header = s.header
	rec.EventName, _, _ = strings.Cut(h.Name, ";") // attributes of the event may follow
	rec.Severity = severityOfHeader(h.Level)
	if !p.schema || !rec.setCommonSchema(s.top) {
		rec.fields = append(rec.fields, s.top...)
		s.numberRepeated(rec.fields)
		return nil
	}
	rec.fields = s.unique(rec.fields, 0)
	return nil
}

// maxNames limits the bytes of the names of all members of structs. The elements of an array share their names in a
// record, and each has its own in what is made of the event.
const maxNames = 1 << 20

// headerParser reads the fields of an event.
type headerParser struct {
	*scratch
	c     *eventheader.Cursor
	plain bool // see Decoder.Plain
	// escaped is set while texts have the escapes of package text, which this module writes.
	escaped bool
	schema  bool // Microsoft's Common Schema 4.0, of this module's exporters and others
	depth   int  // number of open structs and arrays
	outer   int  // how many of these are an outermost struct and its continuations
	names   int  // bytes of the names of members of structs so far
}

func (p *headerParser) fields(h *eventheader.Event) {
	partB := false
	for i := 0; p.next(); i++ {
		name := stringOf(p.c.NameBytes())
		switch {
		case p.plain:
		case i == 0 && name == "__csver__":
			p.schema = true
			p.escaped = isOwnSchema(p.c.Type(), h)
		case name == "PartB":
			partB = true
		case name == "PartC" && !partB && p.schema:
			p.escaped = false // only the exporter for Rust writes this order
		}
		p.top = append(p.top, Field{name, p.value()})
	}
}

// next moves the cursor to the next item. It returns false behind the last one, after an error, and beyond maxNames.
func (p *headerParser) next() bool { return p.names <= maxNames && p.c.Next() }

// value reads the value, struct or array at the cursor, up to its end. The depth of the cursor's stack bounds the
// recursion.
func (p *headerParser) value() Value {
	base := len(p.stack)
	p.depth++
	var v Value
	switch p.c.Item() {
	case eventheader.ItemStruct:
		// Names may repeat in an outermost struct, see Record.takeNested, and in its continuations.
		repeats := p.depth == p.outer+1 && (p.outer == 0 || string(p.c.NameBytes()) == overflowField)
		if repeats {
			p.outer++
		}
		for p.next() && p.c.Item() != eventheader.ItemStructEnd {
			name := stringOf(p.c.NameBytes())
			p.names += len(name)
			v := p.value()
			p.stack = append(p.stack, Field{name, v})
		}
		if repeats {
			p.outer--
		} else if p.schema {
			p.stack = p.unique(p.stack, base)
		}
		v = MapValue(p.end(base))
	case eventheader.ItemArray:
		for p.next() && p.c.Item() != eventheader.ItemArrayEnd {
			v := p.value()
			p.stack = append(p.stack, Field{Value: v})
		}
		v = ListValue(p.end(base))
	default:
		v = p.scalar(p.c.Value())
	}
	p.depth--
	return v
}

// scalar returns a value. A value that JSON cannot represent becomes a text, formatted as in package eventheader's
// JSON.
func (p *headerParser) scalar(v eventheader.Value) Value {
	switch f := v.Format(); f {
	case eventheader.FormatDefault:
		return Value{}
	case eventheader.FormatUnsigned, eventheader.FormatHex, eventheader.FormatPort:
		return Uint64Value(v.Uint64())
	case eventheader.FormatSigned, eventheader.FormatPID, eventheader.FormatErrno:
		return Int64Value(int64(v.Uint64()))
	case eventheader.FormatBool:
		if n := v.Uint64(); n > 1 {
			return Int64Value(int64(int32(n))) // like other decoders
		}
		return BoolValue(v.Uint64() == 1)
	case eventheader.FormatFloat:
		return Float64Value(v.Float64())
	case eventheader.FormatHexBytes:
		return BytesValue(v.Raw())
	case eventheader.FormatTime, eventheader.FormatUUID, eventheader.FormatIP:
		quoted := v.AppendJSON(nil)
		return StringValue(string(quoted[1 : len(quoted)-1]))
	default:
		s := stringOf(v.Text())
		if f == eventheader.FormatJSON && !p.plain {
			if v, ok := p.json(s); ok {
				return v
			}
		}
		if p.escaped {
			s = text.Unescape(s)
		}
		return StringValue(s)
	}
}
