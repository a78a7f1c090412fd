package reader

import "time"

// setPartA applies part A, the context of an event, and returns its time. Unknown fields become attributes of the
// resource, since all known producers describe the program there.
func (ev *Event) setPartA(fields []Field) (at time.Time) {
	for _, f := range fields {
		v := f.Value
		switch {
		case f.Name == "time" && v.isTime(&at),
			f.Name == "ext_dt_traceId" && v.isID(ev.TraceID[:]),
			f.Name == "ext_dt_spanId" && v.isID(ev.SpanID[:]):
		case f.Name == "ext_dt_traceFlags" && v.isInteger():
			ev.TraceFlags = uint8(v.Uint64())
		case f.Name == "ext_cloud_role" && v.typ == TypeString:
			ev.ServiceName = v.str
		case f.Name == "ext_cloud_roleInstance" && v.typ == TypeString:
			ev.Resource = append(ev.Resource, Field{"service.instance.id", v})
		case v.typ == TypeMap && (f.Name == "ext_dt" || f.Name == "ext_cloud" || f.Name == "ext_ex"):
			ev.setExtension(f.Name, v.list)
		case exceptionNames[f.Name] != "":
			ev.Fields = append(ev.Fields, Field{exceptionNames[f.Name], v})
		default:
			ev.Resource = append(ev.Resource, f)
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
func (ev *Event) setExtension(name string, fields []Field) {
	for _, f := range fields {
		v := f.Value
		switch {
		case f.Name == "traceId" && v.isID(ev.TraceID[:]), f.Name == "spanId" && v.isID(ev.SpanID[:]):
		case f.Name == "role" && v.typ == TypeString:
			ev.ServiceName = v.str
		case f.Name == "roleInstance":
			ev.Resource = append(ev.Resource, Field{"service.instance.id", v})
		default:
			ev.Resource = append(ev.Resource, Field{name + "_" + f.Name, v})
		}
	}
}

// setPartB applies part B, the general fields of logs or spans, which include some attributes of spans.
func (ev *Event) setPartB(fields []Field) {
	for _, f := range fields {
		v := f.Value
		var known bool
		if ev.Kind == KindLog {
			known = ev.setLogField(f.Name, v)
		} else {
			known = ev.setSpanField(f.Name, v)
		}
		if !known && f.Name != "_typeName" {
			if key := wellKnown[f.Name]; key != "" && ev.Kind == KindSpan {
				f.Name = key
			}
			ev.Fields = append(ev.Fields, f)
		}
	}
}

func (ev *Event) setLogField(name string, v Value) bool {
	switch {
	case name == "body":
		ev.Message, ev.Body = v.words(), v
	case name == "severityNumber" && v.isInteger() && v.Uint64() <= uint64(maxSeverity):
		ev.Severity = Severity(v.Uint64())
	case name == "severityText" && v.typ == TypeString:
		ev.SeverityText = v.str
	case name == "name" && v.typ == TypeString:
		ev.EventName = v.str
	case name == "eventId":
		ev.Fields = append(ev.Fields, Field{"event_id", v})
	default:
		return false
	}
	return true
}

func (ev *Event) setSpanField(name string, v Value) bool {
	switch {
	case name == "name" && v.typ == TypeString:
		ev.Message = v.str
	case name == "startTime" && v.isTime(&ev.Timestamp), name == "parentId" && v.isID(ev.ParentSpanID[:]):
	case name == "success" && v.typ == TypeBool:
		if !v.Bool() {
			ev.Status = StatusError
		}
	case name == "kind" && v.isInteger() && v.Uint64() < uint64(SpanKindConsumer):
		ev.SpanKind = SpanKind(v.Uint64() + 1)
	case name == "statusMessage" && v.typ == TypeString:
		ev.StatusMessage = v.str
	case name == "traceState" && v.typ == TypeString:
		ev.TraceState = v.str
	case name == "links" && ev.setLinks(v):
	default:
		return false
	}
	return true
}

// wellKnown maps the names in part B to attributes of spans.
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
