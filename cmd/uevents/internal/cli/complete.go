package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/workload"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/tracepoint"
)

func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	completeFlagWith(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlagWith(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // no such flag
	}
}

// completeFlagBy makes the shell complete a flag's values with those that there are, each with its description behind a tab.
func completeFlagBy(cmd *cobra.Command, flag string, values func() []string) {
	completeFlagWith(cmd, flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return completions(values(), nil, prefix), cobra.ShellCompDirectiveNoFileComp
	})
}

// completions returns the values that begin with a prefix, without those that are on the command line. Programs choose
// names: it leaves out those that need quotes. Bash evaluates the part that several values have in common when it completes again.
func completions(values, args []string, prefix string) []string {
	values = slices.DeleteFunc(values, func(v string) bool {
		value, description, _ := strings.Cut(v, "\t")
		safe := plainWord.MatchString(value) && text.Printable(description) == description
		return !safe || !strings.HasPrefix(value, prefix) || slices.Contains(args, value)
	})
	slices.Sort(values)
	word := func(v string) string {
		w, _, _ := strings.Cut(v, "\t")
		return w
	}
	return slices.CompactFunc(values, func(a, b string) bool { return word(a) == word(b) })
}

// completePrograms makes the shell complete a flag's values with names of programs, or with process ids and these names: those that
// offer events in shared memory, and all where programs can have events in the kernel.
func (e *env) completePrograms(cmd *cobra.Command, flag string, pids bool) {
	completeFlagBy(cmd, flag, func() (values []string) {
		add := func(pid int32, name string) {
			if pids {
				name = fmt.Sprintf("%d\t%s", pid, text.Printable(name))
			}
			values = append(values, name)
		}
		if e.tracefs == "" {
			programs, _, _ := memoryPrograms()
			for _, p := range programs {
				add(p.PID, p.Program)
			}
		}
		if _, err := e.dir(); err == nil || len(values) == 0 {
			for _, p := range workload.Processes("/") {
				add(p.PID, p.Program)
			}
		}
		return values
	})
}

// completeEvents makes the shell complete names of events that are not on the command line yet, as far as this user may list them: those of
// the kernel, and with memory those in shared memory, too.
func (e *env) completeEvents(memory bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
		for _, d := range e.declarations(memory) {
			names = append(names, d.Name+"\t"+text.Printable(d.FieldList()))
		}
		return completions(names, args, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// declarations returns those of the kernel's user events, and those in shared memory, as far as this user may list them.
func (e *env) declarations(memory bool) (list []tracepoint.Declaration) {
	if memory && e.tracefs == "" {
		programs, _, _ := memoryPrograms()
		for _, p := range programs {
			for _, ev := range p.events {
				list = append(list, ev.declaration)
			}
		}
	}
	if dir, err := e.dir(); err == nil {
		kernel, _ := dir.Declarations()
		list = append(list, kernel...)
	}
	return list
}
