package output

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

var noProcess record.Process

func process(ev *record.Record) *record.Process {
	if ev.Process == nil {
		return &noProcess
	}
	return ev.Process
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

// ColumnNames returns the names of all columns, for completion. Fields of events can be selected as well.
func ColumnNames() (names []string) {
	for _, m := range record.Members() {
		names = append(names, m.Name)
	}
	return names
}

// stack documents the member of [appendStack], which is no column.
var stack = record.Member{
	Name: "stack", Type: "array", Doc: "with --stack: objects of function, file and line, or address and object, innermost first",
}

// JSONHelp returns a line for each member of a JSON object: its name, its type and what it is.
func JSONHelp() string {
	var b strings.Builder
	for _, m := range append(record.Members(), &stack) {
		if m.Type != "" { // duration, which is of text only
			b.WriteString(strings.TrimRight(fmt.Sprintf("  %-18s  %-6s  %s", m.Name, m.Type, m.Doc), " ") + "\n")
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
	col  *record.Member                            // nil: none has the name
	part func(*record.Record) (record.Value, bool) // of a part of records that has another name here: level
}

func selectedOf(name string) selected {
	s := selected{name: name, col: record.MemberOf(name)}
	if s.col == nil || strings.HasPrefix(name, "metric.") {
		s.col = nil
		if slices.Contains(where.Names(), name) {
			s.part = where.ValueOf(name)
		}
	}
	return s
}

// appendColumn appends the column as JSON or as text. It appends nothing if the event lacks it.
func (s *selected) appendColumn(b []byte, ev *record.Record, c *clock, json bool) []byte {
	switch {
	case s.part != nil:
		if v, ok := s.part(ev); ok {
			return appendValue(b, v, json)
		}
		return b
	case s.col == nil:
		return b
	case json:
		return c.encoder.AppendMember(b, s.col, ev)
	case s.name == "time":
		return c.append(b, ev.Time, ev.Monotonic)
	case s.name == "duration" && ev.Kind == record.KindSpan:
		return AppendDuration(b, ev.Duration)
	case s.name == "metric" && ev.Point != nil:
		return appendPoint(b, ev.Point)
	}
	if v := s.col.Value(ev); v.Type() == record.TypeString {
		return v.AppendText(b)
	}
	start := len(b)
	b = c.encoder.AppendMember(b, s.col, ev)
	if len(b) > start && (s.col.Type == "id" || s.col.Type == "time") { // without quotes
		b = append(b[:start], b[start+1:len(b)-1]...)
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

func appendPoint(b []byte, p *record.Point) []byte {
	put := func(name string, v record.Value) {
		if v.Type() != record.TypeNull {
			b = append(b, ' ')
			b = append(b, name...)
			b = append(b, '=')
			b = v.AppendText(b)
		}
	}
	start := len(b)
	b = append(b, ' ')
	b = append(b, p.Type.String()...)
	put("value", p.Value)
	if p.Type == record.PointHistogram || p.Type == record.PointExponentialHistogram || p.Type == record.PointSummary {
		put("count", record.Uint64Value(p.Count))
		put("sum", p.Sum)
		put("min", p.Min)
		put("max", p.Max)
	}
	for _, q := range p.Quantiles {
		b = append(b, " p"...)
		b = strconv.AppendFloat(b, q.Quantile*100, 'g', 6, 64)
		b = append(b, '=')
		b = attrjson.AppendFloat(b, q.Value)
	}
	if p.Unit != "" {
		put("unit", record.StringValue(p.Unit))
	}
	return append(b[:start], b[start+1:]...)
}

// AppendProcess appends NAME[PID], with a question mark for an unknown name.
func AppendProcess(b []byte, comm string, pid int32) []byte {
	return appendPID(appendText(b, cmp.Or(comm, "?")), pid)
}

func appendPID(b []byte, pid int32) []byte {
	return append(attrjson.AppendInt(append(b, '['), int64(pid)), ']')
}
