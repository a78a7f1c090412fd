package reader

import "math"

// keywordSlog is the keyword of all EventHeader events of package sloghandler.
const keywordSlog = 2

// logName is the name of sloghandler's EventHeader events for undeclared records.
const logName = "slog"

// overflowField is the struct that holds the fields beyond the encoder's limit for a struct.
const overflowField = "_overflow"

// truncatedField has the number of values that were cut or dropped.
const truncatedField = "_truncated"

// setSlogHeader sets ev from the fields of a record of package sloghandler.
func (ev *Event) setSlogHeader(fields []Field) {
	ev.Kind = KindLog
	if ev.EventName == logName {
		ev.EventName = ""
	}
	for _, f := range fields {
		v := f.Value
		switch {
		case f.Name == "time_unix_nano" && v.isInteger():
			ev.Timestamp = unixNano(v.Uint64())
		case f.Name == "level" && v.Type() == TypeInt64:
			ev.setSlogLevel(v.Int64())
		case f.Name == "trace_id" && v.isID(ev.TraceID[:]), f.Name == "span_id" && v.isID(ev.SpanID[:]):
		case f.Name == "message" && v.Type() == TypeString && ev.EventName == "":
			ev.Message, ev.Body = v.Text(), v
		case f.Name == "source" && v.Type() == TypeString:
			ev.addSource(v.Text())
		case f.Name == "attributes" && v.Type() == TypeMap:
			ev.Fields = appendFlat(ev.Fields, v.Fields())
		case f.Name == truncatedField && v.isInteger():
			ev.Truncated = int(min(v.Uint64(), math.MaxInt32))
		default:
			ev.Fields = append(ev.Fields, f)
		}
	}
}

func (v Value) isInteger() bool { return v.typ == TypeInt64 || v.typ == TypeUint64 }

// isID parses the value into an id, and returns false if it is not one.
func (v Value) isID(id []byte) bool {
	return v.typ == TypeString && setID(id, bytesOf(v.str))
}

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
