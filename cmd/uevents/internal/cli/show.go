package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func newShowCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show an event: its fields, filters for them, attached tools",
		Long: `Shows one event: the fields of its records, with the operators that filters can use on
them, the tools that are attached to it, the programs that have it in shared memory, and
the description of its records. Programs may have declared a name differently: each of
these events is shown. NAME can be SYSTEM:NAME for an event of another system, such as
sched:sched_switch.`,
		Example: `  uevents show myapp_http_request
  uevents watch myapp_http_request --where 'status >= 500 and route ~ "/users/*"'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: e.completeEvents(true),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := e.find(args[0])
			if err != nil {
				return err
			}
			for i, ev := range found {
				shown, err := e.describe(ev)
				if err != nil {
					return err
				}
				if format == "json" {
					err = writeJSON(e.out, shown)
				} else {
					err = e.printEvent(shown, i > 0)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

type shownEvent struct {
	eventJSON
	ID        int            `json:"id,omitempty"` // in shared memory, events have none
	Instances []instanceJSON `json:"instances"`
	Format    string         `json:"format"`
}

// instanceJSON is the configuration of an event in an ftrace instance.
type instanceJSON struct {
	Name     string   `json:"name"` // "" is the top-level instance
	Enabled  bool     `json:"enabled"`
	Filter   string   `json:"filter,omitempty"`
	Triggers []string `json:"triggers,omitempty"`
}

// find returns the events of a name, at least one: those of user events, whose name may be declared differently, or an event of
// another system.
func (e *env) find(name string) ([]event, error) {
	if system, _, named := strings.Cut(name, ":"); named && system != tracepoint.System && system != tracepoint.MultiSystem {
		dir, err := e.kernel(name)
		if err != nil {
			return nil, err
		}
		t := dir.Event(name)
		format, err := t.Format()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, e.noEvent(name, missing{})
		}
		return []event{{system: t.System(), name: t.Name(), format: format, textFilters: true}}, hintForList(err)
	}
	list, not, err := e.events(func(system, n string) bool { return n == name || system+":"+n == name })
	if len(list) == 0 && (err == nil || errors.Is(err, fs.ErrPermission)) {
		return nil, e.noEvent(name, missing{err, not.memory})
	}
	sayRefused(e.say, not.memory)
	return list, err
}

func (e *env) describe(ev event) (*shownEvent, error) {
	shown := &shownEvent{eventJSON: newEventJSON(ev), ID: ev.format.ID, Instances: []instanceJSON{}, Format: ev.format.String()}
	shown.Fields = mapped(ev.format.Fields, func(f tracepoint.FormatField) fieldJSON {
		return fieldJSON{f.Name, f.Type.String(), f.Offset, f.Size, operators(f.Type, ev.textFilters)}
	})
	if ev.transport() == uevents.TransportMemory {
		return shown, nil
	}
	dir, err := e.dir()
	if err != nil {
		return nil, err
	}
	return shown, shown.addKernel(dir)
}

// addKernel adds what the kernel knows about an event.
func (shown *shownEvent) addKernel(dir *tracefs.Dir) (err error) {
	name := shown.System + ":" + shown.Name
	if shown.Format, err = dir.Event(name).FormatText(); err != nil {
		return hintForList(err)
	}
	names, err := dir.Instances()
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, n := range append([]string{""}, names...) {
		i := dir.Top()
		if n != "" {
			if i, err = dir.Instance(n); err != nil {
				continue // removed meanwhile
			}
		}
		if in, ok := inInstance(i.Event(name)); ok {
			in.Name = n
			shown.Instances = append(shown.Instances, in)
		}
	}
	return nil
}

// noEvent is the error for an event that does not exist, as far as this user may look. A name that begins those of others was meant as a
// pattern. What root may not read is a lack of permission; other users do not expect the programs of others.
func (e *env) noEvent(name string, not missing) error {
	hint := "see uevents list"
	if names := e.namesOf(name); len(names) > 0 {
		hint = "name one event: " + listed(names)
	} else if similar := e.namesOf(e.similarPatterns([]string{name})...); len(similar) > 0 {
		hint = "did you mean " + listed(similar) + "?"
	} else if not.memory != nil && os.Geteuid() > 0 {
		hint += "; " + othersNeedRoot
	}
	if not == (missing{}) {
		return hintError{fmt.Errorf("no event has the name %s", name), hint}
	}
	err := fmt.Errorf("no event that this user may read has the name %s", name)
	switch {
	case not.kernel != nil:
		_, remedy := messageOf(not.kernel)
		return hintError{fmt.Errorf("%w; the kernel's events are not listed: %w", err, not.kernel), hint + "\n" + remedy}
	case os.Geteuid() == 0:
		return hintError{fmt.Errorf("%w; %w", err, not.memory), hint + "\n" + refusedRemedy}
	}
	return hintError{err, hint}
}

// namesOf returns the printable names of the events that match, as far as this user may list them.
func (e *env) namesOf(patterns ...string) (names []string) {
	if match, err := reader.Match(patterns...); err == nil {
		list, _, _ := e.events(match)
		names = mapped(list, func(ev event) string { return text.Printable(ev.name) })
	}
	return names
}

// inInstance returns the configuration of an event in an instance. It returns false if there is none, or if this user
// cannot read it.
func inInstance(ev *tracefs.Event) (in instanceJSON, ok bool) {
	var errs [3]error
	in.Enabled, errs[0] = ev.Enabled()
	in.Filter, errs[1] = ev.Filter()
	in.Triggers, errs[2] = ev.Triggers()
	return in, errors.Join(errs[:]...) == nil && (in.Enabled || in.Filter != "" || len(in.Triggers) > 0)
}

func operators(t tracepoint.Type, textFilters bool) []string {
	switch {
	case (t.Kind == tracepoint.Char || t.Kind == tracepoint.UChar) && (t.Location != tracepoint.Fixed || t.Len > 0):
		if textFilters {
			return []string{"==", "!=", "~"}
		}
	case t.Location == tracepoint.Fixed && t.Len == 0 && t.Kind != tracepoint.Struct:
		return []string{"==", "!=", "<", "<=", ">", ">=", "&"}
	}
	return nil
}

// printEvent prints an event as text.
func (e *env) printEvent(ev *shownEvent, another bool) error {
	var b strings.Builder
	if another {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s:%s", text.Printable(ev.System), text.Printable(ev.Name))
	if ev.ID != 0 {
		fmt.Fprintf(&b, "  id %d", ev.ID)
	}
	fmt.Fprintf(&b, "\ntransport  %s\n", ev.Transport)
	for _, p := range ev.Programs {
		fmt.Fprintf(&b, "program    %s, uid %d: %s\n", output.AppendProcess(nil, p.Program, p.PID), p.UID, p.Reason)
	}
	fmt.Fprintf(&b, "source     %s\n", cmp.Or(ev.Source, "-"))
	fmt.Fprintf(&b, "listeners  %s\n", cmp.Or(strings.Join(ev.Listeners, " "), "-"))
	for _, i := range ev.Instances {
		name := cmp.Or(i.Name, "top-level")
		fmt.Fprintf(&b, "ftrace     instance %s", text.Printable(name))
		if i.Enabled {
			b.WriteString(", enabled")
		}
		if i.Filter != "" {
			fmt.Fprintf(&b, ", filter %s", text.Printable(i.Filter))
		}
		for _, t := range i.Triggers {
			fmt.Fprintf(&b, ", trigger %s", text.Printable(t))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	table := output.Table{Header: []string{"FIELD", "TYPE", "OFFSET", "SIZE", "FILTERS"}, Right: map[int]bool{2: true, 3: true}}
	for _, f := range ev.Fields {
		table.Add(f.Name, f.Type, f.Offset, f.Size, cmp.Or(strings.Join(f.Filters, " "), "-"))
	}
	b.WriteString(table.String() + "\nFormat:\n")
	for line := range strings.Lines(ev.Format) {
		line = text.Printable(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "  "))
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	_, err := fmt.Fprint(e.out, b.String())
	return err
}
