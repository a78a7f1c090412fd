package output

import (
	"strconv"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// object appends the non-empty members of a JSON object.
type object struct {
	b     []byte
	first bool
}

func begin(b []byte) object { return object{append(b, '{'), true} }

func (o *object) key(name string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) end() []byte { return append(o.b, '}') }

func (o *object) str(name, s string) {
	if s != "" {
		o.key(name)
		o.b = attrjson.AppendString(o.b, s)
	}
}

func (o *object) uint(name string, v uint64) {
	if v != 0 {
		o.key(name)
		o.b = strconv.AppendUint(o.b, v, 10)
	}
}

func (o *object) id(name string, id []byte) {
	if !isZero(id) {
		o.key(name)
		o.b = appendHex(o.b, id)
	}
}

func (o *object) value(name string, v reader.Value) {
	if v.Type() != reader.TypeNull {
		o.key(name)
		o.b = v.AppendJSON(o.b)
	}
}

func (o *object) fields(name string, list []reader.Field) {
	if len(list) > 0 {
		o.key(name)
		o.b = reader.AppendJSON(o.b, list)
	}
}

// list appends a JSON array of n elements, or nothing if n is 0.
func (o *object) list(name string, n int, element func(b []byte, i int) []byte) {
	if n > 0 {
		o.key(name)
		o.b = appendArray(o.b, n, element)
	}
}

func appendArray(b []byte, n int, element func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, i)
	}
	return append(b, ']')
}

func appendNestedEvents(b []byte, list []reader.NestedEvent, c *clock) []byte {
	if len(list) == 0 {
		return b
	}
	return appendArray(b, len(list), func(b []byte, i int) []byte {
		e := &list[i]
		o := begin(b)
		o.str("name", e.Name)
		if !e.Time.IsZero() {
			o.key("timestamp")
			o.b = c.appendQuoted(o.b, e.Time)
		}
		o.uint("dropped_attributes", uint64(e.DroppedAttributes))
		o.fields("fields", e.Attributes)
		return o.end()
	})
}

func appendNestedLinks(b []byte, list []reader.NestedLink) []byte {
	if len(list) == 0 {
		return b
	}
	return appendArray(b, len(list), func(b []byte, i int) []byte {
		l := &list[i]
		o := begin(b)
		o.id("trace_id", l.TraceID[:])
		o.id("span_id", l.SpanID[:])
		o.uint("trace_flags", uint64(l.TraceFlags))
		o.str("trace_state", l.TraceState)
		o.uint("dropped_attributes", uint64(l.DroppedAttributes))
		o.fields("fields", l.Attributes)
		return o.end()
	})
}

// appendHeader appends the header of an EventHeader event.
func appendHeader(b []byte, ev *reader.Event, _ *clock, _ bool) []byte {
	h := ev.Header
	if h == nil {
		return b
	}
	o := begin(b)
	o.str("name", h.Name)
	o.uint("id", uint64(h.ID))
	o.uint("version", uint64(h.Version))
	o.uint("tag", uint64(h.Tag))
	o.uint("opcode", uint64(h.Opcode))
	o.uint("level", uint64(h.Level))
	o.id("activity_id", h.Activity[:])
	o.id("related_activity_id", h.Related[:])
	return o.end()
}

func appendAddresses(b []byte, list []uint64) []byte {
	if len(list) == 0 {
		return b
	}
	return appendArray(b, len(list), func(b []byte, i int) []byte {
		return append(strconv.AppendUint(append(b, `"0x`...), list[i], 16), '"')
	})
}
