package output

import (
	"cmp"
	"encoding/hex"
	"slices"
	"time"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// column is a named part of all events. JSON, templates and Options.Fields use the same name.
type column struct {
	name string
	// append appends the value as JSON, or as text that is safe to print. It appends nothing if the event lacks it.
	append func(b []byte, ev *reader.Event, c *clock, json bool) []byte
}

// columns are all columns, in the order of the JSON objects.
var columns = []column{
	{"time", func(b []byte, ev *reader.Event, c *clock, json bool) []byte {
		if json {
			return c.kernel.appendQuoted(b, ev.Time)
		}
		return c.append(b, ev.Time, ev.Monotonic)
	}},
	{"monotonic_ns", number(func(ev *reader.Event) uint64 { return ev.Monotonic })},
	{"system", str(func(ev *reader.Event) string { return ev.System })},
	{"event", str(func(ev *reader.Event) string { return ev.Name })},
	{"kind", str(func(ev *reader.Event) string { return ev.Kind.String() })},
	{"severity", str(severity)},
	{"severity_number", number(func(ev *reader.Event) uint64 { return uint64(ev.Severity) })},
	{"severity_text", str(func(ev *reader.Event) string { return ev.SeverityText })},
	{"message", str(func(ev *reader.Event) string { return ev.Message })},
	{"body", func(b []byte, ev *reader.Event, _ *clock, json bool) []byte {
		if !hasOtherBody(ev) {
			return b
		}
		return appendValue(b, ev.Body, json)
	}},
	{"event_name", str(func(ev *reader.Event) string { return ev.EventName })},
	{"program", str(func(ev *reader.Event) string { return process(ev).Comm })},
	{"pid", number(func(ev *reader.Event) uint64 { return uint64(ev.PID) })},
	{"exe", str(func(ev *reader.Event) string { return process(ev).Exe })},
	{"cgroup", str(func(ev *reader.Event) string { return process(ev).Cgroup })},
	{"container_id", str(func(ev *reader.Event) string { return process(ev).ContainerID })},
	{"process_service", str(func(ev *reader.Event) string { return process(ev).ServiceName })},
	{"tid", number(func(ev *reader.Event) uint64 { return uint64(ev.TID) })},
	{"cpu", func(b []byte, ev *reader.Event, _ *clock, _ bool) []byte {
		return attrjson.AppendInt(b, int64(ev.CPU))
	}},
	{"cgroup_id", number(func(ev *reader.Event) uint64 { return ev.CgroupID })},
	{"trace_id", id(func(ev *reader.Event) []byte { return ev.TraceID[:] })},
	{"span_id", id(func(ev *reader.Event) []byte { return ev.SpanID[:] })},
	{"parent_span_id", id(func(ev *reader.Event) []byte { return ev.ParentSpanID[:] })},
	{"linked_trace_id", id(func(ev *reader.Event) []byte { return ev.LinkedTraceID[:] })},
	{"linked_span_id", id(func(ev *reader.Event) []byte { return ev.LinkedSpanID[:] })},
	{"trace_flags", number(func(ev *reader.Event) uint64 { return uint64(ev.TraceFlags) })},
	{"trace_state", str(func(ev *reader.Event) string { return ev.TraceState })},
	{"parent_remote", truth(func(ev *reader.Event) bool { return ev.ParentRemote })},
	{"span_kind", str(func(ev *reader.Event) string {
		if ev.SpanKind == 0 {
			return ""
		}
		return ev.SpanKind.String()
	})},
	{"status", str(func(ev *reader.Event) string {
		if ev.Status == 0 {
			return ""
		}
		return ev.Status.String()
	})},
	{"status_message", str(func(ev *reader.Event) string { return ev.StatusMessage })},
	{"duration_ns", number(func(ev *reader.Event) uint64 { return uint64(ev.Duration) })},
	{"duration", func(b []byte, ev *reader.Event, _ *clock, json bool) []byte {
		if ev.Kind != reader.KindSpan || json { // JSON has duration_ns
			return b
		}
		return AppendDuration(b, ev.Duration)
	}},
	{"event_count", number(func(ev *reader.Event) uint64 { return uint64(ev.EventCount) })},
	{"link_count", number(func(ev *reader.Event) uint64 { return uint64(ev.LinkCount) })},
	{"dropped_events", number(func(ev *reader.Event) uint64 { return uint64(ev.DroppedEvents) })},
	{"dropped_links", number(func(ev *reader.Event) uint64 { return uint64(ev.DroppedLinks) })},
	{"dropped_attributes", number(func(ev *reader.Event) uint64 { return uint64(ev.DroppedAttributes) })},
	{"truncated", number(func(ev *reader.Event) uint64 { return uint64(ev.Truncated) })},
	{"duplicate", truth(func(ev *reader.Event) bool { return ev.Duplicate })},
	{"undecodable", func(b []byte, ev *reader.Event, _ *clock, json bool) []byte {
		if !ev.Undecodable {
			return b
		}
		return appendValue(b, reader.BytesValue(ev.Raw), json)
	}},
	{"timestamp", stamp(func(ev *reader.Event) time.Time { return ev.Timestamp })},
	{"observed", stamp(func(ev *reader.Event) time.Time { return ev.Observed })},
	{"service", str(func(ev *reader.Event) string { return ev.ServiceName })},
	{"scope", str(func(ev *reader.Event) string { return ev.ScopeName })},
	{"scope_version", str(func(ev *reader.Event) string { return ev.ScopeVersion })},
	{"scope_schema_url", str(func(ev *reader.Event) string { return ev.ScopeSchemaURL })},
	{"scope_attributes", fields(func(ev *reader.Event) []reader.Field { return ev.ScopeAttributes })},
	{"resource", fields(func(ev *reader.Event) []reader.Field { return ev.Resource })},
	{"metric", func(b []byte, ev *reader.Event, c *clock, json bool) []byte {
		if ev.Point == nil {
			return b
		}
		if json {
			return appendPointJSON(b, ev.Point, c)
		}
		return appendPoint(b, ev.Point)
	}},
	{"events", func(b []byte, ev *reader.Event, c *clock, _ bool) []byte {
		return appendNestedEvents(b, ev.NestedEvents, c)
	}},
	{"links", func(b []byte, ev *reader.Event, _ *clock, _ bool) []byte { return appendNestedLinks(b, ev.NestedLinks) }},
	{"header", appendHeader},
	{"callchain", func(b []byte, ev *reader.Event, _ *clock, _ bool) []byte { return appendAddresses(b, ev.Callchain) }},
	{"fields", func(b []byte, ev *reader.Event, _ *clock, _ bool) []byte {
		if len(ev.Fields) > 0 {
			return reader.AppendJSON(b, ev.Fields)
		}
		return append(b, ev.FieldsJSON...)
	}},
}

// hasOtherBody reports whether the body of a log record is not its message. Bytes and NaN are texts in JSON, which are read
// back as such.
func hasOtherBody(ev *reader.Event) bool {
	t := ev.Body.Type()
	return t != reader.TypeNull && (t != reader.TypeString || ev.Body.Text() != ev.Message)
}

var columnOf = func() map[string]*column {
	m := make(map[string]*column, len(columns))
	for i := range columns {
		m[columns[i].name] = &columns[i]
	}
	return m
}()

// ColumnNames returns the names of all columns, for completion. Fields of events can be selected as well.
func ColumnNames() (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// Unseen finds names of [Options].Fields that no event has, such as misspelt ones. The zero value has none.
type Unseen struct{ names []string }

// NewUnseen returns the names that are no columns, which events may lack.
func NewUnseen(fields []string) Unseen {
	var u Unseen
	for _, name := range fields {
		if columnOf[name] == nil {
			u.names = append(u.names, name)
		}
	}
	return u
}

// See removes the names of fields that an event has.
func (u *Unseen) See(ev *reader.Event) {
	u.names = slices.DeleteFunc(u.names, func(name string) bool {
		_, found := ev.Lookup(name)
		return found
	})
}

// Names returns the names that no event had.
func (u *Unseen) Names() []string { return u.names }

// appendSelected appends the column or else the field with a name from Options.Fields.
func appendSelected(b []byte, name string, ev *reader.Event, c *clock, json bool) []byte {
	n := len(b)
	if col := columnOf[name]; col != nil {
		b = col.append(b, ev, c, json)
	}
	if len(b) == n {
		if v, ok := ev.Lookup(name); ok {
			b = appendValue(b, v, json)
		}
	}
	return b
}

func appendValue(b []byte, v reader.Value, json bool) []byte {
	if json {
		return v.AppendJSON(b)
	}
	return v.AppendText(b)
}

var noProcess reader.Process

func process(ev *reader.Event) *reader.Process {
	if ev.Process == nil {
		return &noProcess
	}
	return ev.Process
}

// AppendProcess appends NAME[PID], with a question mark for an unknown name.
func AppendProcess(b []byte, comm string, pid int32) []byte {
	return appendPID(appendText(b, cmp.Or(comm, "?")), pid)
}

func appendPID(b []byte, pid int32) []byte {
	return append(attrjson.AppendInt(append(b, '['), int64(pid)), ']')
}

func severity(ev *reader.Event) string {
	if ev.Severity == 0 {
		return ""
	}
	return ev.Severity.String()
}

func str(get func(*reader.Event) string) func([]byte, *reader.Event, *clock, bool) []byte {
	return func(b []byte, ev *reader.Event, _ *clock, json bool) []byte {
		s := get(ev)
		switch {
		case s == "":
			return b
		case json:
			return attrjson.AppendString(b, s)
		}
		return appendText(b, s)
	}
}

// appendText appends a text of a program as one line of printable characters.
func appendText(b []byte, s string) []byte {
	b, _ = text.Append(b, s, attrjson.NoLimit)
	return b
}

func number(get func(*reader.Event) uint64) func([]byte, *reader.Event, *clock, bool) []byte {
	return func(b []byte, ev *reader.Event, _ *clock, _ bool) []byte {
		if v := get(ev); v != 0 {
			b = attrjson.AppendUint(b, v)
		}
		return b
	}
}

func truth(get func(*reader.Event) bool) func([]byte, *reader.Event, *clock, bool) []byte {
	return func(b []byte, ev *reader.Event, _ *clock, _ bool) []byte {
		if get(ev) {
			b = append(b, "true"...)
		}
		return b
	}
}

func id(get func(*reader.Event) []byte) func([]byte, *reader.Event, *clock, bool) []byte {
	return func(b []byte, ev *reader.Event, _ *clock, json bool) []byte {
		v := get(ev)
		switch {
		case isZero(v):
			return b
		case json:
			return appendHex(b, v)
		}
		return hex.AppendEncode(b, v)
	}
}

func isZero(id []byte) bool {
	for _, c := range id {
		if c != 0 {
			return false
		}
	}
	return true
}

func stamp(get func(*reader.Event) time.Time) func([]byte, *reader.Event, *clock, bool) []byte {
	return func(b []byte, ev *reader.Event, c *clock, json bool) []byte {
		t := get(ev)
		switch {
		case t.IsZero():
			return b
		case json:
			return c.appendQuoted(b, t)
		}
		return c.appendRFC3339(b, t)
	}
}

func fields(get func(*reader.Event) []reader.Field) func([]byte, *reader.Event, *clock, bool) []byte {
	return func(b []byte, ev *reader.Event, _ *clock, _ bool) []byte {
		if list := get(ev); len(list) > 0 {
			b = reader.AppendJSON(b, list)
		}
		return b
	}
}

// appendHex appends bytes in hexadecimal, in quotes.
func appendHex(b, v []byte) []byte { return append(hex.AppendEncode(append(b, '"'), v), '"') }
