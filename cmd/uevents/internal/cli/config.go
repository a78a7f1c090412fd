package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

var configs = []struct {
	tool  string
	write func(io.Writer, []configEvent)
}{
	{"perf", commandConfig("perf record -a -k mono", "--filter", "-- sleep 10")},
	{"trace-cmd", commandConfig("trace-cmd record", "-f", "sleep 10")},
	{"perfetto", perfettoConfig},
}

// configEvent is an event in a tool's configuration.
type configEvent struct {
	System string `json:"system"`
	Name   string `json:"name"`
	Filter string `json:"filter,omitempty"` // in the kernel's syntax
}

func newConfigCommand(e *env) *cobra.Command {
	var format string
	var tools []string
	for _, c := range configs {
		tools = append(tools, c.tool)
	}
	cmd := &cobra.Command{
		Use:   "config TOOL [PATTERN...]",
		Short: "Write the configuration of another tool for the registered events",
		Long: `Writes what makes another tool record the events that are registered now, for:

  perf       a command line of perf record
  trace-cmd  a command line of trace-cmd record
  perfetto   a configuration of the recorder: perfetto --txt -c FILE -o trace

Programs write a declared record twice while a tool is attached to its event and to that
of its level; the configurations for perf and trace-cmd leave the second one out.`,
		Example: `  uevents config perf myapp
  uevents config perfetto myapp > config.txt && perfetto --txt -c config.txt -o trace`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return tools, cobra.ShellCompDirectiveNoFileComp
			}
			return e.completeEvents(false)(cmd, args[1:], prefix)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.Index(tools, args[0])
			if i < 0 {
				return usageError{fmt.Errorf("unknown tool %q: it must be %s", args[0], strings.Join(tools, ", "))}
			}
			match, err := reader.Match(orAll(args[1:])...)
			if err != nil {
				return usageError{err}
			}
			dir, err := e.kernel("config")
			if err != nil {
				return err
			}
			found, err := kernelEvents(dir, match)
			if err != nil {
				return err
			}
			list, odd := configEvents(found)
			for _, name := range odd {
				fmt.Fprintf(e.err, "left out, as tools cannot be given such a name: %s\n", text.Printable(name))
			}
			if len(list) == 0 {
				return hintError{fmt.Errorf("no event is registered that matches %s", cmp.Or(strings.Join(args[1:], " "), "*")), "see uevents list"}
			}
			if format == "json" {
				return writeJSON(e.out, list)
			}
			var config bytes.Buffer
			configs[i].write(&config, list)
			_, err = config.WriteTo(e.out)
			return err
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

// plainName matches names that need no quotes in shells, YAML, and the options of perf and trace-cmd.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.]*$`)

// configEvents returns the events for a configuration, and the names of events that a configuration cannot have.
func configEvents(found []event) (list []configEvent, odd []string) {
	declared := slices.ContainsFunc(found, func(ev event) bool {
		return ev.source == record.SourceDeclared || ev.source == record.SourceOTelDeclared
	})
	for _, ev := range found {
		c := configEvent{System: ev.system, Name: ev.name}
		if !plainName.MatchString(c.Name) {
			odd = append(odd, c.Name)
			continue
		}
		hasDuplicate := slices.ContainsFunc(ev.format.Fields, func(f tracepoint.FormatField) bool { return f.Name == "duplicate" })
		if declared && ev.source != "" && hasDuplicate {
			c.Filter = "duplicate == 0"
		}
		list = append(list, c)
	}
	return list, odd
}

// commandConfig returns a function that writes a command with options for the events, in shell's syntax.
func commandConfig(command, filterFlag, rest string) func(io.Writer, []configEvent) {
	return func(w io.Writer, list []configEvent) {
		fmt.Fprint(w, command)
		for _, ev := range list {
			fmt.Fprintf(w, " \\\n  -e %s:%s", ev.System, ev.Name)
			if ev.Filter != "" {
				fmt.Fprintf(w, " %s '%s'", filterFlag, ev.Filter)
			}
		}
		fmt.Fprintf(w, " \\\n  %s\n", rest)
	}
}

func perfettoConfig(w io.Writer, list []configEvent) {
	fmt.Fprint(w, `duration_ms: 10000
buffers { size_kb: 65536 }
data_sources { config { name: "linux.process_stats" } }
data_sources { config {
  name: "linux.ftrace"
  ftrace_config {
    buffer_size_kb: 4096
`)
	for _, ev := range list {
		fmt.Fprintf(w, "    ftrace_events: %q\n", ev.System+"/"+ev.Name)
	}
	fmt.Fprint(w, "  }\n} }\n")
}
