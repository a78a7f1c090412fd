package registry

import (
	"encoding/binary"

	"github.com/userevents/userevents-go/tracepoint"
)

// location is the location word of a dynamic field.
type location struct {
	at   int // of the word in the payload
	from int // what its offset counts from
	text bool
}

// locations lists the dynamic fields of an event.
func locations(fields []tracepoint.Field) (list []location) {
	at := 0
	for _, f := range fields {
		l := location{at: at, from: -tracepoint.CommonSize, text: f.Type.Kind == tracepoint.Char || f.Type.Kind == tracepoint.UChar}
		at += f.Type.FixedSize()
		switch f.Type.Location {
		case tracepoint.Fixed:
			continue
		case tracepoint.RelLoc:
			l.from = at
		}
		list = append(list, l)
	}
	return list
}

// Valid checks the locations of dynamic fields as the kernel does: their end must lie inside the payload and, for text, behind a
// NUL. The kernel does not check their beginning. The payload is that of a record that [File.At] has found the event of.
func (e *Event[S]) Valid(payload []byte) bool {
	for i := range e.dynamic {
		l := &e.dynamic[i]
		word := binary.NativeEndian.Uint32(payload[l.at:])
		end := l.from + int(word&0xffff) + int(word>>16)
		if end > len(payload) {
			return false
		}
		// A text that ends in the common fields, or before, depends on bytes which no program knows.
		if l.text && (end <= 0 || payload[end-1] != 0) {
			return false
		}
	}
	return true
}
