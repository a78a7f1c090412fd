package where

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/record"
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
	member  *record.Member
	of      func(rec *record.Record) record.Value // in place of the member's value
	class   class
	fields  []string // of tracepoints, that hold it
	lifted  bool     // an attribute may hold it instead
	all     bool     // also records of KindOther have it; else those of the others, or of some kinds
	kinds   []record.Kind
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

var (
	spans       = []record.Kind{record.KindSpan, record.KindSpanStart}
	ended       = []record.Kind{record.KindSpan}
	points      = []record.Kind{record.KindMetric}
	levelFields = []string{"severity_number", "level"}
	bodyFields  = []string{"message", "body", "name"}
)

// parts are named as in the JSON objects of the command uevents. The second names are those of tracepoints' fields.
var parts = []part{
	{name: "kind", class: choicePart, all: true, choices: kindNames()},
	{name: "level", member: record.MemberOf("severity_number"), class: levelPart, all: true, fields: levelFields},
	{name: "severity", member: record.MemberOf("severity_number"), class: levelPart, all: true, fields: levelFields},
	{name: "severity_number", class: numberPart, all: true, fields: levelFields},
	{name: "severity_text", class: textPart},
	{name: "message", of: messageOf, class: textPart, fields: bodyFields},
	{name: "name", of: messageOf, class: textPart, fields: bodyFields},
	{name: "body", member: record.MemberOf("message"), class: textPart, fields: bodyFields},
	{name: "event", class: textPart, all: true},
	{name: "system", class: textPart, all: true},
	{name: "event_name", class: textPart, all: true},
	{name: "trace_id", class: idPart, size: 16, fields: []string{"trace_id"}},
	{name: "span_id", class: idPart, size: 8, fields: []string{"span_id"}},
	{name: "parent_span_id", class: idPart, size: 8, fields: []string{"parent_span_id"}},
	{name: "linked_trace_id", class: idPart, size: 16, fields: []string{"linked_trace_id"}},
	{name: "linked_span_id", class: idPart, size: 8, fields: []string{"linked_span_id"}},
	{name: "trace_flags", class: numberPart, lifted: true, fields: []string{"trace_flags"}},
	{name: "trace_state", class: textPart},
	{name: "duration", class: numberPart, kinds: ended, fields: []string{"duration_ns"}},
	{name: "duration_ns", class: numberPart, kinds: ended, fields: []string{"duration_ns"}},
	{name: "status", of: statusValue, kinds: spans, lifted: true, fields: []string{"status_code"}},
	{name: "span_kind", of: spanKindValue, kinds: spans, lifted: true, fields: []string{"kind"}},
	{name: "status_message", class: textPart},
	{name: "parent_remote", class: truthPart, kinds: spans},
	{name: "truncated", class: numberPart, lifted: true, fields: []string{"truncated"}},
	{name: "dropped_attributes", class: numberPart, lifted: true},
	{name: "service", class: textPart},
	{name: "service_name", member: record.MemberOf("service"), class: textPart},
	{name: "scope", class: textPart},
	{name: "scope_name", member: record.MemberOf("scope"), class: textPart},
	{name: "scope_version", class: textPart},
	{name: "program", of: programValue, class: programPart, all: true},
	{name: "comm", member: record.MemberOf("program"), class: textPart, all: true},
	{name: "exe", class: textPart, all: true},
	{name: "cgroup", class: textPart, all: true},
	{name: "unit", class: textPart, all: true},
	{name: "container_id", class: textPart, all: true},
	{name: "pod_uid", class: textPart, all: true},
	{name: "process_service", class: textPart, all: true},
	{name: "pid", class: numberPart, all: true},
	{name: "tid", class: numberPart, all: true},
	{name: "cpu", class: numberPart, all: true},
	{name: "metric.type", kinds: points},
	{name: "metric.unit", kinds: points},
	{name: "metric.value", kinds: points},
	{name: "metric.count", kinds: points},
	{name: "metric.sum", kinds: points},
	{name: "metric.min", kinds: points},
	{name: "metric.max", kinds: points},
}

var partOf = func() map[string]*part {
	m := make(map[string]*part, len(parts))
	for i := range parts {
		p := &parts[i]
		if p.member == nil {
			p.member = record.MemberOf(p.name)
		}
		m[p.name] = p
	}
	return m
}()

// applies reports whether records of a kind have the part. Of others, an attribute has the name.
func (p *part) applies(k record.Kind) bool {
	return p.all || k != record.KindOther && (p.kinds == nil || slices.Contains(p.kinds, k))
}

// value returns the value of the part, null if the record lacks it.
func (p *part) value(rec *record.Record) record.Value {
	if p.of != nil {
		return p.of(rec)
	}
	v := p.member.Value(rec)
	if p.class == idPart && v.Type() == record.TypeBytes {
		return record.StringValue(hex.EncodeToString(v.Bytes()))
	}
	return v
}

// messageOf returns what tools show as the message: of a declared record the name of its event.
func messageOf(rec *record.Record) record.Value {
	if rec.Kind == record.KindLog {
		return textValue(cmp.Or(rec.Message, rec.EventName))
	}
	return textValue(rec.Message)
}

func beginsWith(id []byte, digits string) bool {
	for i := range digits {
		const hexadecimal = "0123456789abcdef"
		if hexadecimal[id[i/2]>>(4*(1-i%2))&0xf] != digits[i] {
			return false
		}
	}
	return true
}

// textValue returns a text, null if it is empty.
func textValue(s string) record.Value {
	if s == "" {
		return record.Value{}
	}
	return record.StringValue(s)
}

func statusValue(rec *record.Record) record.Value { return record.StringValue(rec.Status.String()) }

func spanKindValue(rec *record.Record) record.Value { return record.StringValue(rec.SpanKind.String()) }

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
