package output

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// jsonWriter writes each event as one JSON object on one line. It omits empty members. Later versions may add members,
// but do not change the meaning of any:
//
//	time, timestamp, observed     texts, RFC 3339 in UTC with nine digits of the second: the kernel's time of the record,
//	                              and the program's times
//	monotonic_ns, duration_ns     numbers of nanoseconds
//	system, event                 of the tracepoint
//	kind                          log, span, span start, span event, span link, metric, other; lost, see below
//	severity, severity_number     OpenTelemetry's name and number; severity_text is the program's name
//	message, body, event_name     body only if it is not a text
//	program, exe, cgroup,         the process that wrote the record, at that time
//	container_id, pid, tid, cpu
//	trace_id, span_id,            lower-case hexadecimal digits
//	parent_span_id, linked_...
//	status, status_message,       of spans; events and links are those in the span's record
//	span_kind, events, links
//	metric                        an object: type, unit, value, count, sum, bounds, ...
//	service, scope, resource, ... of OpenTelemetry's resource and scope
//	truncated                     how many values the program cut or dropped to make the record fit
//	undecodable                   the record, common fields included, if it does not fit the format of its event
//	header                        of EventHeader events
//	callchain                     texts of addresses, innermost first
//	stack                         objects, innermost first: function, file, line, or else address, object
//	fields                        an object: everything else
//
// Texts have the escapes of package attrjson. Bytes are base64, numbers have all their digits. A line of the kind lost
// reports that the kernel lost count records of an event.
type jsonWriter struct {
	w      io.Writer
	b      []byte
	c      clock
	fields []string
	keys   [][]byte       // of fields, or of columns
	stack  *symbols.Table // nil omits stacks

	// Of the previous event:
	name    nameMembers
	process processMembers
}

func newJSON(w io.Writer, o Options) *jsonWriter {
	j := &jsonWriter{w: w, fields: o.Fields, c: clock{format: UTC}, stack: o.Stack}
	names := o.Fields
	if len(names) == 0 {
		names = ColumnNames()
	}
	for _, name := range names {
		j.keys = append(j.keys, append(attrjson.AppendString([]byte{','}, name), ':'))
	}
	return j
}

func (j *jsonWriter) Write(ev *reader.Event) error {
	b := j.b[:0]
	if len(j.fields) == 0 {
		b = j.appendAll(b, ev)
	}
	for i, name := range j.fields {
		start := len(b)
		b = append(b, j.keys[i]...)
		value := len(b)
		if b = appendSelected(b, name, ev, &j.c, true); len(b) == value {
			b = b[:start]
		}
	}
	if j.stack != nil {
		b = appendStack(b, j.stack.Stack(ev))
	}
	return j.line(b)
}

// appendAll appends the members of all columns.
func (j *jsonWriter) appendAll(b []byte, ev *reader.Event) []byte {
	begin := 0 // the columns before are written
	for _, i := range columnsOf[partsOf(ev)] {
		switch {
		case i < begin:
			continue
		case i == firstOfName && j.name.is(ev):
			b = append(b, j.name.members...)
			begin = lastOfName + 1
			continue
		case i == firstOfName:
			j.name.start = len(b)
		case i == firstOfProcess && j.process.is(ev):
			b = append(b, j.process.members...)
			begin = lastOfProcess + 1
			continue
		case i == firstOfProcess:
			j.process.start = len(b)
		}
		start := len(b)
		b = append(b, j.keys[i]...)
		value := len(b)
		if b = columns[i].append(b, ev, &j.c, true); len(b) == value {
			b = b[:start]
		}
		switch i {
		case lastOfName:
			j.name.keep(b, ev)
		case lastOfProcess:
			j.process.keep(b, ev)
		}
	}
	return b
}

// Columns with the same value in most consecutive events.
var (
	firstOfName, lastOfName       = indexOf("system"), indexOf("severity_text")
	firstOfProcess, lastOfProcess = indexOf("program"), indexOf("container_id")
)

// nameMembers caches the encoded name and severity of an event.
type nameMembers struct {
	members      []byte // nil: empty
	start        int
	system, name string
	kind         reader.Kind
	severity     reader.Severity
	text         []byte // a copy, since the original may share the memory of a record
}

func (m *nameMembers) is(ev *reader.Event) bool {
	return m.members != nil && m.name == ev.Name && m.kind == ev.Kind && m.severity == ev.Severity && string(m.text) == ev.SeverityText &&
		m.system == ev.System
}

func (m *nameMembers) keep(b []byte, ev *reader.Event) {
	m.members, m.system, m.name, m.kind = append(m.members[:0], b[m.start:]...), ev.System, ev.Name, ev.Kind
	m.severity, m.text = ev.Severity, append(m.text[:0], ev.SeverityText...)
}

// processMembers caches the encoded process of an event.
type processMembers struct {
	members []byte
	start   int
	process *reader.Process // nil: empty
	pid     int32
}

func (m *processMembers) is(ev *reader.Event) bool {
	return m.process != nil && m.process == ev.Process && m.pid == ev.PID
}

func (m *processMembers) keep(b []byte, ev *reader.Event) {
	m.members, m.process, m.pid = append(m.members[:0], b[m.start:]...), ev.Process, ev.PID
}

// appendStack appends a member with the functions of a stack.
func appendStack(b []byte, frames []symbols.Frame) []byte {
	if len(frames) == 0 {
		return b
	}
	b = append(b, `,"stack":[`...)
	for i := range frames {
		f := &frames[i]
		if i > 0 {
			b = append(b, ',')
		}
		if f.Func != "" {
			b = attrjson.AppendString(append(b, `{"function":`...), f.Func)
		} else {
			b = fmt.Appendf(b, `{"address":"%#x"`, f.Addr)
		}
		if f.File != "" {
			b = attrjson.AppendString(append(b, `,"file":`...), f.File)
			b = strconv.AppendInt(append(b, `,"line":`...), int64(f.Line), 10)
		} else if f.Object != "" {
			b = attrjson.AppendString(append(b, `,"object":`...), f.Object)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// line writes an object from its members, each of which has a comma in front.
func (j *jsonWriter) line(b []byte) error {
	if len(b) == 0 {
		b = append(b, '{')
	}
	b[0] = '{'
	j.b = append(b, '}', '\n')
	_, err := j.w.Write(j.b)
	return err
}

func (j *jsonWriter) Lost(name string, n uint64, at time.Time) error {
	b := append(j.b[:0], `,"time":`...)
	b = j.c.appendQuoted(b, at)
	b = append(b, `,"kind":"lost","event":`...)
	b = attrjson.AppendString(b, name)
	b = append(b, `,"count":`...)
	return j.line(reader.Uint64Value(n).AppendJSON(b))
}

func (j *jsonWriter) Close() error { return nil }
