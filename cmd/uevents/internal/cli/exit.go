package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/uevents"
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

// Exit codes, which the help of the root command documents.
const (
	exitOK           = 0
	exitError        = 1
	exitUsage        = 2
	exitNotSupported = 3
	exitNotPermitted = 4
	exitLost         = 5

	// Those of shells and of env(1) for a COMMAND that did not run.
	exitNotExecutable = 126
	exitNotFound      = 127
)

// errLost ends a command that lost records under --strict. The summary has their number.
var errLost = errors.New("records were lost (--strict)")

type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// silentError ends a command that has already reported its error.
type silentError struct{ error }

func (s silentError) Unwrap() error { return s.error }

type startError struct{ error }

func (s startError) Unwrap() error { return s.error }

// hintError is an error with a remedy, which is printed below it. Each line of it is a remedy.
type hintError struct {
	error
	hint string
}

func (h hintError) Unwrap() error { return h.error }

// exitCode returns the exit code for the error of a command. The first matching code counts, and usage errors come
// first: a wrong command line is wrong on every machine.
func exitCode(err error) int {
	_, usage := errors.AsType[usageError](err)
	command, ended := errors.AsType[commandError](err)
	start, notStarted := errors.AsType[startError](err)
	switch {
	case err == nil:
		return exitOK
	case usage:
		return exitUsage
	case ended:
		return command.code
	case notStarted && (errors.Is(start, exec.ErrNotFound) || errors.Is(start, fs.ErrNotExist)):
		return exitNotFound
	case notStarted:
		return exitNotExecutable
	case errors.Is(err, errLost):
		return exitLost
	case errors.Is(err, uevents.ErrNotSupported), errors.Is(err, errors.ErrUnsupported): // whatever is permitted
		return exitNotSupported
	case errors.Is(err, fs.ErrPermission):
		return exitNotPermitted
	}
	return exitError
}

// hintForList adds the remedy to an error of listing events.
func hintForList(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return hintError{err, "files of tracefs belong to root: run it as root, or let a group read them: sudo uevents setup GROUP --apply"}
	}
	return err
}

// hintForPerf adds the remedy to an error of perf_event_open.
func hintForPerf(err error) error {
	remedies := []string{"or run it as root; or let a group read events: sudo uevents setup GROUP --apply"}
	if refused, ok := errors.AsType[*perfaccess.Error](err); ok {
		remedies = append(refused.Process.Refused(self()).Remedies, remedies...)
	}
	return hintError{err, strings.Join(remedies, "\n")}
}
