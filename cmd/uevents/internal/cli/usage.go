package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkArgs makes the errors of cobra about arguments and required flags name what is missing, as the usage of the command
// calls it.
func checkArgs(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil || cmd.HasSubCommands() { // which know better what is wrong
		return
	}
	use := strings.Fields(cmd.Use)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			if len(args) > 0 {
				return fmt.Errorf("too many arguments: %s %s", cmd.Parent().CommandPath(), cmd.Use)
			}
			what := strings.TrimSuffix(use[1], "...")
			if optional, ok := strings.CutPrefix(what, "["); ok { // see needsPattern
				what = strings.TrimSuffix(optional, "...]") + " or a flag that selects records, such as --unit,"
			}
			return fmt.Errorf("%s is missing: %s %s", what, cmd.Parent().CommandPath(), cmd.Use)
		}
		var missing []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
				value, _ := pflag.UnquoteUsage(f)
				missing = append(missing, "--"+f.Name+" "+value)
			}
		})
		if len(missing) > 0 {
			return fmt.Errorf("%s is missing: uevents %s", strings.Join(missing, " and "), cmd.Use)
		}
		return nil
	}
}

// flagError words the error of a flag: which flags have a similar name, and which values it takes.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if similar := similarNames(unknown.GetSpecifiedName(), names); len(similar) > 0 {
			return fmt.Errorf("%w: did you mean --%s?", err, strings.Join(similar, " or --"))
		}
		return err
	}
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	takes := map[string]string{
		"int": "a number", "uint64": "a number from 0 up", "intSlice": "numbers with commas between them",
		"duration": "a time with its unit, such as 500ms, 10s or 1m30s",
	}[invalid.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: it must be %s", invalid.GetValue(), invalid.GetFlag().Name, takes)
}

// rejectUnknownTopics makes help of an unknown command an error, with the commands of similar names.
func rejectUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // cobra has just added it
	}
	run := help.Run
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if _, _, err := root.Find(args); err != nil {
			return err
		}
		run(cmd, args)
		return nil
	}
}
