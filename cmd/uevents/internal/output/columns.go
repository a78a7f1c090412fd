package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

// column is a named part of all events. JSON, templates and Options.Fields use the same name.
type column = member[record.Record]

// columns are all columns, in the order of the JSON objects. Their names and types are documented, and none changes.
var columns = slices.Concat(
	in(0,
		column{"time", aTime, "when the kernel took the record", 0, appendTime, moment("", "", func(ev *record.Record) *time.Time { return &ev.Time }).parse},
		number("monotonic_ns", "CLOCK_MONOTONIC of the kernel, which orders records", func(ev *record.Record) *uint64 { return &ev.Monotonic }),
		str("system", "of the tracepoint, such as user_events", func(ev *record.Record) *string { return &ev.System }),
		str("event", "the name of the tracepoint", func(ev *record.Record) *string { return &ev.Name }),
		named("kind", "log, span, span start, span event, span link, metric, other, or lost: see below", 0, record.KindMetric,
			func(ev *record.Record) *record.Kind { return &ev.Kind }),
		column{"severity", aText, "OpenTelemetry's name, such as INFO", 0, appendSeverity, nil},
		column{
			"severity_number", aNumber, "OpenTelemetry's number, such as 9", 0,
			number("", "", func(ev *record.Record) *record.Severity { return &ev.Severity }).append, parseSeverity,
		},
		str("severity_text", "the program's own name for it", func(ev *record.Record) *string { return &ev.SeverityText }),
		column{
			"message", aText, "the text of a log record, the name of a span or a metric; declared records have none", 0,
			str("", "", func(ev *record.Record) *string { return &ev.Message }).append, parseMessage,
		}),
	in(rarePart,
		column{"body", "any", "of a log record, if it is not a text", 0, appendBody, func(ev *record.Record, v *record.Value) error { ev.Body = *v; return nil }},
		str("event_name", "of a log record, or of an EventHeader event; of a declared record its event", func(ev *record.Record) *string { return &ev.EventName })),
	in(0,
		ofProcess("program", "the name of the process that wrote the record, as the process was then", func(p *record.Process) *string { return &p.Comm }),
		number("pid", "the process", func(ev *record.Record) *int32 { return &ev.PID }),
		ofProcess("exe", "the path of its file", func(p *record.Process) *string { return &p.Exe }),
		ofProcess("cgroup", "the path in the cgroup file system", func(p *record.Process) *string { return &p.Cgroup }),
		ofProcess("unit", "the systemd unit, the innermost one: of a user's service the user's", func(p *record.Process) *string { return &p.Unit }),
		ofProcess("container_id", "of docker, containerd, CRI-O and podman", func(p *record.Process) *string { return &p.ContainerID }),
		ofProcess("pod_uid", "of Kubernetes", func(p *record.Process) *string { return &p.PodUID }),
		ofProcess("process_service", "the service.name that the process publishes as OpenTelemetry's process context",
			func(p *record.Process) *string { return &p.ServiceName }),
		number("tid", "the thread; records in shared memory do not tell", func(ev *record.Record) *int32 { return &ev.TID }),
		column{
			"cpu", aNumber, "the CPU that it ran on; records in shared memory do not tell", 0, appendCPU,
			number("", "", func(ev *record.Record) *int { return &ev.CPU }).parse,
		}),
	in(rarePart,
		number("cgroup_id", "the inode number of the cgroup's directory", func(ev *record.Record) *uint64 { return &ev.CgroupID })),
	in(tracePart,
		id("trace_id", "of the record's span", func(ev *record.Record) []byte { return ev.TraceID[:] }),
		id("span_id", "of a span's event or link: the span that it belongs to", func(ev *record.Record) []byte { return ev.SpanID[:] })),
	in(spanPart,
		id("parent_span_id", "", func(ev *record.Record) []byte { return ev.ParentSpanID[:] }),
		id("linked_trace_id", "where a span link leads to", func(ev *record.Record) []byte { return ev.LinkedTraceID[:] }),
		id("linked_span_id", "", func(ev *record.Record) []byte { return ev.LinkedSpanID[:] })),
	in(tracePart,
		column{"trace_flags", aNumber, "1: sampled", 0, appendTraceFlags, parseTraceFlags}),
	in(spanPart,
		str("trace_state", "of the W3C's trace context", func(ev *record.Record) *string { return &ev.TraceState }),
		truth("parent_remote", "the parent span is another program's", func(ev *record.Record) *bool { return &ev.ParentRemote }),
		named("span_kind", "internal, server, client, producer or consumer", 1, record.SpanKindConsumer, func(ev *record.Record) *record.SpanKind { return &ev.SpanKind }),
		named("status", "ok or error", 1, record.StatusError, func(ev *record.Record) *record.Status { return &ev.Status }),
		str("status_message", "", func(ev *record.Record) *string { return &ev.StatusMessage }),
		number("duration_ns", "of a span", func(ev *record.Record) *time.Duration { return &ev.Duration }),
		column{"duration", "", "", 0, appendSpanDuration, nil},
		number("event_count", "of a span, in its record or in their own", func(ev *record.Record) *uint32 { return &ev.EventCount }),
		number("link_count", "", func(ev *record.Record) *uint32 { return &ev.LinkCount }),
		number("dropped_events", "what the program's OpenTelemetry SDK dropped", func(ev *record.Record) *uint32 { return &ev.DroppedEvents }),
		number("dropped_links", "", func(ev *record.Record) *uint32 { return &ev.DroppedLinks })),
	in(rarePart,
		number("dropped_attributes", "", func(ev *record.Record) *uint32 { return &ev.DroppedAttributes }),
		number("truncated", "how many values the program cut or dropped because the record was too long", func(ev *record.Record) *int { return &ev.Truncated }),
		truth("duplicate", "the record was also written to the event of its declaration", func(ev *record.Record) *bool { return &ev.Duplicate }),
		column{"undecodable", "bytes", "a record that does not fit the format of its event: it has no fields", 0, appendUndecodable, parseUndecodable}),
	in(0,
		moment("timestamp", "when the program says that it was; the start of a span", func(ev *record.Record) *time.Time { return &ev.Timestamp })),
	in(rarePart,
		moment("observed", "when the program's logger received the record", func(ev *record.Record) *time.Time { return &ev.Observed })),
	in(originPart,
		str("service", "service.name of OpenTelemetry's resource", func(ev *record.Record) *string { return &ev.ServiceName }),
		str("scope", "the name of OpenTelemetry's instrumentation scope", func(ev *record.Record) *string { return &ev.ScopeName }),
		str("scope_version", "", func(ev *record.Record) *string { return &ev.ScopeVersion }),
		str("scope_schema_url", "", func(ev *record.Record) *string { return &ev.ScopeSchemaURL }),
		fields("scope_attributes", "", func(ev *record.Record) *[]record.Field { return &ev.ScopeAttributes }),
		fields("resource", "the other attributes of the resource", func(ev *record.Record) *[]record.Field { return &ev.Resource })),
	in(rarePart,
		column{"metric", object, "a data point: type, unit, temporality, value, count, sum, bounds, bucket_counts, ...", 0, appendMetric, parseMetric}),
	in(spanPart,
		array("events", "objects: those in the record of the span", nestedEvents, func(ev *record.Record) *[]record.NestedEvent { return &ev.NestedEvents }),
		array("links", "", nestedLinks, func(ev *record.Record) *[]record.NestedLink { return &ev.NestedLinks })),
	in(rarePart,
		column{"header", object, "of an EventHeader event", 0, appendHeader, parseHeader},
		array("callchain", "with --stack: texts of addresses, innermost first", addresses, func(ev *record.Record) *[]uint64 { return &ev.Callchain })),
	in(0,
		column{
			"fields", object, "everything else; the second field of one name is NAME_2, and so on", 0, appendFields,
			func(*record.Record, *record.Value) error { return nil }, // see record.Record.SetJSON
		}),
)

// stackDoc documents the member of [appendStack], which is no column.
const stackDoc = "with --stack: objects of function, file and line, or address and object, innermost first"

// in returns columns that belong to a part; 0 is none.
func in(p part, list ...column) []column {
	for i := range list {
		list[i].part = p
	}
	return list
}

// ofProcess returns a column of the process that wrote the event.
func ofProcess(name, doc string, at func(*record.Process) *string) column {
	return column{
		name: name, kind: aText, doc: doc,
		append: func(b []byte, ev *record.Record, _ *clock, json bool) []byte {
			return appendString(b, *at(process(ev)), json)
		},
		parse: func(ev *record.Record, v *record.Value) error {
			*at(ev.Process) = v.Text() // it is there: see Parser.Parse
			return nil
		},
	}
}

func appendTime(b []byte, ev *record.Record, c *clock, json bool) []byte {
	if json {
		return c.kernel.appendQuoted(b, ev.Time)
	}
	return c.append(b, ev.Time, ev.Monotonic)
}

func appendCPU(b []byte, ev *record.Record, _ *clock, _ bool) []byte {
	if ev.CPU < 0 {
		return b
	}
	return attrjson.AppendInt(b, int64(ev.CPU))
}

func appendSeverity(b []byte, ev *record.Record, _ *clock, json bool) []byte {
	if ev.Severity == 0 {
		return b
	}
	return appendString(b, ev.Severity.String(), json)
}

func parseSeverity(ev *record.Record, v *record.Value) error {
	n := v.Int64()
	if n < int64(record.SeverityTrace) || n > int64(record.SeverityFatal)+3 {
		return fmt.Errorf("not from 1 to 24: %s", v)
	}
	ev.Severity = record.Severity(n)
	return nil
}

// parseMessage reads the message. For a log record it is the body, too, unless a member with the typed body follows.
func parseMessage(ev *record.Record, v *record.Value) error {
	ev.Message = v.Text()
	if ev.Kind == record.KindLog {
		ev.Body = *v
	}
	return nil
}

// hasOtherBody reports whether the body of a log record is not its message. Bytes and NaN are texts in JSON, which are read
// back as such.
func hasOtherBody(ev *record.Record) bool {
	t := ev.Body.Type()
	return t != record.TypeNull && (t != record.TypeString || ev.Body.Text() != ev.Message)
}

func appendBody(b []byte, ev *record.Record, _ *clock, json bool) []byte {
	if !hasOtherBody(ev) {
		return b
	}
	return appendValue(b, ev.Body, json)
}

func appendTraceFlags(b []byte, ev *record.Record, _ *clock, _ bool) []byte {
	if !ev.HasTraceFlags {
		return b
	}
	return attrjson.AppendUint(b, uint64(ev.TraceFlags))
}

func parseTraceFlags(ev *record.Record, v *record.Value) error {
	ev.TraceFlags, ev.HasTraceFlags = uint8(v.Uint64()), true
	return nil
}

// appendSpanDuration appends a text. JSON has duration_ns.
func appendSpanDuration(b []byte, ev *record.Record, _ *clock, json bool) []byte {
	if ev.Kind != record.KindSpan || json {
		return b
	}
	return AppendDuration(b, ev.Duration)
}

func appendUndecodable(b []byte, ev *record.Record, _ *clock, json bool) []byte {
	if !ev.Undecodable {
		return b
	}
	return appendValue(b, record.BytesValue(ev.Raw), json)
}

func parseUndecodable(ev *record.Record, v *record.Value) (err error) {
	ev.Undecodable = true
	ev.Raw, err = parseBytes(v)
	return err
}

func appendMetric(b []byte, ev *record.Record, c *clock, json bool) []byte {
	switch {
	case ev.Point == nil:
		return b
	case json:
		return appendObject(b, pointMembers, ev.Point, c)
	default:
		return appendPoint(b, ev.Point)
	}
}

func parseMetric(ev *record.Record, v *record.Value) error {
	ev.Point = &record.Point{}
	return parseObject(pointMembers, ev.Point, v)
}

func appendFields(b []byte, ev *record.Record, _ *clock, _ bool) []byte {
	if json := ev.FieldsJSON(); json != "" {
		return append(b, json...)
	}
	if fields := ev.Fields(); len(fields) > 0 {
		return record.AppendJSON(b, fields)
	}
	return b
}

var noProcess record.Process

func process(ev *record.Record) *record.Process {
	if ev.Process == nil {
		return &noProcess
	}
	return ev.Process
}

// appendString appends a text, unless it is empty.
func appendString(b []byte, s string, json bool) []byte {
	switch {
	case s == "":
		return b
	case json:
		return attrjson.AppendString(b, s)
	default:
		return appendText(b, s)
	}
}

// appendText appends a text of a program as one line of printable characters.
func appendText(b []byte, s string) []byte {
	b, _ = text.Append(b, s, attrjson.NoLimit)
	return b
}

func appendValue(b []byte, v record.Value, json bool) []byte {
	if json {
		return v.AppendJSON(b)
	}
	return v.AppendText(b)
}

// columnOf has the number of each column.
var columnOf = func() map[string]uint8 {
	m := make(map[string]uint8, len(columns))
	for i := range columns {
		m[columns[i].name] = uint8(i)
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

// JSONHelp returns a line for each member of a JSON object: its name, its type and what it is.
func JSONHelp() string {
	var b strings.Builder
	for _, c := range append(slices.Clone(columns), column{name: "stack", kind: anArray, doc: stackDoc}) {
		if c.kind != "" { // duration, which is of text only
			b.WriteString(strings.TrimRight(fmt.Sprintf("  %-18s  %-6s  %s", c.name, c.kind, c.doc), " ") + "\n")
		}
	}
	return b.String()
}

// Unseen finds names of [Options].Fields that no event has, such as misspelt ones. The zero value has none.
type Unseen struct{ names []string }

// NewUnseen returns the names that are no parts of records, which events may lack, of those that [Options].Fields or a template have.
func NewUnseen(format string, fields []string) Unseen {
	if isTemplate(format) {
		if t, err := compileTemplate(format); err == nil {
			fields = partsNamed(t).names
		}
	}
	var u Unseen
	for _, name := range fields {
		if s := selectedOf(name); s.col == nil && s.part == nil && name != "" {
			u.names = append(u.names, name)
		}
	}
	return u
}

// See removes the names of fields that an event has.
func (u *Unseen) See(ev *record.Record) {
	u.names = slices.DeleteFunc(u.names, func(name string) bool {
		_, found := findField(ev, name)
		return found
	})
}

// Names returns the names that no event had.
func (u *Unseen) Names() []string { return u.names }

// selected is the column or else the field with a name from Options.Fields or from a template.
type selected struct {
	name string
	col  *column                                   // nil: none has the name
	part func(*record.Record) (record.Value, bool) // of a part of records that has another name here: level
}

func selectedOf(name string) selected {
	s := selected{name: name}
	if i, ok := columnOf[name]; ok {
		s.col = &columns[i]
	} else if slices.Contains(where.Names(), name) {
		s.part = where.ValueOf(name)
	}
	return s
}

// appendColumn appends the column as JSON or as text. It appends nothing if the event lacks it.
func (s *selected) appendColumn(b []byte, ev *record.Record, c *clock, json bool) []byte {
	switch {
	case s.col != nil:
		return s.col.append(b, ev, c, json)
	case s.part != nil:
		if v, ok := s.part(ev); ok {
			return appendValue(b, v, json)
		}
	}
	return b
}

// append appends the column, or the field if that is empty.
func (s *selected) append(b []byte, ev *record.Record, c *clock, json bool) []byte {
	n := len(b)
	if b = s.appendColumn(b, ev, c, json); len(b) == n {
		if f, ok := findField(ev, s.name); ok {
			b = f.append(b, json)
		}
	}
	return b
}

// AppendProcess appends NAME[PID], with a question mark for an unknown name.
func AppendProcess(b []byte, comm string, pid int32) []byte {
	return appendPID(appendText(b, cmp.Or(comm, "?")), pid)
}

func appendPID(b []byte, pid int32) []byte {
	return append(attrjson.AppendInt(append(b, '['), int64(pid)), ']')
}
