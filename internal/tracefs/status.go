package tracefs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Status is the content of user_events_status.
type Status struct {
	Events []EventStatus // in the kernel's order, which means nothing
	Active int           // number of events
	Busy   int           // number of events that a tracing tool is attached to
	Max    int           // how many events there can be; 0 from Linux 6.4 on, which says it in the sysctl kernel.user_events_max
}

// EventStatus is one event of user_events_status.
type EventStatus struct {
	Name   string   // of the tracepoint
	Index  int      // in the status page, before Linux 6.4; else -1
	UsedBy []string // "ftrace", "perf", "other"; empty when no tool is attached
}

// Status reads user_events_status.
func (d *Dir) Status() (*Status, error) {
	f, err := os.Open(d.Path(StatusFile))
	if err != nil {
		return nil, fmt.Errorf("reading the state of user events: %w", err)
	}
	defer f.Close()
	s, err := ParseStatus(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return s, nil
}

// ParseStatus parses user_events_status in both of its formats:
//
//	1:name # Used by ftrace perf     Linux 5.18 to 6.3, then Active:, Busy: and Max:
//	name # Used by ftrace perf       Linux 6.4 and later, then Active: and Busy:
//
// The kernel checks no names: one that has newlines is a line for each part, which ParseStatus cannot tell from an event.
// Lines of the same name are one event, with the tools of all of them. Lines that cannot be the name of a tracepoint are
// skipped. The error says that the totals are missing or malformed.
func ParseStatus(r io.Reader) (*Status, error) {
	st := &Status{}
	sc := bufio.NewScanner(r)
	totals := map[string]*int{"Active": &st.Active, "Busy": &st.Busy, "Max": &st.Max}
	inTotals, afterBlank := false, false
	byName := map[string]int{} // index in Events
	for sc.Scan() {
		line := sc.Text()
		inTotals = inTotals || afterBlank && beginsTotals(line)
		afterBlank = line == ""
		if !inTotals {
			ev, ok := parseEventStatus(line)
			if i, again := byName[ev.Name]; ok && again {
				st.Events[i].merge(ev)
			} else if ok {
				byName[ev.Name] = len(st.Events)
				st.Events = append(st.Events, ev)
			}
			continue
		}
		key, value, _ := strings.Cut(line, ": ")
		dst := totals[key]
		if dst == nil {
			continue // a later kernel's
		}
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("malformed line %q", line)
		}
		*dst = int(n)
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	if !inTotals {
		return nil, fmt.Errorf("not a %s: no totals", StatusFile)
	}
	return st, nil
}

// beginsTotals reports whether a line is the first of the totals. No name of an event makes one: names have no spaces, and
// what the kernel writes behind a name is no number.
func beginsTotals(line string) bool {
	n, ok := strings.CutPrefix(line, "Active: ")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// merge adds what another line says about the event. A line without an index is part of a name.
func (ev *EventStatus) merge(other EventStatus) {
	ev.Index = max(ev.Index, other.Index)
	for _, tool := range other.UsedBy {
		if !slices.Contains(ev.UsedBy, tool) {
			ev.UsedBy = append(ev.UsedBy, tool)
		}
	}
}

func parseEventStatus(line string) (ev EventStatus, ok bool) {
	name, comment, _ := strings.Cut(line, " #")
	ev = EventStatus{Name: name, Index: -1}
	if index, rest, ok := strings.Cut(name, ":"); ok {
		n, err := strconv.ParseUint(index, 10, 31)
		if err != nil {
			return ev, false
		}
		ev.Index, ev.Name = int(n), rest
	}
	if users, ok := strings.CutPrefix(comment, " Used by "); ok {
		ev.UsedBy = strings.Fields(users)
	}
	return ev, checkElement(ev.Name) == nil
}
