package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/tracepoint"
)

func newRegisterCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "register NAME [TYPE FIELD; ...]",
		Short: "Create an event that stays without a program",
		Long: `Creates a persistent event. It stays until it is deleted or the machine restarts,
whether or not a program registers it. Tools that refuse to attach to an event that
does not exist can then be started before the program, and miss nothing of it.

The declaration is that of the kernel's Documentation/trace/user_events.rst. If the
program registers the name with other fields, it gets an error.`,
		Example: `  uevents events register 'myapp_request u16 status; s64 latency_ns; __data_loc char[] route'
  uevents show myapp_request`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := tracepoint.Parse(strings.Join(args, " "))
			if err != nil {
				return usageError{err}
			}
			dir, err := e.kernel("events register")
			if err != nil {
				return err
			}
			if err := dir.Create(d); err != nil {
				return hintForEvent(err, d.Name)
			}
			if format == "json" {
				return writeJSON(e.out, newDeclarationJSON(d))
			}
			_, err = fmt.Fprintf(e.out, "registered %s; it stays until the machine restarts, or: uevents events delete %s\n", d.Name, d.Name)
			return err
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

// hintForEvent adds the remedy to an error of creating or deleting an event.
func hintForEvent(err error, name string) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return hintError{err, "it takes CAP_PERFMON, and write permission on dynamic_events: run it as root"}
	case errors.Is(err, fs.ErrNotExist):
		return hintError{err, "see uevents list for the events that are there: it takes names, and no patterns"}
	case errors.Is(err, syscall.EADDRINUSE):
		return hintError{err, "it has other fields, see uevents show " + name}
	case errors.Is(err, syscall.EBUSY):
		return hintError{err, "a program has it registered, or a tool is attached: see uevents show " + name}
	}
	return err
}
