package cli

import (
	"bytes"
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
	"unicode/utf16"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/uevents"
)

// env is the environment of a command: its process, and the global flags.
type env struct {
	in       io.Reader
	out, err io.Writer
	// terminal reports whether a stream is a terminal, and its size at the moment.
	terminal func(stream any) (size terminalSize, ok bool)
	now      func() time.Time
	open     func(*reader.Options) (source, error)
	// foreground reports whether the terminal sends its signals to this process and those that it starts.
	foreground func() bool
	// environment is that of programs which the command starts; nil is the process's.
	environment []string

	tracefs string // --tracefs
	color   string // --color
}

func newEnv() *env {
	return &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: terminal, now: time.Now, open: openLive, foreground: foreground, color: "auto"}
}

type terminalSize struct{ columns, lines int }

func terminal(stream any) (size terminalSize, ok bool) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return terminalSize{}, false
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil || columns == 0 || lines == 0 {
		return terminalSize{80, 24}, true // a serial line does not report its size
	}
	return terminalSize{columns, lines}, true
}

// say writes a line to standard error, as one line of printable characters.
func (e *env) say(format string, args ...any) {
	fmt.Fprintln(e.err, text.Printable(fmt.Sprintf(format, args...)))
}

func (e *env) colored() bool {
	_, terminal := e.terminal(e.out)
	return output.UseColor(e.color, terminal)
}

// kernel is dir for what only the kernel has.
func (e *env) kernel(what string) (*tracefs.Dir, error) {
	dir, err := e.dir()
	if err != nil && e.tracefs == "" {
		err = fmt.Errorf("%s needs events of the kernel: %w", what, err)
	}
	return dir, err
}

// dir returns the tracefs that commands use. The error has a remedy and an exit code.
func (e *env) dir() (*tracefs.Dir, error) {
	if e.tracefs != "" {
		if _, err := os.Stat(e.tracefs); err != nil {
			return nil, err
		}
		dir := tracefs.At(e.tracefs)
		return dir, supported(dir)
	}
	dir, err := findTracefs()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(uevents.Probe(kernelOnly).Err, err) // it knows why, and what to do
	} else if err != nil {
		return nil, err
	}
	return dir, supported(dir)
}

// Where commands look for user events. Tests have a kernel without.
var (
	kernelOnly  = &uevents.Options{Transport: uevents.TransportKernel}
	findTracefs = tracefs.Find
	transport   = reader.TransportAny
)

// supported returns an error if the kernel that has the tracefs has no user_events.
func supported(dir *tracefs.Dir) error {
	if _, err := os.Stat(dir.Path(tracefs.StatusFile)); !errors.Is(err, fs.ErrNotExist) {
		if errors.Is(err, fs.ErrPermission) {
			if report := uevents.Probe(kernelOnly); errors.Is(report.Err, uevents.ErrNotSupported) {
				return report.Err
			}
		}
		return nil // who may not look gets the error of what is read
	}
	if _, err := os.Stat(dir.Path("events")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no tracefs: %w", dir.Path(), err)
	}
	if err := uevents.Probe(kernelOnly).Err; errors.Is(err, uevents.ErrNotSupported) {
		return err
	}
	return fmt.Errorf("%w: %s has no %s", uevents.ErrNotSupported, dir.Path(), tracefs.StatusFile)
}

// outputFlag adds -o to a command. The first format is the default.
func outputFlag(cmd *cobra.Command, value *string, formats ...string) {
	cmd.Flags().VarP(newChoice(value, formats...), "output", "o", "output `FORMAT`: "+strings.Join(formats, " or "))
	completeFlag(cmd, "output", formats...)
}

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

// writeJSON writes a value as one indented document. Package output writes streams of records.
func writeJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

func writeJSONLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

// encodeJSON escapes, beside what encoding/json does, all that package text does: documents are read on terminals, too.
func encodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	var out []byte
	for _, r := range b.String() {
		if s := string(r); r < 0x7f || text.Printable(s) == s {
			out = append(out, s...)
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, u)
		}
	}
	_, err := w.Write(out)
	return err
}
