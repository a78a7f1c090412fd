package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/encode/text"
)

// completeFlag makes the shell complete a flag's values.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // no such flag
	}
}

// completeEvents makes the shell complete names of registered events that are not on the command line yet. Without
// permission to list events it completes nothing.
func (e *env) completeEvents(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	dir, err := e.dir()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	declarations, err := dir.Declarations()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, d := range declarations {
		if strings.HasPrefix(d.Name, prefix) && !slices.Contains(args, d.Name) && text.Printable(d.Name) == d.Name {
			names = append(names, d.Name+"\t"+text.Printable(d.FieldList()))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
