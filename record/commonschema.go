package record

import (
	"math"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/eventheader"
)

// Keywords of this module's events in the Common Schema.
const keywordSpans = 4

// overflowField is the struct that holds the fields beyond the encoder's limit for a struct.
const overflowField = "_overflow"

const truncatedField = "_truncated"

// isOwnSchema reports whether an event whose first field is __csver__ may be an event of this module. The exporter for
// Rust has the same first field; its spans have another keyword. For its log records see headerParser.fields.
func isOwnSchema(t eventheader.Type, h *eventheader.Event) bool {
	return t == eventheader.TypeUnsigned32 && (h.Name != "Span" || h.Tracepoint.Keyword == keywordSpans)
}

// setCommonSchema sets rec from the parts of an event in the Common Schema. It finds fields by name at any position,
// since producers differ in types and order. It returns false if the event is neither a log record nor a span.
func (rec *Record) setCommonSchema(fields []Field) bool {
	b, _ := lookup(fields, "PartB")
	typeName, _ := b.Lookup("_typeName")
	switch typeName.Text() {
	case "Log":
		rec.Kind = KindLog
	case "Span":
		rec.Kind = KindSpan
	default:
		return false
	}
	if name := rec.EventName; name == typeName.Text() || name == "Logs" {
		rec.EventName = ""
	}
	var end time.Time
	for _, f := range fields {
		switch {
		case f.Name == "__csver__":
		case f.Name == "PartA" && f.Value.typ == TypeMap:
			end = rec.setPartA(f.Value.list)
		case f.Name == "PartB" && f.Value.typ == TypeMap:
			rec.setPartB(f.Value.list)
		case f.Name == "PartC" && f.Value.typ == TypeMap:
			rec.fields = appendFlat(rec.fields, f.Value.list)
		case f.Name == truncatedField && f.Value.isInteger():
			rec.Truncated = int(min(f.Value.Uint64(), math.MaxInt32))
		default:
			rec.fields = append(rec.fields, f)
		}
	}
	rec.spread()
	lift(rec)
	if rec.Kind == KindSpan {
		rec.Severity = 0 // a span's level is not a severity
		rec.endSpan(end)
		rec.takeNested()
	} else {
		rec.Timestamp = end
	}
	return true
}

func (v Value) isInteger() bool { return v.typ == TypeInt64 || v.typ == TypeUint64 }

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

// setPartA applies part A, the context of an event, and returns its time. Unknown fields become attributes of the
// resource, since all known producers describe the program there.
func (rec *Record) setPartA(fields []Field) (at time.Time) {
	for _, f := range fields {
		v := f.Value
		switch {
		case f.Name == "time" && v.isTime(&at),
			f.Name == "ext_dt_traceId" && v.isID(rec.TraceID[:]),
			f.Name == "ext_dt_spanId" && v.isID(rec.SpanID[:]):
		case f.Name == "ext_dt_traceFlags" && v.isInteger():
			rec.TraceFlags, rec.HasTraceFlags = uint8(v.Uint64()), true
		case f.Name == "ext_cloud_role" && v.typ == TypeString:
			rec.ServiceName = v.str
		case f.Name == "ext_cloud_roleInstance" && v.typ == TypeString:
			rec.Resource = append(rec.Resource, Field{"service.instance.id", v})
		case v.typ == TypeMap && (f.Name == "ext_dt" || f.Name == "ext_cloud" || f.Name == "ext_ex"):
			rec.setExtension(f.Name, v.list)
		case exceptionNames[f.Name] != "":
			rec.fields = append(rec.fields, Field{exceptionNames[f.Name], v})
		default:
			rec.Resource = append(rec.Resource, f)
		}
	}
	return at
}

var exceptionNames = map[string]string{
	"ext_ex_type":  "exception.type",
	"ext_ex_msg":   "exception.message",
	"ext_ex_stack": "exception.stacktrace",
}

// setExtension applies a struct of part A. Most producers write its fields without the struct, and prefix their names
// with the struct's.
func (rec *Record) setExtension(name string, fields []Field) {
	for _, f := range fields {
		v := f.Value
		switch {
		case f.Name == "traceId" && v.isID(rec.TraceID[:]), f.Name == "spanId" && v.isID(rec.SpanID[:]):
		case f.Name == "role" && v.typ == TypeString:
			rec.ServiceName = v.str
		case f.Name == "roleInstance":
			rec.Resource = append(rec.Resource, Field{"service.instance.id", v})
		default:
			rec.Resource = append(rec.Resource, Field{name + "_" + f.Name, v})
		}
	}
}

// setPartB applies part B, the general fields of logs or spans, which include some attributes of spans.
func (rec *Record) setPartB(fields []Field) {
	for _, f := range fields {
		v := f.Value
		var known bool
		if rec.Kind == KindLog {
			known = rec.setLogField(f.Name, v)
		} else {
			known = rec.setSpanField(f.Name, v)
		}
		if !known && f.Name != "_typeName" {
			if key := wellKnown[f.Name]; key != "" && rec.Kind == KindSpan {
				f.Name = key
			}
			rec.fields = append(rec.fields, f)
		}
	}
}

func (rec *Record) setLogField(name string, v Value) bool {
	switch {
	case name == "body":
		rec.Message, rec.Body = v.words(), v
	case name == "severityNumber" && v.isInteger() && v.Uint64() <= uint64(maxSeverity):
		rec.Severity = Severity(v.Uint64())
	case name == "severityText" && v.typ == TypeString:
		rec.SeverityText = v.str
	case name == "name" && v.typ == TypeString:
		rec.EventName = v.str
	case name == "eventId":
		rec.fields = append(rec.fields, Field{"event_id", v})
	default:
		return false
	}
	return true
}

func (rec *Record) setSpanField(name string, v Value) bool {
	switch {
	case name == "name" && v.typ == TypeString:
		rec.Message = v.str
	case name == "startTime" && v.isTime(&rec.Timestamp), name == "parentId" && v.isID(rec.ParentSpanID[:]):
	case name == "success" && v.typ == TypeBool:
		if !v.Bool() {
			rec.Status = StatusError
		}
	case name == "kind" && v.isInteger() && v.Uint64() < uint64(SpanKindConsumer):
		rec.SpanKind = SpanKind(v.Uint64() + 1)
	case name == "statusMessage" && v.typ == TypeString:
		rec.StatusMessage = v.str
	case name == "traceState" && v.typ == TypeString:
		rec.TraceState = v.str
	case name == "links" && rec.setLinks(v):
	default:
		return false
	}
	return true
}

var wellKnown = map[string]string{
	"dbSystem":             "db.system.name",
	"dbName":               "db.namespace",
	"dbStatement":          "db.query.text",
	"httpMethod":           "http.request.method",
	"httpUrl":              "url.full",
	"httpStatusCode":       "http.response.status_code",
	"messagingSystem":      "messaging.system",
	"messagingDestination": "messaging.destination.name",
	"messagingUrl":         "messaging.url",
	"rpcSystem":            "rpc.system.name",
	"rpcGrpcStatusCode":    "rpc.response.status_code",
}

// isTime parses a value in RFC 3339 into t, and returns false if it is not one.
func (v Value) isTime(t *time.Time) bool {
	if v.typ != TypeString {
		return false
	}
	parsed, err := time.Parse(time.RFC3339, v.str)
	if err != nil {
		return false
	}
	*t = parsed.UTC()
	return true
}

// words returns the value as a message: a text unchanged, nothing for null, and JSON for other types.
func (v Value) words() string {
	switch v.typ {
	case TypeString:
		return v.str
	case TypeNull:
		return ""
	default:
		return string(v.AppendJSON(nil))
	}
}

// setLinks sets the links of a span from a JSON list of toTraceId and toSpanId. It returns false for any other value.
func (rec *Record) setLinks(v Value) bool {
	if v.typ == TypeString {
		v, _ = rec.scratch.json(v.str)
	}
	if v.typ != TypeList {
		return false
	}
	for _, f := range v.list {
		var link NestedLink
		for _, f := range f.Value.list {
			link.set(f)
		}
		rec.NestedLinks = append(rec.NestedLinks, link)
	}
	return true
}

func (l *NestedLink) set(f Field) {
	v := f.Value
	switch f.Name {
	case "toTraceId":
		v.isID(l.TraceID[:])
	case "toSpanId":
		v.isID(l.SpanID[:])
	case "traceFlags":
		l.TraceFlags = uint8(v.Uint64())
	case "traceState":
		l.TraceState = v.Text()
	case "droppedAttributesCount":
		l.DroppedAttributes = count(v.Uint64())
	case "attributes":
		l.Attributes = v.list
	}
}

// set applies a field of an event.
func (e *NestedEvent) set(f Field) {
	v := f.Value
	switch f.Name {
	case "name":
		e.Name = v.Text()
	case "time":
		v.isTime(&e.Time)
	case "droppedAttributesCount":
		e.DroppedAttributes = count(v.Uint64())
	case "attributes":
		e.Attributes = v.list
	}
}

// takeNested moves the structs that are events and links of a span out of its fields.
func (rec *Record) takeNested() {
	listed := rec.NestedLinks
	rec.fields = slices.DeleteFunc(rec.fields, func(f Field) bool {
		switch {
		case f.Value.typ != TypeMap:
			return false
		case f.Name == "user_events.event":
			var e NestedEvent
			for _, f := range f.Value.list {
				e.set(f)
			}
			rec.NestedEvents = append(rec.NestedEvents, e)
			return true
		case f.Name == "user_events.link":
			var l NestedLink
			for _, f := range f.Value.list {
				l.set(f)
			}
			listed = rec.addLink(l, listed)
			return true
		}
		return false
	})
	rec.EventCount = max(rec.EventCount, uint32(len(rec.NestedEvents)))
	rec.LinkCount = max(rec.LinkCount, uint32(len(rec.NestedLinks)))
}

// addLink adds a link. If part B lists links with the same ids, it replaces the first of them: part C has the same
// order, but may lack some. It returns the listed links behind that one.
func (rec *Record) addLink(l NestedLink, listed []NestedLink) []NestedLink {
	for i := range listed {
		if listed[i].TraceID == l.TraceID && listed[i].SpanID == l.SpanID {
			listed[i] = l
			return listed[i+1:]
		}
	}
	rec.NestedLinks = append(rec.NestedLinks, l)
	return listed
}

func (rec *Record) endSpan(end time.Time) {
	if !end.IsZero() && !rec.Timestamp.IsZero() {
		rec.Duration = end.Sub(rec.Timestamp)
	}
}

// spread replaces the JSON text in which an exporter for .NET writes attributes without a configured column by its
// members.
func (rec *Record) spread() {
	const properties = "env_properties"
	for i, f := range rec.fields {
		if f.Name == properties && f.Value.typ == TypeString {
			if fields, ok := rec.scratch.object(f.Value.str, rec.fields); ok {
				rec.fields = slices.Delete(fields, i, i+1)
			}
			return
		}
	}
}
