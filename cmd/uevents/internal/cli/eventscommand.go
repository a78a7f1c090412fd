package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

func newEventsCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Keep events without their programs: register, delete, save, restore",
		Long: `Creates and deletes events of the kernel that stay without a program, such as for tools
that refuse to attach to an event that does not exist. uevents list lists all events.`,
		Example: `  uevents events register 'myapp_request u16 status; s64 latency_ns'
  uevents events save /etc/user_events
  uevents events restore /etc/user_events`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range []*cobra.Command{newRegisterCommand(e), newDeleteCommand(e), newSaveCommand(e), newRestoreCommand(e)} {
		checkArgs(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

func newRegisterCommand(e *env) *cobra.Command {
	return &cobra.Command{
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
			_, err = fmt.Fprintf(e.out, "registered %s; it stays until the machine restarts, or: uevents events delete %s\n", d.Name, d.Name)
			return err
		},
	}
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

func newDeleteCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete events that no program has registered",
		Long: `Deletes persistent events, those that uevents events register or restore created. Linux 6.4 and
earlier keep every event of every program until then. It goes on after an event that
cannot be deleted: a program has it registered, or a tool is attached.`,
		Example:           `  uevents events delete myapp_request`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: e.completeEvents(false),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := e.kernel("events delete")
			if err != nil {
				return err
			}
			var failed []error
			for _, name := range args {
				if err := dir.Remove(name); err != nil {
					failed = append(failed, hintForEvent(err, text.Printable(name)))
					continue
				}
				fmt.Fprintf(e.out, "deleted %s\n", text.Printable(name))
			}
			return errors.Join(failed...)
		},
	}
}

func newSaveCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "save [FILE]",
		Short: "Save the declarations of all events",
		Long: `Writes the declarations of all user events, as the kernel words them, to a file or to
standard output. uevents events restore creates them again, such as after a restart, so that
tools can attach before the programs start.`,
		Example: `  uevents events save /etc/user_events
  uevents events restore /etc/user_events`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := e.kernel("events save")
			if err != nil {
				return err
			}
			var listing bytes.Buffer
			if err := dir.Save(&listing); err != nil {
				return hintForList(err)
			}
			events, err := tracefs.ParseDynamicEvents(bytes.NewReader(listing.Bytes()))
			if err != nil {
				return err
			}
			if len(args) == 0 || args[0] == "-" {
				return e.showListing(listing.String())
			}
			f, err := openOutput(cmd.Context(), args[0])
			if err == nil {
				_, err = listing.WriteTo(f)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				return hintForFile(err)
			}
			_, err = fmt.Fprintf(e.out, "saved %s to %s\n", output.Plural(len(events), "event"), args[0])
			return err
		},
	}
}

// showListing writes a listing to standard output, as it is unless that is a terminal: names come from other programs.
func (e *env) showListing(listing string) error {
	if _, terminal := e.terminal(e.out); terminal {
		var b strings.Builder
		for line := range strings.Lines(listing) {
			b.WriteString(text.Printable(strings.TrimSuffix(line, "\n")) + "\n")
		}
		listing = b.String()
	}
	_, err := io.WriteString(e.out, listing)
	return err
}

// maxListing is the size of the largest listing in bytes: kernel.user_events_max is 32,768 by default, and a
// declaration has at most 512.
const maxListing = 32 << 20

func newRestoreCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "restore [FILE]",
		Short: "Create the events of a saved listing",
		Long: `Creates every event of a listing that uevents events save wrote, from a file or standard
input, as persistent events: see uevents events register. Events that are there with the same
fields are left as they are. It goes on after an event that cannot be created.`,
		Example: `  uevents events restore /etc/user_events
  ssh other uevents events save | uevents events restore`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			in := e.in
			if len(args) > 0 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			listing, err := io.ReadAll(io.LimitReader(in, maxListing+1))
			if err != nil {
				return err
			}
			if len(listing) > maxListing {
				return fmt.Errorf("the listing has more than %d bytes: it is none of uevents events save", maxListing)
			}
			events, err := tracefs.ParseDynamicEvents(bytes.NewReader(listing))
			if err != nil {
				return err
			}
			if len(events) == 0 && len(bytes.TrimSpace(listing)) > 0 {
				return errors.New("no user event: uevents events save writes each as a line u:NAME FIELDS")
			}
			dir, err := e.kernel("events restore")
			if err != nil {
				return err
			}
			if err := dir.Restore(bytes.NewReader(listing)); err != nil {
				return hintForEvent(err, "NAME")
			}
			_, err = fmt.Fprintf(e.out, "restored %s\n", output.Plural(len(events), "event"))
			return err
		},
	}
}
