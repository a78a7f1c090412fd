package output

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/record"
)

// jsonWriter writes each event as one JSON object on one line, with the members of all columns that are not empty, and the
// functions of the stack. Later versions may add members, but do not change the meaning of any. Texts have the escapes of
// package attrjson. Bytes are base64, numbers have all their digits.
type jsonWriter struct {
	w      io.Writer
	b      []byte
	c      clock
	fields []jsonField    // in place of all columns
	stack  *symbols.Table // nil omits stacks

	// Of the previous event:
	name    nameMembers
	process processMembers
	thread  threadMembers
}

func newJSON(w io.Writer, o Options) *jsonWriter {
	j := &jsonWriter{w: w, c: clock{format: UTC}, stack: o.Stack}
	for _, name := range o.Fields {
		j.fields = append(j.fields, jsonField{memberKey(name), selectedOf(name)})
	}
	return j
}

func (j *jsonWriter) Write(ev *record.Record) error {
	b := j.b[:0]
	if len(j.fields) == 0 {
		b = j.appendAll(b, ev)
	} else {
		b = j.appendSelected(b, ev)
	}
	if j.stack != nil {
		b = appendStack(b, j.stack.Stack(ev))
	}
	return j.line(b)
}

// appendSelected appends the selected columns and fields that the event has.
func (j *jsonWriter) appendSelected(b []byte, ev *record.Record) []byte {
	for i := range j.fields {
		f := &j.fields[i]
		start := len(b)
		b = f.key.append(b)
		value := len(b)
		if b = f.append(b, ev, &j.c, true); len(b) == value {
			b = b[:start]
		}
	}
	return b
}

func (j *jsonWriter) appendAll(b []byte, ev *record.Record) []byte {
	lists := &around[partsOf(ev)]
	b = j.appendColumns(b, ev, lists[0])
	start := len(b)
	if j.name.is(ev) {
		b = append(b, j.name.members...)
	} else {
		b = j.appendColumns(b, ev, nameColumns)
		j.name.keep(b[start:], ev)
	}
	b = j.appendColumns(b, ev, lists[1])
	start = len(b)
	if j.process.is(ev) {
		b = append(b, j.process.members...)
	} else {
		b = j.appendColumns(b, ev, processColumns)
		j.process.keep(b[start:], ev)
	}
	start = len(b)
	if j.thread.is(ev) {
		b = append(b, j.thread.members...)
	} else {
		b = j.appendColumns(b, ev, threadColumns)
		j.thread.keep(b[start:], ev)
	}
	return j.appendColumns(b, ev, lists[2])
}

func (j *jsonWriter) appendColumns(b []byte, ev *record.Record, list []*jsonColumn) []byte {
	for _, col := range list {
		start := len(b)
		b = col.key.append(b)
		value := len(b)
		if b = col.append(b, ev, &j.c, true); len(b) == value {
			b = b[:start]
		}
	}
	return b
}

// nameMembers caches the encoded name and severity of an event.
type nameMembers struct {
	members      []byte // nil: empty
	decoder      *record.Decoder
	system, name string
	kind         record.Kind
	severity     record.Severity
	text         []byte // a copy, since the original may share the memory of a record
}

func (m *nameMembers) is(ev *record.Record) bool {
	return m.members != nil && m.kind == ev.Kind && m.severity == ev.Severity && string(m.text) == ev.SeverityText &&
		(ev.Decoder != nil && m.decoder == ev.Decoder || m.name == ev.Name && m.system == ev.System) // a decoder is of one name
}

func (m *nameMembers) keep(members []byte, ev *record.Record) {
	m.members, m.decoder, m.system, m.name, m.kind = append(m.members[:0], members...), ev.Decoder, ev.System, ev.Name, ev.Kind
	m.severity, m.text = ev.Severity, append(m.text[:0], ev.SeverityText...)
}

// processMembers caches the encoded process of an event.
type processMembers struct {
	members []byte
	process *record.Process // nil: empty
	pid     int32
}

func (m *processMembers) is(ev *record.Record) bool {
	return m.process != nil && m.process == ev.Process && m.pid == ev.PID
}

func (m *processMembers) keep(members []byte, ev *record.Record) {
	m.members, m.process, m.pid = append(m.members[:0], members...), ev.Process, ev.PID
}

// threadMembers caches the encoded thread and CPU of an event.
type threadMembers struct {
	members []byte // nil: empty
	tid     int32
	cpu     int
}

func (m *threadMembers) is(ev *record.Record) bool {
	return m.members != nil && m.tid == ev.TID && m.cpu == ev.CPU
}

func (m *threadMembers) keep(members []byte, ev *record.Record) {
	m.members, m.tid, m.cpu = append(m.members[:0], members...), ev.TID, ev.CPU
}

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

const kindLost = "lost"

func (j *jsonWriter) Lost(name string, n uint64, at time.Time) error {
	b := append(j.b[:0], `,"time":`...)
	b = j.c.kernel.appendQuoted(b, at)
	b = append(b, `,"kind":"`+kindLost+`","event":`...)
	b = attrjson.AppendString(b, name)
	b = append(b, `,"count":`...)
	return j.line(record.Uint64Value(n).AppendJSON(b))
}

func (j *jsonWriter) Close() error { return nil }

type jsonColumn struct {
	key    shortText // the comma, the name and the colon in front of a value
	append func(b []byte, from *record.Record, c *clock, json bool) []byte
}

type jsonField struct {
	key shortText
	selected
}

func memberKey(name string) (k shortText) {
	k.set(append(attrjson.AppendString([]byte{','}, name), ':'))
	return k
}

var jsonColumns = func() (list []*jsonColumn) {
	for _, c := range columns {
		list = append(list, &jsonColumn{memberKey(c.name), c.append})
	}
	return list
}()

// Columns with the same values in most consecutive events.
var (
	nameColumns    = columnRange("system", "severity_text")
	processColumns = columnRange("program", "process_service")
	threadColumns  = columnRange("tid", "cpu") // behind those of the process
)

func columnRange(first, last string) []*jsonColumn {
	return jsonColumns[columnOf[first] : columnOf[last]+1]
}

// around has the other columns of events that have parts, in order: those before nameColumns, those behind them, and those behind
// threadColumns.
var around = func() (lists [allParts + 1][3][]*jsonColumn) {
	same := slices.Concat(nameColumns, processColumns, threadColumns)
	for have := range lists {
		for i, c := range jsonColumns {
			if slices.Contains(same, c) || columns[i].part&^part(have) != 0 {
				continue
			}
			at := 0
			switch {
			case i > int(columnOf["cpu"]):
				at = 2
			case i > int(columnOf["severity_text"]):
				at = 1
			}
			lists[have][at] = append(lists[have][at], c)
		}
	}
	return lists
}()
