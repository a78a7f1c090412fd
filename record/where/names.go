package where

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/record"

	"github.com/userevents/userevents-go/internal/chars"
)

type class uint8

const (
	attributePart class = iota // by the type of the value
	textPart
	numberPart
	levelPart
	choicePart // one of a few texts
	idPart     // in hexadecimal
	truthPart
	programPart
)

// part is a part of all records, or of those of some kinds, that conditions name.
type part struct {
	name    string
	class   class
	of      func(rec *record.Record) record.Value
	fields  []string // of tracepoints, that hold it
	lifted  bool     // an attribute may hold it instead
	all     bool     // also records of KindOther have it; else those of the others, or of some kinds
	kinds   []record.Kind
	id      func(rec *record.Record) []byte
	size    int // of an id, in bytes
	choices []string
}

// Names returns the names of the parts of records that a [Condition] can have, beside those of attributes.
func Names() (names []string) {
	for i := range parts {
		names = append(names, parts[i].name)
	}
	return names
}

func kindNames() (names []string) {
	for k := record.KindOther; k <= record.KindMetric; k++ {
		names = append(names, k.String())
	}
	return names
}

var spans = []record.Kind{record.KindSpan, record.KindSpanStart}

// parts are named as in the JSON objects of the command uevents. The second names are those of tracepoints' fields.
var parts = []part{
	{name: "kind", class: choicePart, all: true, of: func(rec *record.Record) record.Value { return record.StringValue(rec.Kind.String()) }, choices: kindNames()},
	{name: "level", class: levelPart, all: true, of: severityValue, fields: levelFields},
	{name: "severity", class: levelPart, all: true, of: severityValue, fields: levelFields},
	{name: "severity_number", class: numberPart, all: true, of: severityValue, fields: levelFields},
	texts("severity_text", func(rec *record.Record) string { return rec.SeverityText }),
	texts("message", messageOf, "message", "body", "name"),
	texts("name", messageOf, "message", "body", "name"),
	texts("body", func(rec *record.Record) string { return rec.Message }, "message", "body", "name"),
	allTexts("event", func(rec *record.Record) string { return rec.Name }),
	allTexts("system", func(rec *record.Record) string { return rec.System }),
	allTexts("event_name", func(rec *record.Record) string { return rec.EventName }),
	ids("trace_id", 16, func(rec *record.Record) []byte { return rec.TraceID[:] }),
	ids("span_id", 8, func(rec *record.Record) []byte { return rec.SpanID[:] }),
	ids("parent_span_id", 8, func(rec *record.Record) []byte { return rec.ParentSpanID[:] }),
	ids("linked_trace_id", 16, func(rec *record.Record) []byte { return rec.LinkedTraceID[:] }),
	ids("linked_span_id", 8, func(rec *record.Record) []byte { return rec.LinkedSpanID[:] }),
	{name: "trace_flags", class: numberPart, lifted: true, fields: []string{"trace_flags"}, of: traceFlagsValue},
	texts("trace_state", func(rec *record.Record) string { return rec.TraceState }),
	{name: "duration", class: numberPart, of: durationValue, fields: []string{"duration_ns"}, kinds: []record.Kind{record.KindSpan}},
	{name: "duration_ns", class: numberPart, of: durationValue, fields: []string{"duration_ns"}, kinds: []record.Kind{record.KindSpan}},
	{name: "status", of: statusValue, kinds: spans, lifted: true, fields: []string{"status_code"}},
	{name: "span_kind", of: spanKindValue, kinds: spans, lifted: true, fields: []string{"kind"}},
	texts("status_message", func(rec *record.Record) string { return rec.StatusMessage }),
	{name: "parent_remote", class: truthPart, kinds: spans, of: func(rec *record.Record) record.Value { return record.BoolValue(rec.ParentRemote) }},
	numbers("truncated", func(rec *record.Record) uint64 { return uint64(rec.Truncated) }, "truncated"),
	numbers("dropped_attributes", func(rec *record.Record) uint64 { return uint64(rec.DroppedAttributes) }),
	texts("service", func(rec *record.Record) string { return rec.ServiceName }),
	texts("service_name", func(rec *record.Record) string { return rec.ServiceName }),
	texts("scope", func(rec *record.Record) string { return rec.ScopeName }),
	texts("scope_name", func(rec *record.Record) string { return rec.ScopeName }),
	texts("scope_version", func(rec *record.Record) string { return rec.ScopeVersion }),
	{name: "program", class: programPart, all: true, of: programValue},
	process("comm", func(p *record.Process) string { return p.Comm }),
	process("exe", func(p *record.Process) string { return p.Exe }),
	process("cgroup", func(p *record.Process) string { return p.Cgroup }),
	process("unit", func(p *record.Process) string { return p.Unit }),
	process("container_id", func(p *record.Process) string { return p.ContainerID }),
	process("pod_uid", func(p *record.Process) string { return p.PodUID }),
	process("process_service", func(p *record.Process) string { return p.ServiceName }),
	{name: "pid", class: numberPart, all: true, of: func(rec *record.Record) record.Value { return record.Int64Value(int64(rec.PID)) }},
	{name: "tid", class: numberPart, all: true, of: func(rec *record.Record) record.Value { return numberValue(int64(rec.TID), rec.TID != 0) }},
	{name: "cpu", class: numberPart, all: true, of: func(rec *record.Record) record.Value { return numberValue(int64(rec.CPU), rec.CPU >= 0) }},
	point("metric.type", func(p *record.Point) record.Value { return record.StringValue(p.Type.String()) }),
	point("metric.unit", func(p *record.Point) record.Value { return textValue(p.Unit) }),
	point("metric.value", func(p *record.Point) record.Value { return p.Value }),
	point("metric.count", func(p *record.Point) record.Value { return record.Uint64Value(p.Count) }),
	point("metric.sum", func(p *record.Point) record.Value { return p.Sum }),
	point("metric.min", func(p *record.Point) record.Value { return p.Min }),
	point("metric.max", func(p *record.Point) record.Value { return p.Max }),
}

var partOf = func() map[string]*part {
	m := make(map[string]*part, len(parts))
	for i := range parts {
		m[parts[i].name] = &parts[i]
	}
	return m
}()

var levelFields = []string{"severity_number", "level"}

// applies reports whether records of a kind have the part. Of others, an attribute has the name.
func (p *part) applies(k record.Kind) bool {
	return p.all || k != record.KindOther && (p.kinds == nil || slices.Contains(p.kinds, k))
}

// messageOf returns what tools show as the message: of a declared record the name of its event.
func messageOf(rec *record.Record) string {
	if rec.Kind == record.KindLog {
		return cmp.Or(rec.Message, rec.EventName)
	}
	return rec.Message
}

func allTexts(name string, of func(*record.Record) string) part {
	p := texts(name, of)
	p.all = true
	return p
}

// texts returns a part that records without it have as an empty text.
func texts(name string, of func(*record.Record) string, fields ...string) part {
	return part{name: name, class: textPart, of: func(rec *record.Record) record.Value { return textValue(of(rec)) }, fields: fields}
}

func ids(name string, size int, of func(*record.Record) []byte) part {
	return part{name: name, class: idPart, id: of, size: size, fields: []string{name}, of: func(rec *record.Record) record.Value {
		if id := of(rec); isSet(id) {
			return record.StringValue(hex.EncodeToString(id))
		}
		return record.Value{}
	}}
}

func isSet(id []byte) bool { return slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) }

func beginsWith(id []byte, digits string) bool {
	for i := range digits {
		const hexadecimal = "0123456789abcdef"
		if hexadecimal[id[i/2]>>(4*(1-i%2))&0xf] != digits[i] {
			return false
		}
	}
	return true
}

func numbers(name string, of func(*record.Record) uint64, fields ...string) part {
	return part{name: name, class: numberPart, fields: fields, lifted: true, of: func(rec *record.Record) record.Value { return record.Uint64Value(of(rec)) }}
}

func process(name string, of func(*record.Process) string) part {
	return part{name: name, class: textPart, all: true, of: func(rec *record.Record) record.Value {
		if rec.Process == nil {
			return record.Value{}
		}
		return textValue(of(rec.Process))
	}}
}

func point(name string, of func(*record.Point) record.Value) part {
	return part{name: name, class: attributePart, kinds: []record.Kind{record.KindMetric}, of: func(rec *record.Record) record.Value {
		if rec.Point == nil {
			return record.Value{}
		}
		return of(rec.Point)
	}}
}

// textValue returns a text, null if it is empty.
func textValue(s string) record.Value {
	if s == "" {
		return record.Value{}
	}
	return record.StringValue(s)
}

func traceFlagsValue(rec *record.Record) record.Value {
	if !rec.HasTraceFlags {
		return record.Value{}
	}
	return record.Uint64Value(uint64(rec.TraceFlags))
}

func severityValue(rec *record.Record) record.Value {
	if rec.Severity == 0 {
		return record.Value{}
	}
	return record.Int64Value(int64(rec.Severity))
}

func durationValue(rec *record.Record) record.Value {
	if rec.Kind != record.KindSpan {
		return record.Value{}
	}
	return record.Int64Value(int64(rec.Duration))
}

func statusValue(rec *record.Record) record.Value { return record.StringValue(rec.Status.String()) }

func spanKindValue(rec *record.Record) record.Value { return record.StringValue(rec.SpanKind.String()) }

func numberValue(n int64, known bool) record.Value {
	if !known {
		return record.Value{}
	}
	return record.Int64Value(n)
}

// programValue returns the name of the process, of which the condition has more to look at.
func programValue(rec *record.Record) record.Value {
	if rec.Process == nil {
		return record.Value{}
	}
	return textValue(cmp.Or(rec.Process.Comm, rec.Process.Program()))
}

// maxComm is the length in bytes of the longest name of a process.
const maxComm = 15

// printed returns a value as tools print it. It allocates only for texts that are not plain, and for other types.
func printed(v *record.Value) string {
	if s := v.Text(); v.Type() == record.TypeString && isPrinted(s) {
		return s
	}
	if v.Type() == record.TypeBytes || v.Type() == record.TypeFloat64 { // of floats, NaN and the infinities have quotes
		return strings.Trim(v.String(), `"`)
	}
	return v.String()
}

func isPrinted(s string) bool {
	for {
		n := chars.PrintableLen(s)
		if n == len(s) {
			return true
		}
		if s[n] != '"' { // which has an escape in JSON alone
			return false
		}
		s = s[n+1:]
	}
}

// ValueOf returns a function that returns the value of a name of conditions, and whether the record has it: of a part of the record, of an
// attribute, or of an attribute of the resource. A level is the name of a severity.
func ValueOf(name string) func(*record.Record) (record.Value, bool) {
	if name == "level" || name == "severity" {
		return func(rec *record.Record) (record.Value, bool) {
			return textValue(severityName(rec.Severity)), rec.Severity != 0
		}
	}
	l := newLeaf(name)
	return func(rec *record.Record) (record.Value, bool) {
		v := l.of(rec)
		return v, v.Type() != record.TypeNull
	}
}

func severityName(s record.Severity) string {
	if s == 0 {
		return ""
	}
	return s.String()
}
