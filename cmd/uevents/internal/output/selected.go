package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

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
		if s := selectedOf(name); s.col == nil && !s.part && name != "" {
			u.names = append(u.names, name)
		}
	}
	return u
}

// See removes the names of fields that an event has.
func (u *Unseen) See(ev *reader.Event) {
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
	col  *column // nil: none has the name
	part bool    // it is a part of records that has another name here: level
}

func selectedOf(name string) selected {
	col := columnOf[name]
	return selected{name, col, col == nil && slices.Contains(reader.ConditionNames(), name)}
}

// appendColumn appends the column as JSON or as text. It appends nothing if the event lacks it.
func (s *selected) appendColumn(b []byte, ev *reader.Event, c *clock, json bool) []byte {
	switch {
	case s.col != nil:
		return s.col.append(b, ev, c, json)
	case s.part:
		if v, ok := ev.Value(s.name); ok {
			return appendValue(b, v, json)
		}
	}
	return b
}

// append appends the column, or the field if that is empty.
func (s *selected) append(b []byte, ev *reader.Event, c *clock, json bool) []byte {
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
