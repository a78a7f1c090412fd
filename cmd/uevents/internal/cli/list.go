package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

func newListCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list [PATTERN...]",
		Short: "List the events that programs have registered",
		Long: `Lists the user events of the machine: how many fields each has (hdr: they are in each
record, in the format EventHeader), which kinds of tools are attached to it, and what
writes it, as far as its fields tell.

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
			dir, err := e.dir()
			if err != nil {
				return err
			}
			list, _, err := events(dir, match)
			if err != nil {
				return err
			}
			if format == "json" {
				all := []eventJSON{}
				for _, ev := range list {
					all = append(all, newEventJSON(ev))
				}
				return writeJSON(e.out, all)
			}
			table := output.Table{Header: []string{"EVENT", "FIELDS", "LISTENERS", "SOURCE"}}
			enabled := 0
			for _, ev := range list {
				name := ev.tracepoint.Name()
				if ev.tracepoint.System() != tracepoint.System {
					name = ev.tracepoint.String()
				}
				fields := fmt.Sprint(len(ev.format.Fields))
				if ev.isHeader() {
					fields = "hdr"
				}
				if len(ev.listeners) > 0 {
					enabled++
				}
				table.Add(name, fields, cmp.Or(strings.Join(ev.listeners, " "), "-"), cmp.Or(ev.source, "-"))
			}
			if len(list) > 0 {
				if _, err := table.WriteTo(e.out); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(e.out, "%s, %d enabled\n", output.Plural(len(list), "event"), enabled)
			return err
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}
