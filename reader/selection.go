package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

// Selection says which records are read. Events is required; the zero value of each other field is its default.
type Selection struct {
	// Events are patterns of names. A Reader attaches to every user event that matches any of them, including events that
	// appear later.
	//
	//	myapp                 the event myapp and all whose names begin with myapp_
	//	myapp_*               with *, ? and [a-z] as in package path
	//	*                     all user events
	//	user_events:myapp     this event alone
	//	sched:sched_switch    an event of another system of the kernel, or several: sched:*. They must exist.
	//
	// An event of several formats (user_events_multi) matches by the name that the program registered. The events that
	// the command uevents doctor writes, uevents_doctor_*, match only patterns that begin with uevents_doctor.
	Events []string
	// Excludes are patterns of events that are not attached, even if they match Events.
	Excludes []string
	// Kinds are the kinds of events to attach to, nil means all. Events whose records can be of several kinds, as those of EventHeader, are
	// always attached.
	Kinds []record.Kind
	// Processes are the ids of the processes whose records are read; nil means all. The kernel records other processes
	// too, and the Reader excludes their records.
	Processes []int
	// Where selects records by level, time, attributes and more; nil means all. The Reader does not attach to an event none of whose
	// records can match. The kernel evaluates the conditions that an event is attached with as far as it can, and the Reader the rest:
	// see [where.Condition.Plan]. With ReadCounts it must be for the kernel alone.
	Where *where.Condition
}

// selections are what a Reader reads: the records that any of them selects.
type selections []*selection

type selection struct {
	Selection

	events, excludes []pattern
	pids             map[int32]bool // of Processes; nil means all
}

func (r *Reader) newSelections(list []Selection) (s selections, err error) {
	for _, of := range list {
		parsed := &selection{Selection: of}
		if len(of.Events) == 0 {
			return nil, fmt.Errorf(`a selection has no Events, and "*" selects all user events: %w`, fs.ErrInvalid)
		}
		if parsed.events, err = parsePatterns(of.Events); err != nil {
			return nil, err
		}
		if parsed.excludes, err = parsePatterns(of.Excludes); err != nil {
			return nil, err
		}
		for i, p := range parsed.events {
			if r.o.Transport == TransportMemory && !p.userEvents() {
				return nil, fmt.Errorf("%s is an event of the kernel, which is not in shared memory: %w", of.Events[i], fs.ErrInvalid)
			}
		}
		if of.Processes != nil {
			parsed.pids = make(map[int32]bool, len(of.Processes))
		}
		for _, pid := range of.Processes {
			parsed.pids[int32(pid)] = true
			if _, err := os.Stat(filepath.Join(r.processes.proc, strconv.Itoa(pid))); errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("there is no process %d: %w", pid, fs.ErrInvalid)
			}
		}
		s = append(s, parsed)
	}
	return s, nil
}

// Match returns a function that reports whether any of the patterns selects a tracepoint; their syntax is that of
// [Selection].Events. The error wraps [fs.ErrInvalid].
func Match(patterns ...string) (func(system, name string) bool, error) {
	events, err := parsePatterns(patterns)
	if err != nil {
		return nil, err
	}
	return selections{{events: events}}.names, nil
}

// names reports whether a selection selects an event by its name.
func (s selections) names(system, name string) bool {
	return slices.ContainsFunc(s, func(s *selection) bool { return s.name(system, name) })
}

func (s *selection) name(system, name string) bool {
	matches := func(p pattern) bool { return p.match(system, name) }
	selects := matches
	if isUserEvents(system) && strings.HasPrefix(name, probePrefix) {
		selects = func(p pattern) bool { return strings.HasPrefix(p.name, probePrefix) && matches(p) }
	}
	return slices.ContainsFunc(s.events, selects) && !slices.ContainsFunc(s.excludes, matches)
}

// patterns returns the patterns of all Events.
func (s selections) patterns() (list []pattern) {
	for _, of := range s {
		list = append(list, of.events...)
	}
	return list
}

// userEvents reports whether user events are selected, which appear and disappear.
func (s selections) userEvents() bool { return slices.ContainsFunc(s.patterns(), pattern.userEvents) }

// others reports whether events of other systems are selected.
func (s selections) others() bool {
	return slices.ContainsFunc(s.patterns(), func(p pattern) bool { return !p.userEvents() })
}

// processes returns the processes of all selections; nil means all.
func (s selections) processes() map[int32]bool {
	all := map[int32]bool{}
	for _, of := range s {
		if of.pids == nil {
			return nil
		}
		maps.Copy(all, of.pids)
	}
	return all
}

// conditional reports whether a selection has more than names of events, for which their fields must be known.
func (s selections) conditional() bool {
	return slices.ContainsFunc(s, func(s *selection) bool { return s.Where != nil || s.Kinds != nil })
}

// wantsKind reports whether a selection selects an event by the kind of its records.
func (s *selection) wantsKind(d *record.Decoder) bool {
	kind, one := d.Kind()
	return s.Kinds == nil || !one || slices.Contains(s.Kinds, kind)
}

// choice is what selections select of an event.
type choice struct {
	parts     []part // none if they select nothing
	plan      where.Plan
	processes map[int32]bool // of all parts; nil means all
}

// part is what one selection selects of an event.
type part struct {
	of        *selection
	where     *where.Condition // nil means all
	processes map[int32]bool   // nil means all that the source returns
}

// choose returns what is selected of an event. A selection that no record of the event can meet has no part.
func (r *Reader) choose(s selections, system, name string, d *record.Decoder) (c choice) {
	var conditions []*where.Condition
	var selected selections
	for _, of := range s {
		if !of.name(system, name) || !of.wantsKind(d) {
			continue
		}
		condition, plan := of.Where, where.Plan{}
		if of.Where != nil {
			if plan = r.planFor(of, d); plan.Never {
				continue
			}
			if plan.Kernel == "" && len(plan.Reader) > 0 {
				condition = nil
			}
		}
		c.plan = plan
		selected = append(selected, of)
		c.parts = append(c.parts, part{of: of, where: of.Where, processes: of.pids})
		conditions = append(conditions, condition)
	}
	c.processes = selected.processes()
	switch {
	case len(c.parts) == 0:
		c.plan = where.Plan{Never: true}
	case len(c.parts) == 1: // it is that of the part
	case slices.Contains(conditions, nil):
		c.plan = where.Plan{}
	default:
		c.plan = where.Or(conditions...).Plan(d, !r.noTexts)
	}
	return c
}

// ofAnyProcess returns the choice without processes.
func (c choice) ofAnyProcess() choice {
	c.parts = slices.Clone(c.parts)
	for i := range c.parts {
		c.parts[i].processes = nil
	}
	return c
}

// from returns the choice for a source that returns records of these processes alone; nil means all.
func (c choice) from(processes map[int32]bool) choice {
	c.parts = slices.Clone(c.parts)
	for i := range c.parts {
		if p := &c.parts[i]; (p.processes == nil) == (processes == nil) && maps.Equal(p.processes, processes) {
			p.processes = nil
		}
	}
	return c
}

// planFor returns where a selection's condition is evaluated on the records of an event. A declared record and its copy in the event of its
// level are one record, and the first decides. If copies are read, too, the Reader sees all declared records: else it would take the copy of
// one that the kernel has dropped.
func (r *Reader) planFor(s *selection, d *record.Decoder) where.Plan {
	plan := s.Where.Plan(d, !r.noTexts)
	readsCopies := func() bool {
		return slices.ContainsFunc(d.CopyNames(), func(name string) bool { return s.name(tracepoint.System, name) })
	}
	switch {
	case d.Copied() == nil, r.o.Read == ReadCounts, !plan.Never && plan.Kernel == "", !readsCopies():
		return plan
	case plan.Never && s.Where.Plan(d.Copied(), false).Never:
		return plan
	}
	return where.Plan{Reader: []string{s.Where.String()}}
}

// Select replaces the selection of [Options] while the Reader runs: from now on, records are read that any of the list selects, each
// once. A declared record and its copy in the event of its level are one record: the copy is read if the declared record was not, and no
// selection that has the copy had to decide on it. An empty list selects nothing.
//
// Records of events that stay selected are read on: none is lost or read twice. Other events are detached, and their records of before
// are read. Events that the new selection adds are attached within Options.Poll. The kernel keeps the filter that an event was attached
// with, and records the rest of the event apart if that is selected, too: the Reader evaluates the new conditions. Cgroup and the limits of
// Options go on to hold. Shared memory is read if Options.Selection has user events.
//
// An error leaves the selection as it was. It wraps [fs.ErrInvalid] if the selection is wrong, or the Reader has Options.NoFollow or does not
// read with ReadStream; and [os.ErrClosed] after Close. Select may be called concurrently.
func (r *Reader) Select(list ...Selection) error {
	if r.o.NoFollow || r.o.Read != ReadStream {
		return fmt.Errorf("reader: another selection needs ReadStream and new events: %w", fs.ErrInvalid)
	}
	s, err := r.newSelections(list)
	if err == nil && r.kernel == nil && s.others() {
		err = fmt.Errorf("the kernel's events are not read, and selected: %w", fs.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	r.selects.Lock()
	defer r.selects.Unlock()
	if r.kernel != nil {
		if err := r.followKernel(s); err != nil { // it finds nothing yet
			return fmt.Errorf("reader: %w", err)
		}
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return fmt.Errorf("reader: %w", os.ErrClosed)
	}
	r.selected.Store(&s)
	clear(r.never)
	r.mu.Unlock()
	if r.kernel != nil {
		if err := r.attachOthers(); err != nil {
			r.notices.add(Notice{Kind: NoticeFailed, Err: err})
		}
		for _, e := range r.kernelEvents() {
			r.update(e)
		}
	}
	r.source.AskAgain()
	return nil
}
