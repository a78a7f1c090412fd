package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

// missingTime is how long records are read before a command says which names of a condition none of them has.
const missingTime = 5 * time.Second

// missingNames says which names of a condition no record has: once while records are read, and at the end. They may be misspelt.
type missingNames struct {
	e      *env
	where  *where.Condition // nil without one
	flags  *conditionFlags  // which are said instead of the names that they stand for
	tail   *tail.Buffer     // nil without --when
	fields []string         // names that records have, beside those of all records; nil: those of the events of the machine

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

func (m *missingNames) say() {
	for _, line := range m.lines() {
		m.e.say("%s", line)
	}
}

// missing returns the names that records were asked for, and that none has.
func (m *missingNames) missing() (names []string) {
	names = m.where.UnknownNames()
	if m.tail == nil {
		return names
	}
	o, st := m.tail.Options(), m.tail.Stats()
	for _, name := range o.When.UnknownNames() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if st.With == 0 && st.Shown+st.Without > 0 && !slices.Contains(names, o.By) {
		names = append(names, o.By)
	}
	return names
}

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
	names := where.Names()
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

// similarNames returns the names that begin with a word, or differ in at most two letters; in one of a short word.
func similarNames(word string, names []string) []string {
	distance := 2
	if len(word) < 4 {
		distance = 1
	}
	root := &cobra.Command{SuggestionsMinimumDistance: distance} // cobra finds similar names of commands
	for _, name := range names {
		root.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return root.SuggestionsFor(word)
}

// didYouMean returns a question on patterns that no event matches, with patterns of similar names that some match, or "".
func (e *env) didYouMean(patterns []string) string {
	if found := e.similarPatterns(patterns); len(found) > 0 {
		return "did you mean " + listed(found) + "? "
	}
	return ""
}

// sayUnmatched says which patterns no event matches, while others have the events of these names, SYSTEM:NAME. follow is that events
// which appear later are read, too.
func (e *env) sayUnmatched(patterns, events []string, follow bool) {
	yet := ""
	if follow {
		yet = " yet"
	}
	var without []string
	for _, pattern := range patterns {
		system, _, named := strings.Cut(pattern, ":")
		match, err := reader.Match(pattern)
		if err != nil || named && system != tracepoint.System || slices.Contains(without, pattern) {
			continue // of the kernel's other events it is an error
		}
		if !slices.ContainsFunc(events, func(event string) bool {
			system, name, _ := strings.Cut(event, ":")
			return match(system, name)
		}) {
			without = append(without, pattern)
		}
	}
	if len(without) == 0 {
		return
	}
	declarations := e.declarations(true)
	without = slices.DeleteFunc(without, func(pattern string) bool { // if its events are not attached, something else is the reason
		match, _ := reader.Match(pattern)
		return slices.ContainsFunc(declarations, func(d tracepoint.Declaration) bool { return match(tracepoint.System, d.Name) })
	})
	for i, pattern := range without {
		if i == maxFailures {
			e.say("! %s more patterns match no event%s", output.Count(uint64(len(without)-i)), yet)
			return
		}
		similar := ""
		if found := e.similarPatterns([]string{pattern}); len(found) > 0 {
			similar = " (did you mean " + listed(found) + "?)"
		}
		e.say("! no event matches %s%s%s", pattern, yet, similar)
	}
}

// namesOf returns the names of events, SYSTEM:NAME.
func namesOf(events []reader.EventStats) []string {
	return mapped(events, func(s reader.EventStats) string { return s.Name })
}

// similarPatterns returns patterns that events match, similar to those that none does: names of events, and beginnings of names.
func (e *env) similarPatterns(patterns []string) (found []string) {
	var names []string
	for _, d := range e.declarations(true) {
		for i, r := range d.Name {
			if r == '_' && i > 0 {
				names = append(names, d.Name[:i])
			}
		}
		names = append(names, d.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	names = slices.Compact(names)
	for _, pattern := range patterns {
		if match, err := reader.Match(pattern); err != nil || slices.ContainsFunc(names, func(n string) bool { return match(tracepoint.System, n) }) {
			continue // it matches, and something else is the reason
		}
		word := strings.TrimRight(strings.TrimPrefix(pattern, tracepoint.System+":"), "_*")
		if word == "" || strings.ContainsAny(word, `*?[\:`) {
			continue
		}
		for _, name := range similarNames(word, names) {
			if !slices.ContainsFunc(found, func(shorter string) bool { return name == shorter || strings.HasPrefix(name, shorter+"_") }) {
				found = append(found, text.Printable(name))
			}
		}
	}
	return found
}
