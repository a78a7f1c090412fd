package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
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
		ValidArgsFunction: e.completeEvents,
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
			var names []string
			for _, ev := range list {
				names = append(names, ev.system+":"+ev.name)
			}
			e.sayUnmatched(args, names, false)
			if format == "json" {
				all := []eventJSON{}
				for _, ev := range list {
					all = append(all, newEventJSON(ev))
				}
				return writeJSON(e.out, all)
			}
			return e.printEvents(list)
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
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
		if ev.isHeader() {
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
		if _, err := table.WriteTo(&b); err != nil {
			return err
		}
	}
	if len(listed) > 0 {
		b.WriteByte('\n')
		if _, err := programs.WriteTo(&b); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s, %d enabled\n", output.Plural(len(list), "event"), enabled)
	_, err := fmt.Fprint(e.out, b.String())
	return err
}
