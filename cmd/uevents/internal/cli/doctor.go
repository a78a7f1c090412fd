package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
)

// Statuses of checks.
const (
	statusOK   = "ok"
	statusWarn = "warn" // works in part, with a substitute
	statusFail = "FAIL"
	statusSkip = "skip" // not checked, since another check failed
)

// check is the result of one check of doctor.
type check struct {
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Result string   `json:"result"`
	Remedy []string `json:"remedy,omitempty"`

	err error // of a failed check: it determines the exit code
}

func newDoctorCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what works on this machine, and say what is missing",
		Long: `Checks what the kernel supports and what this user may do, each with what to do about
it, and then proves it: doctor registers an event of its own, attaches to it, writes to
it, reads the records back and compares them. It leaves nothing behind.

The exit code is that of the first check that failed; warnings do not count.`,
		Example: `  uevents doctor
  uevents doctor -o json | jq '.checks[] | select(.status == "FAIL")'`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			checks := examine(e)
			var first error
			problems := 0
			for _, c := range checks {
				if c.Status == statusFail {
					problems++
					if first == nil {
						first = silentError{c.err}
					}
				}
			}
			code := exitCode(first)
			if format == "json" {
				err := writeJSON(e.out, struct {
					Checks   []check `json:"checks"`
					Problems int     `json:"problems"`
					Exit     int     `json:"exit"`
				}{checks, problems, code})
				if err != nil {
					return err
				}
				return first
			}
			if err := e.printChecks(checks); err != nil {
				return err
			}
			if first == nil {
				_, err := fmt.Fprintln(e.out, "no problems")
				return err
			}
			fmt.Fprintf(e.out, "%s, exit %d\n", output.Plural(problems, "problem"), code)
			return first
		},
	}
	outputFlag(cmd, &format, "text", "json")
	return cmd
}

// printChecks prints checks as a table, with remedies below them.
func (e *env) printChecks(checks []check) error {
	colored := e.colored()
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	colors := map[string]string{statusOK: output.Green, statusWarn: output.Yellow, statusFail: output.Red, statusSkip: output.Faint}
	for _, c := range checks {
		line := fmt.Sprintf("%s%s  %-*s  %s", output.Paint(colored, colors[c.Status], c.Status), strings.Repeat(" ", 4-len(c.Status)), width, c.Name, text.Printable(c.Result))
		fmt.Fprintln(e.out, strings.TrimRight(line, " "))
		for _, r := range c.Remedy {
			fmt.Fprintf(e.out, "      -> %s\n", text.Printable(r))
		}
	}
	return nil
}
