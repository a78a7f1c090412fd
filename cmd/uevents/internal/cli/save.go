package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
)

func newSaveCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "save [FILE]",
		Short: "Save the declarations of all events",
		Long: `Writes the declarations of all user events, as the kernel words them, to a file or to
standard output. uevents events restore creates them again, such as after a restart, so that
tools can attach before the programs start. With -o json the listing is for programs:
restore does not read it.`,
		Example: `  uevents events save /etc/user_events
  uevents events restore /etc/user_events`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
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
			if format == "json" {
				listing.Reset()
				if err := writeJSON(&listing, declarationsJSON(events)); err != nil {
					return err
				}
			}
			if len(args) == 0 || args[0] == "-" {
				return e.showListing(listing.String())
			}
			if err := os.WriteFile(args[0], listing.Bytes(), 0o644); err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.out, "saved %s to %s\n", output.Plural(len(events), "event"), args[0])
			return err
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
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

func newRestoreCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
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
			listing, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			events, err := tracefs.ParseDynamicEvents(bytes.NewReader(listing))
			if err != nil {
				return err
			}
			if len(events) == 0 && !onlyComments(listing) {
				return errors.New("no user event: uevents events save writes each as a line u:NAME FIELDS")
			}
			dir, err := e.kernel("events restore")
			if err != nil {
				return err
			}
			if err := dir.Restore(bytes.NewReader(listing)); err != nil {
				return hintForEvent(err, "NAME")
			}
			if format == "json" {
				return writeJSON(e.out, declarationsJSON(events))
			}
			_, err = fmt.Fprintf(e.out, "restored %s\n", output.Plural(len(events), "event"))
			return err
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

// onlyComments reports whether a listing has blank lines and comments alone.
func onlyComments(listing []byte) bool {
	for line := range bytes.Lines(listing) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}
