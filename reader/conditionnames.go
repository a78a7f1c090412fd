package reader

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

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
	of      func(ev *Event) Value
	fields  []string // of tracepoints, that hold it
	lifted  bool     // an attribute may hold it instead
	all     bool     // also records of KindOther have it; else those of the others, or of some kinds
	kinds   []Kind
	id      func(ev *Event) []byte
	size    int // of an id, in bytes
	choices []string
}

// ConditionNames returns the names of the parts of records that a [Condition] can have, beside those of attributes.
func ConditionNames() (names []string) {
	for i := range parts {
		names = append(names, parts[i].name)
	}
	return names
}

var spans = []Kind{KindSpan, KindSpanStart}

// parts are named as in the JSON objects of the command uevents. The second names are those of tracepoints' fields.
var parts = []part{
	{name: "kind", class: choicePart, all: true, of: func(ev *Event) Value { return StringValue(ev.Kind.String()) }, choices: kindNames[:]},
	{name: "level", class: levelPart, all: true, of: severityValue, fields: levelFields},
	{name: "severity", class: levelPart, all: true, of: severityValue, fields: levelFields},
	{name: "severity_number", class: numberPart, all: true, of: severityValue, fields: levelFields},
	texts("severity_text", func(ev *Event) string { return ev.SeverityText }),
	texts("message", messageOf, "message", "body", "name"),
	texts("name", messageOf, "message", "body", "name"),
	texts("body", func(ev *Event) string { return ev.Message }, "message", "body", "name"),
	allTexts("event", func(ev *Event) string { return ev.Name }),
	allTexts("system", func(ev *Event) string { return ev.System }),
	allTexts("event_name", func(ev *Event) string { return ev.EventName }),
	ids("trace_id", 16, func(ev *Event) []byte { return ev.TraceID[:] }),
	ids("span_id", 8, func(ev *Event) []byte { return ev.SpanID[:] }),
	ids("parent_span_id", 8, func(ev *Event) []byte { return ev.ParentSpanID[:] }),
	ids("linked_trace_id", 16, func(ev *Event) []byte { return ev.LinkedTraceID[:] }),
	ids("linked_span_id", 8, func(ev *Event) []byte { return ev.LinkedSpanID[:] }),
	numbers("trace_flags", func(ev *Event) uint64 { return uint64(ev.TraceFlags) }, "trace_flags"),
	texts("trace_state", func(ev *Event) string { return ev.TraceState }),
	{name: "duration", class: numberPart, of: durationValue, fields: []string{"duration_ns"}, kinds: []Kind{KindSpan}},
	{name: "duration_ns", class: numberPart, of: durationValue, fields: []string{"duration_ns"}, kinds: []Kind{KindSpan}},
	{name: "status", of: statusValue, kinds: spans, lifted: true, fields: []string{"status_code"}},
	{name: "span_kind", of: spanKindValue, kinds: spans, lifted: true, fields: []string{"kind"}},
	texts("status_message", func(ev *Event) string { return ev.StatusMessage }),
	{name: "parent_remote", class: truthPart, of: func(ev *Event) Value { return truthValue(ev.ParentRemote) }},
	numbers("truncated", func(ev *Event) uint64 { return uint64(ev.Truncated) }, "truncated"),
	numbers("dropped_attributes", func(ev *Event) uint64 { return uint64(ev.DroppedAttributes) }),
	texts("service", func(ev *Event) string { return ev.ServiceName }),
	texts("service_name", func(ev *Event) string { return ev.ServiceName }),
	texts("scope", func(ev *Event) string { return ev.ScopeName }),
	texts("scope_name", func(ev *Event) string { return ev.ScopeName }),
	texts("scope_version", func(ev *Event) string { return ev.ScopeVersion }),
	{name: "program", class: programPart, all: true, of: programValue},
	process("comm", func(p *Process) string { return p.Comm }),
	process("exe", func(p *Process) string { return p.Exe }),
	process("cgroup", func(p *Process) string { return p.Cgroup }),
	process("unit", func(p *Process) string { return p.Unit }),
	process("container_id", func(p *Process) string { return p.ContainerID }),
	process("pod_uid", func(p *Process) string { return p.PodUID }),
	process("process_service", func(p *Process) string { return p.ServiceName }),
	{name: "pid", class: numberPart, all: true, of: func(ev *Event) Value { return Int64Value(int64(ev.PID)) }},
	{name: "tid", class: numberPart, all: true, of: func(ev *Event) Value { return numberValue(int64(ev.TID), ev.TID != 0) }},
	{name: "cpu", class: numberPart, all: true, of: func(ev *Event) Value { return numberValue(int64(ev.CPU), ev.CPU >= 0) }},
	point("metric.type", func(p *Point) Value { return StringValue(p.Type.String()) }),
	point("metric.unit", func(p *Point) Value { return textValue(p.Unit) }),
	point("metric.value", func(p *Point) Value { return p.Value }),
	point("metric.count", func(p *Point) Value { return Uint64Value(p.Count) }),
	point("metric.sum", func(p *Point) Value { return p.Sum }),
	point("metric.min", func(p *Point) Value { return p.Min }),
	point("metric.max", func(p *Point) Value { return p.Max }),
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
func (p *part) applies(k Kind) bool {
	return p.all || k != KindOther && (p.kinds == nil || slices.Contains(p.kinds, k))
}

// messageOf returns what tools show as the message: of a declared record the name of its event.
func messageOf(ev *Event) string {
	if ev.Kind == KindLog {
		return cmp.Or(ev.Message, ev.EventName)
	}
	return ev.Message
}

func allTexts(name string, of func(*Event) string) part {
	p := texts(name, of)
	p.all = true
	return p
}

// texts returns a part that records without it have as an empty text.
func texts(name string, of func(*Event) string, fields ...string) part {
	return part{name: name, class: textPart, of: func(ev *Event) Value { return textValue(of(ev)) }, fields: fields}
}

func ids(name string, size int, of func(*Event) []byte) part {
	return part{name: name, class: idPart, id: of, size: size, fields: []string{name}, of: func(ev *Event) Value {
		if id := of(ev); isSet(id) {
			return StringValue(hex.EncodeToString(id))
		}
		return Value{}
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

func numbers(name string, of func(*Event) uint64, fields ...string) part {
	return part{name: name, class: numberPart, fields: fields, lifted: true, of: func(ev *Event) Value {
		if n := of(ev); n != 0 {
			return Uint64Value(n)
		}
		return Value{}
	}}
}

func process(name string, of func(*Process) string) part {
	return part{name: name, class: textPart, all: true, of: func(ev *Event) Value {
		if ev.Process == nil {
			return Value{}
		}
		return textValue(of(ev.Process))
	}}
}

func point(name string, of func(*Point) Value) part {
	return part{name: name, class: attributePart, kinds: []Kind{KindMetric}, of: func(ev *Event) Value {
		if ev.Point == nil {
			return Value{}
		}
		return of(ev.Point)
	}}
}

// textValue returns a text, null if it is empty.
func textValue(s string) Value {
	if s == "" {
		return Value{}
	}
	return StringValue(s)
}

func truthValue(b bool) Value {
	if !b {
		return Value{}
	}
	return BoolValue(true)
}

func severityValue(ev *Event) Value {
	if ev.Severity == 0 {
		return Value{}
	}
	return Int64Value(int64(ev.Severity))
}

func durationValue(ev *Event) Value {
	if ev.Kind != KindSpan {
		return Value{}
	}
	return Int64Value(int64(ev.Duration))
}

func statusValue(ev *Event) Value {
	if ev.Status == StatusUnset {
		return Value{}
	}
	return StringValue(ev.Status.String())
}

func spanKindValue(ev *Event) Value {
	if ev.SpanKind == 0 {
		return Value{}
	}
	return StringValue(ev.SpanKind.String())
}

func numberValue(n int64, known bool) Value {
	if !known {
		return Value{}
	}
	return Int64Value(n)
}

// programValue returns the name of the process, of which the condition has more to look at.
func programValue(ev *Event) Value {
	if ev.Process == nil {
		return Value{}
	}
	return textValue(cmp.Or(ev.Process.Comm, ev.Process.Program()))
}

// maxComm is the length in bytes of the longest name of a process.
const maxComm = 15

// printed returns the value as tools print it. It allocates only for texts that are not plain, and for other types.
func (v *Value) printed() string {
	if v.typ == TypeString && isPrinted(v.str) {
		return v.str
	}
	if v.typ == TypeBytes || v.typ == TypeFloat64 { // of floats, NaN and the infinities have quotes
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
