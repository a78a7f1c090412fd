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
	return completeNames(e.declarations(true), args, prefix), cobra.ShellCompDirectiveNoFileComp
}

// completeKernel is completeEvents for the kernel's events alone.
func (e *env) completeKernel(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeNames(e.declarations(false), args, prefix), cobra.ShellCompDirectiveNoFileComp
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

func completeNames(declarations []tracepoint.Declaration, args []string, prefix string) (names []string) {
	for _, d := range declarations {
		if strings.HasPrefix(d.Name, prefix) && !slices.Contains(args, d.Name) && text.Printable(d.Name) == d.Name {
			names = append(names, d.Name+"\t"+text.Printable(d.FieldList()))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
