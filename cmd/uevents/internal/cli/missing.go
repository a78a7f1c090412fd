package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/reader/tail"
)

// missingTime is how long records are read before a command says which names of a condition none of them has.
const missingTime = 5 * time.Second

// missingNames says which names of a condition no record has: once while records are read, and at the end. They may be misspelt.
type missingNames struct {
	e      *env
	where  *reader.Condition // nil without one
	flags  *conditionFlags   // which are said instead of the names that they stand for
	tail   *tail.Buffer      // nil without --when
	fields []string          // names that records have, beside those of all records; nil: those of the events of the machine

	since time.Time // when names were missing first
	said  bool
}

// tick returns what to say at a time, once.
func (m *missingNames) tick(now time.Time) (lines []string) {
	switch {
	case m.said || len(m.missing()) == 0:
	case m.since.IsZero():
		m.since = now
	case now.Sub(m.since) >= missingTime:
		m.said = true
		return m.lines()
	}
	return nil
}

// say says it at the end.
func (m *missingNames) say() {
	for _, line := range m.lines() {
		m.e.say("%s", line)
	}
}

// missing returns the names that records were asked for, and that none has.
func (m *missingNames) missing() (names []string) {
	if m.where != nil {
		names = m.where.Missing()
	}
	if m.tail == nil {
		return names
	}
	o, st := m.tail.Options(), m.tail.Stats()
	for _, name := range o.When.Missing() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if st.With == 0 && st.Shown+st.Without > 0 && !slices.Contains(names, o.By) {
		names = append(names, o.By)
	}
	return names
}

// lines returns a line for each name, or flag.
func (m *missingNames) lines() (lines []string) {
	for _, name := range m.missing() {
		line := "! no record that was asked for " + name + " has it"
		if m.tail != nil && m.tail.Options().By == name {
			line = "! no record has " + name + ", which those of a request share: --same NAME"
		}
		if flag, noun := m.flags.of(name); flag != "" {
			line = fmt.Sprintf("! no record has a %s: %s", noun, flag)
		} else if similar := m.similar(name); len(similar) > 0 {
			line += ": did you mean " + listed(similar) + "?"
		}
		lines = append(lines, line)
	}
	return lines
}

// similar returns names of parts of records and of fields that a name resembles, none if it is one itself.
func (m *missingNames) similar(missing string) []string {
	names := reader.ConditionNames()
	if slices.Contains(names, missing) {
		return nil
	}
	names = append(names, m.fields...)
	if m.fields == nil {
		for _, d := range m.e.declarations(true) {
			for _, f := range d.Fields {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	return similarNames(missing, slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == missing }))
}

// of returns the flag that stands for a name of the condition, and what that is; "" if none is given.
func (f *conditionFlags) of(name string) (flag, noun string) {
	if f == nil {
		return "", ""
	}
	for _, of := range []struct {
		name, flag, noun string
		given            bool
	}{
		{"level", "--level", "level", f.level != ""},
		{"program", "--program", "program", len(f.programs) > 0},
		{"unit", "--unit", "unit", len(f.workloads.units) > 0},
		{"container_id", "--container", "container", len(f.workloads.containers) > 0},
		{"pod_uid", "--pod", "pod", len(f.workloads.pods) > 0},
	} {
		if of.name == name && of.given {
			return of.flag, of.noun
		}
	}
	return "", ""
}
