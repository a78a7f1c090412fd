package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// env is what commands see of the process that they run in, and the flags that all of them have.
type env struct {
	in       io.Reader
	out, err io.Writer
	// terminal reports whether a stream is a terminal, and how wide it is in columns.
	terminal func(stream any) (columns int, ok bool)
	now      func() time.Time
	open     func(*tracefs.Dir, *reader.Options) (live, error)

	tracefs string // --tracefs
	color   string // --color
}

// newEnv returns the process's environment.
func newEnv() *env {
	return &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: terminal, now: time.Now, open: openLive, color: "auto"}
}

func terminal(stream any) (columns int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns == 0 {
		columns = 80 // a serial line does not tell
	}
	return columns, true
}

// colored reports whether standard output has colours.
func (e *env) colored() bool {
	_, terminal := e.terminal(e.out)
	return output.UseColor(e.color, terminal)
}

// dir returns the tracefs that the commands work on. The error says what to do, and has an exit code.
func (e *env) dir() (*tracefs.Dir, error) {
	if e.tracefs != "" {
		if _, err := os.Stat(e.tracefs); err != nil {
			return nil, err
		}
		return tracefs.At(e.tracefs), nil
	}
	dir, err := tracefs.Find()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(uevents.Probe(nil).Err, err) // it knows why, and what to do
	}
	return dir, err
}

// outputFlag adds -o to a command, with the formats that it has. The first one is the default.
func outputFlag(cmd *cobra.Command, value *string, formats ...string) {
	cmd.Flags().VarP(newChoice(value, formats...), "output", "o", "output `FORMAT`: "+strings.Join(formats, " or "))
	completeFlag(cmd, "output", formats...)
}

// choice is a flag with one of a few values.
type choice struct {
	value *string
	of    []string
}

// newChoice returns a choice whose default is the first value.
func newChoice(value *string, of ...string) *choice {
	*value = of[0]
	return &choice{value, of}
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "string" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("it must be %s", strings.Join(c.of, " or "))
	}
	*c.value = s
	return nil
}

// writeJSON writes a value as one indented document. Streams of records are written by package output.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// plural returns a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
