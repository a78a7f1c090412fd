package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
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
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
				return fmt.Errorf("%w: did you mean %s?", err, strings.Join(similar, " or "))
			}
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range []*cobra.Command{newRegisterCommand(e), newDeleteCommand(e), newSaveCommand(e), newRestoreCommand(e)} {
		checkArgs(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}
