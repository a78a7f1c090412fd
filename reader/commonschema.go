package reader

import (
	"math"
	"time"

	"github.com/userevents/userevents-go/encode/eventheader"
)

// Keywords of this module's events in the Common Schema.
const keywordSpans = 4

// overflowField is the struct that holds the fields beyond the encoder's limit for a struct.
const overflowField = "_overflow"

// truncatedField has the number of values that were cut or dropped.
const truncatedField = "_truncated"

// isOwnSchema reports whether an event whose first field is __csver__ may be an event of this module. The exporter for
// Rust has the same first field; its spans have another keyword. For its log records see headerParser.fields.
func isOwnSchema(t eventheader.Type, h *eventheader.Event) bool {
	return t == eventheader.TypeUnsigned32 && (h.Name != "Span" || h.Tracepoint.Keyword == keywordSpans)
}

// setCommonSchema sets ev from the parts of an event in the Common Schema. It finds fields by name at any position,
// since producers differ in types and order. It returns false if the event is neither a log record nor a span.
func (ev *Event) setCommonSchema(fields []Field) bool {
	b, _ := lookup(fields, "PartB")
	typeName, _ := b.Lookup("_typeName")
	switch typeName.Text() {
	case "Log":
		ev.Kind = KindLog
	case "Span":
		ev.Kind = KindSpan
	default:
		return false
	}
	if name := ev.EventName; name == typeName.Text() || name == "Logs" {
		ev.EventName = ""
	}
	var end time.Time
	for _, f := range fields {
		switch {
		case f.Name == "__csver__":
		case f.Name == "PartA" && f.Value.typ == TypeMap:
			end = ev.setPartA(f.Value.list)
		case f.Name == "PartB" && f.Value.typ == TypeMap:
			ev.setPartB(f.Value.list)
		case f.Name == "PartC" && f.Value.typ == TypeMap:
			ev.Fields = appendFlat(ev.Fields, f.Value.list)
		case f.Name == truncatedField && f.Value.isInteger():
			ev.Truncated = int(min(f.Value.Uint64(), math.MaxInt32))
		default:
			ev.Fields = append(ev.Fields, f)
		}
	}
	ev.spread()
	lift(ev)
	if ev.Kind == KindSpan {
		ev.Severity = 0 // a span's level is not a severity
		ev.endSpan(end)
		ev.takeNested()
	} else {
		ev.Timestamp = end
	}
	return true
}

func (v Value) isInteger() bool { return v.typ == TypeInt64 || v.typ == TypeUint64 }

// appendFlat appends the fields of a struct and those in its overflow.
func appendFlat(dst, fields []Field) []Field {
	for _, f := range fields {
		if f.Name == overflowField && f.Value.typ == TypeMap {
			dst = appendFlat(dst, f.Value.list)
		} else {
			dst = append(dst, f)
		}
	}
	return dst
}

// isID parses the value into an id, and returns false if it is not one.
func (v Value) isID(id []byte) bool {
	return v.typ == TypeString && setID(id, bytesOf(v.str))
}
