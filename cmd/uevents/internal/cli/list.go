package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func newListCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list [PATTERN...]",
		Short: "List the events that programs have registered",
		Long: `Lists the user events of the machine: how many fields each has (hdr: they are in each
record, in the format EventHeader), which kinds of tools are attached to it, what writes
it, as far as its fields tell, and the way of its records to tools: the kernel, or shared
memory of the program, which perf and ftrace do not see. The programs that use memory
follow, with the reason. Root sees those of all users, others their own.

A PATTERN is a name, which also means the events whose names begin with it and an
underscore, or a glob such as '*_error'.`,
		Example: `  uevents list
  uevents list myapp
  uevents list -o json | jq -r '.[] | select(.source == "slog") | .name'`,
		ValidArgsFunction: e.completeEvents(true),
		RunE: func(_ *cobra.Command, args []string) error {
			match, err := reader.Match(orAll(args)...)
			if err != nil {
				return usageError{err}
			}
			list, not, err := e.events(match)
			if err != nil {
				if errors.Is(err, fs.ErrPermission) { // there may be similar names in shared memory
					e.sayUnmatched(args, nil, false)
				}
				return err
			}
			e.sayNotListed(not.kernel)
			sayRefused(e.say, not.memory)
			if len(list) == 0 {
				sayNamespace(e.say)
			}
			e.sayUnmatched(args, mapped(list, func(ev event) string { return ev.system + ":" + ev.name }), false)
			if format == "json" {
				return writeJSON(e.out, mapped(list, newEventJSON))
			}
			return e.printEvents(list)
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

// mapped returns the results of f for the elements of a list, never nil: JSON shows an empty list.
func mapped[T, U any](list []T, f func(T) U) []U {
	results := make([]U, 0, len(list))
	for _, v := range list {
		results = append(results, f(v))
	}
	return results
}

// sayNotListed says why the kernel's events are not in a list. A kernel without user_events has none.
func (e *env) sayNotListed(err error) {
	if err == nil || errors.Is(err, uevents.ErrNotSupported) {
		return
	}
	message, remedy := messageOf(hintForList(err))
	e.say("! the kernel's events are not listed: %s", message)
	if remedy != "" {
		e.say("  -> %s", remedy)
	}
}

// printEvents prints events as a table, and the programs that have them in shared memory.
func (e *env) printEvents(list []event) error {
	var b strings.Builder
	table := output.Table{Header: []string{"EVENT", "FIELDS", "LISTENERS", "SOURCE", "TRANSPORT"}}
	programs := output.Table{Header: []string{"PROGRAM", "PID", "UID", "TRANSPORT", "REASON"}, Right: map[int]bool{1: true, 2: true}}
	listed := map[int32]bool{}
	enabled := 0
	for _, ev := range list {
		name := ev.name
		if ev.system != tracepoint.System {
			name = ev.system + ":" + ev.name
		}
		fields := fmt.Sprint(len(ev.format.Fields))
		if ev.source == record.SourceEventHeader { // which has them in each record
			fields = "hdr"
		}
		if len(ev.listeners) > 0 {
			enabled++
		}
		table.Add(name, fields, cmp.Or(strings.Join(ev.listeners, " "), "-"), cmp.Or(ev.source, "-"), ev.transport().String())
		for _, p := range ev.programs {
			if !listed[p.PID] {
				listed[p.PID] = true
				programs.Add(p.Program, p.PID, p.UID, ev.transport().String(), p.Reason)
			}
		}
	}
	if len(list) > 0 {
		b.WriteString(table.String())
	}
	if len(listed) > 0 {
		b.WriteString("\n" + programs.String() + "\n")
	}
	fmt.Fprintf(&b, "%s, %d enabled\n", output.Plural(len(list), "event"), enabled)
	_, err := fmt.Fprint(e.out, b.String())
	return err
}

// event is a registered user event.
type event struct {
	system, name string
	format       tracepoint.Format
	listeners    []string // the kinds of attached tools
	source       record.Source
	textFilters  bool            // filters compare texts
	programs     []memoryProgram // that have it in shared memory; none if it is the kernel's
}

// transport returns the way of the event's records.
func (ev *event) transport() uevents.Transport {
	if len(ev.programs) > 0 {
		return uevents.TransportMemory
	}
	return uevents.TransportKernel
}

// missing are the reasons for which events are not listed, or nil: the kernel's, which is no error if it can have none, or if there
// are others, and those of processes that this user may not look into.
type missing struct{ kernel, memory error }

// events returns the matching events of the machine, sorted by name.
func (e *env) events(match func(system, name string) bool) (list []event, not missing, err error) {
	dir, refused := e.dir()
	if refused == nil {
		list, refused = kernelEvents(dir, match)
	}
	if e.tracefs != "" {
		return list, missing{}, refused
	}
	others, processes, err := memoryEvents(match)
	if refused != nil && len(others) == 0 && !errors.Is(refused, uevents.ErrNotSupported) {
		return nil, missing{}, refused
	}
	list = append(list, others...)
	slices.SortStableFunc(list, func(a, b event) int { return strings.Compare(a.name, b.name) })
	return list, missing{refused, processes}, err
}

// kernelEvents returns the matching events of the kernel, sorted by name.
func kernelEvents(dir *tracefs.Dir, match func(system, name string) bool) (list []event, err error) {
	status, err := dir.Status()
	if err != nil {
		return nil, hintForList(err)
	}
	for _, s := range status.Events {
		t := dir.Event(s.Name)
		there, err := t.Exists()
		if err != nil {
			return nil, hintForList(err)
		}
		if !there { // user_events_status does not name the systems of events
			t = dir.Event(tracepoint.MultiSystem + ":" + s.Name)
		}
		if !match(t.System(), t.Name()) {
			continue
		}
		// Before Linux 6.4, whose status has a limit, filters support only numbers.
		ev := event{system: t.System(), name: t.Name(), listeners: s.UsedBy, textFilters: status.Max == 0}
		if ev.format, err = t.Format(); errors.Is(err, fs.ErrNotExist) {
			continue // its program has just exited
		} else if err != nil {
			return nil, hintForList(err)
		}
		if d, err := record.NewDecoder(t.System(), ev.format); err == nil {
			ev.source = d.Source()
		}
		list = append(list, ev)
	}
	slices.SortFunc(list, func(a, b event) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.system, b.system)) })
	return list, nil
}

// eventJSON is an event of the machine in JSON.
type eventJSON struct {
	System      string          `json:"system"`
	Name        string          `json:"name"`
	Declaration string          `json:"declaration"`
	Fields      []fieldJSON     `json:"fields"`
	Listeners   []string        `json:"listeners"`
	Source      record.Source   `json:"source"`
	Transport   string          `json:"transport"`
	Programs    []memoryProgram `json:"programs,omitempty"` // that have it in shared memory
}

// fieldJSON is a field of an event in JSON. Offset and Size, in bytes, come from the kernel, for events that it has.
type fieldJSON struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Offset  int      `json:"offset,omitempty"`
	Size    int      `json:"size,omitempty"`
	Filters []string `json:"filters,omitempty"`
}

func newEventJSON(ev event) eventJSON {
	d, _ := ev.format.Declaration() // may be incomplete: other programs can declare any fields
	d.Name = ev.name
	fields := mapped(d.Fields, func(f tracepoint.Field) fieldJSON { return fieldJSON{Name: f.Name, Type: f.Type.String()} })
	return eventJSON{ev.system, d.Name, d.String(), fields, append([]string{}, ev.listeners...), ev.source, ev.transport().String(), ev.programs}
}

// shortName returns an event's name as people give it: without the system if that is user_events.
func shortName(event string) string { return strings.TrimPrefix(event, tracepoint.System+":") }

// memoryProgram is a program that offers events in shared memory.
type memoryProgram struct {
	PID     int32  `json:"pid"`
	Program string `json:"program"`
	UID     uint32 `json:"uid"`
	Reason  string `json:"reason"` // for not using the kernel's user_events

	events []memoryEvent
}

// memoryEvent is an event of a program.
type memoryEvent struct {
	declaration tracepoint.Declaration
	enabled     bool // by a tool
}

// memoryEvents returns the matching events in shared memory. Programs share those with the same declaration. refused is
// that this user may not look into some processes, or nil.
func memoryEvents(match func(system, name string) bool) (list []event, refused, err error) {
	programs, refused, err := memoryPrograms()
	if err != nil {
		return nil, nil, err
	}
	known := map[string]int{} // index in list, by declaration
	for _, p := range programs {
		for _, m := range p.events {
			if !match(tracepoint.System, m.declaration.Name) {
				continue
			}
			text := m.declaration.String()
			i, ok := known[text]
			if !ok {
				i = len(list)
				known[text] = i
				ev := event{system: tracepoint.System, name: m.declaration.Name, format: m.declaration.Format(), textFilters: true}
				if d, err := record.NewDecoder(ev.system, ev.format); err == nil {
					ev.source = d.Source()
				}
				list = append(list, ev)
			}
			ev := &list[i]
			if m.enabled {
				ev.listeners = []string{listenerMemory}
			}
			if !slices.ContainsFunc(ev.programs, func(q memoryProgram) bool { return q.PID == p.PID }) {
				ev.programs = append(ev.programs, p)
			}
		}
	}
	return list, refused, nil
}

// listenerMemory is the kind of tools that attach to events in shared memory: those of this project.
const listenerMemory = "reader"
