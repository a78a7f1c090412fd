// Package cli implements the commands of uevents, each in its own file.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/uevents"
)

// commands are the constructors of all commands, in the order of the help.
var commands = []struct {
	group string
	new   func(*env) *cobra.Command
}{
	{groupInspect, newDoctorCommand},
	{groupInspect, newListCommand},
	{groupInspect, newShowCommand},
	{groupRead, newWatchCommand},
	{groupRead, newRecordCommand},
	{groupRead, newReplayCommand},
	{groupRead, newTopCommand},
	{groupRead, newHistCommand},
	{groupRead, newFlightCommand},
	{groupSetup, newSetupCommand},
	{groupSetup, newEventsCommand},
}

// synonyms are names that other tools have for commands, beside those that are misspelt.
var synonyms = map[string][]string{
	"doctor": {"check", "probe", "status"},
	"list":   {"ls"},
	"show":   {"describe", "format", "info"},
	"watch":  {"follow", "tail", "trace"},
	"record": {"capture"},
	"replay": {"convert", "report", "script"},
	"top":    {"count", "stat"},
	"hist":   {"histogram"},
	"events": {"create", "delete", "register", "remove", "restore", "save"},
}

// Main runs the command line of the process and returns its exit code.
func Main() int {
	ctx, _ := untilSignal() // for good: a signal that comes while the process ends by itself does not change its exit code
	// This variable is for programs whose events an operator moves or turns off, such as the one that record starts.
	environment := os.Environ()
	if err := os.Unsetenv(uevents.EnvTransport); err != nil {
		panic(err) // the name is valid
	}
	e := newEnv()
	e.environment = environment
	return run(ctx, e, os.Args[1:])
}

// endedBy is the cause of a context that a signal ended.
type endedBy struct{ signal os.Signal }

func (e endedBy) Error() string { return "ended by the signal " + e.signal.String() }

// oneRequest is how long signals after the first one are the same request: timeout(1) signals its child and then the child's group.
var oneRequest = time.Second

// untilSignal returns a context that is done at the first signal, which ends a command in good order, with the cause endedBy.
// One that comes more than oneRequest later ends it at once. Of a terminal that is closed, the kernel and the shell both tell: a
// second SIGHUP changes nothing.
func untilSignal() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP)
	}
	received := make(chan os.Signal, 1)
	signal.Notify(received, signals...)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		select {
		case s := <-received:
			signal.Ignore(syscall.SIGHUP)
			cancel(endedBy{s})
			time.AfterFunc(oneRequest, func() { signal.Stop(received) })
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		cancel(nil)
	}
}

func run(ctx context.Context, e *env, args []string) int {
	root := newRootCommand(e)
	root.SetArgs(args)
	root.SetIn(e.in)
	texts := &checkedWriter{w: e.out}
	root.SetOut(texts)
	root.SetErr(e.err)
	root.InitDefaultCompletionCmd() // keeps the writer
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // else cobra accepts any shell's name
	}
	cmd, err := root.ExecuteContextC(ctx)
	failed, ran := errors.AsType[runError](err)
	switch {
	case err == nil && texts.err == nil:
		return exitOK
	case ran:
		err = failed.error
	case texts.err != nil:
		err = texts.err
	default:
		err = usageError{err} // cobra rejects it before it runs a command
	}
	_, silent := errors.AsType[silentError](err)
	if _, ended := errors.AsType[commandError](err); !silent && !ended {
		message, remedy := messageOf(err)
		var lines []string
		for line := range strings.SplitSeq(message, "\n") {
			line = text.Printable(strings.ReplaceAll(line, "\t", "  ")) // names of events come from other programs
			if line != "" && !slices.Contains(lines, line) {            // such as that of a full disk, which each later write repeats
				lines = append(lines, line)
			}
		}
		fmt.Fprintf(e.err, "uevents: %s\n", strings.Join(lines, "\n  "))
		for line := range strings.Lines(remedy) {
			fmt.Fprintf(e.err, "  -> %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	code := exitCode(err)
	if code == exitUsage {
		fmt.Fprintf(e.err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// checkedWriter keeps the first error. cobra writes help, the version and completions, and tells no errors of these or
// takes them for mistakes in the command line.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// messageOf returns the text of an error, and its remedy, which may be empty. Errors of packages uevents and reader begin
// with their names, and those of uevents have their remedy in the text.
func messageOf(err error) (message, remedy string) {
	message = strings.Replace(strings.TrimPrefix(err.Error(), "uevents: "), ": uevents: ", ": ", 1)
	message = strings.TrimPrefix(message, "reader: ")
	if refused, ok := errors.AsType[*perfaccess.Error](err); ok {
		message = strings.Replace(message, refused.Remedy(), "", 1) // hintForPerf has it, with the path of this program
	}
	if hint, ok := errors.AsType[hintError](err); ok {
		return message, hint.hint
	}
	if e, ok := errors.AsType[*uevents.Error](err); ok && e.Remedy != "" {
		return strings.Replace(message, " ("+e.Remedy+")", "", 1), e.Remedy
	}
	return message, ""
}

// runError is an error of a command, not of its command line.
type runError struct{ error }

func newRootCommand(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "uevents",
		Short: "Read the user_events of running programs",
		Long: `uevents reads Linux user_events: the log records, spans and metrics that programs
publish as tracepoints. It attaches to programs while they run. They are neither
restarted nor configured, and a disabled event costs them one check.

Exit codes:
  0  fine
  1  error
  2  wrong command line
  3  not supported by this kernel or operating system
  4  not permitted: the message says which permission is missing
  5  records were lost, with --strict`,
		Example: `  uevents doctor                    does it work here? what is missing?
  uevents list                      events of all programs
  uevents watch myapp               all events of myapp, as they happen
  uevents watch myapp --level debug its log records from level debug on`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("uevents {{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: groupRead, Title: "Read events:"},
		&cobra.Group{ID: groupInspect, Title: "Find events:"},
		&cobra.Group{ID: groupSetup, Title: "Set up:"},
	)
	root.SetHelpCommandGroupID(groupSetup)
	root.SetCompletionCommandGroupID(groupSetup)
	flags := root.PersistentFlags()
	flags.StringVar(&e.tracefs, "tracefs", "", "`DIR` that tracefs is mounted at (default: as the kernel says)")
	flags.Var(newChoice(&e.color, "auto", "always", "never"), "color", "`WHEN` to use colours: auto (on terminals, without NO_COLOR), always or never")
	completeFlag(root, "color", "auto", "always", "never")
	for _, c := range commands {
		cmd := c.new(e)
		cmd.GroupID = c.group
		cmd.SuggestFor = synonyms[cmd.Name()]
		root.AddCommand(cmd)
		checkArgs(cmd)
		markRunErrors(cmd)
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newJSONTopic(), newWhereTopic())
	rejectUnknownTopics(root)
	return root
}

const (
	groupRead    = "read"
	groupInspect = "inspect"
	groupSetup   = "setup"
)

// markRunErrors marks errors of a command and of those below it, to separate them from cobra's errors about the command
// line.
func markRunErrors(cmd *cobra.Command) {
	if f := cmd.RunE; f != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := f(cmd, args); err != nil {
				return runError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markRunErrors(sub)
	}
}

// version returns the version of the module that go install selected.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
