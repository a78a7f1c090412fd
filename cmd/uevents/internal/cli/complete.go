package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// completeFlag makes the shell complete a flag's values.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // no such flag
	}
}

// completeEvents makes the shell complete names of events that are not on the command line yet, as far as this user may list them.
func (e *env) completeEvents(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var declarations []tracepoint.Declaration
	if e.tracefs == "" {
		programs, _, _ := memoryPrograms()
		for _, p := range programs {
			for _, ev := range p.events {
				declarations = append(declarations, ev.declaration)
			}
		}
	}
	return e.completeNames(declarations, args, prefix)
}

// completeKernel is completeEvents for the kernel's events alone.
func (e *env) completeKernel(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return e.completeNames(nil, args, prefix)
}

// completeNames completes names of declarations and of the kernel's events.
func (e *env) completeNames(declarations []tracepoint.Declaration, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
	if dir, err := e.dir(); err == nil {
		list, _ := dir.Declarations()
		declarations = append(declarations, list...)
	}
	for _, d := range declarations {
		if strings.HasPrefix(d.Name, prefix) && !slices.Contains(args, d.Name) && text.Printable(d.Name) == d.Name {
			names = append(names, d.Name+"\t"+text.Printable(d.FieldList()))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
