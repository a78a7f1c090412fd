package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/internal/text"
)

func newDeleteCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete events that no program has registered",
		Long: `Deletes persistent events, those that uevents events register or restore created. Linux 6.4 and
earlier keep every event of every program until then. It goes on after an event that
cannot be deleted: a program has it registered, or a tool is attached.`,
		Example:           `  uevents events delete myapp_request`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: e.completeKernel,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := e.kernel("events delete")
			if err != nil {
				return err
			}
			deleted := []string{}
			var failed []error
			for _, name := range args {
				if err := dir.Remove(name); err != nil {
					failed = append(failed, hintForEvent(err, text.Printable(name)))
					continue
				}
				deleted = append(deleted, name)
				if format == "text" {
					fmt.Fprintf(e.out, "deleted %s\n", text.Printable(name))
				}
			}
			if format == "json" {
				failed = append(failed, writeJSON(e.out, map[string][]string{"deleted": deleted}))
			}
			return errors.Join(failed...)
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}
