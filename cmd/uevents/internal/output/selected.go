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

// ParseEvent sets an event from the object that -o json writes. It ignores unknown members: later versions may add some. An
// error says what is no member of a record.
func ParseEvent(ev *reader.Event, v reader.Value) error {
	*ev = reader.Event{}
	known := false
	for _, f := range v.Fields() {
		c := columnOf[f.Name]
		if c == nil || c.parse == nil {
			continue
		}
		if err := c.parse(ev, f.Value); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		known = true
	}
	if !known {
		return fmt.Errorf("no member is one of a record")
	}
	if ev.Kind == reader.KindMetric && ev.Point == nil {
		return fmt.Errorf("a metric without a point")
	}
	if p := ev.Process; p != nil && *p != (reader.Process{}) {
		p.PID = ev.PID
	} else {
		ev.Process = nil
	}
	return nil
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

// AppendProcess appends NAME[PID], with a question mark for an unknown name.
func AppendProcess(b []byte, comm string, pid int32) []byte {
	return appendPID(appendText(b, cmp.Or(comm, "?")), pid)
}

func appendPID(b []byte, pid int32) []byte {
	return append(attrjson.AppendInt(append(b, '['), int64(pid)), ']')
}
