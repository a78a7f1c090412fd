package output

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/userevents/userevents-go/reader"
)

// Sequences of ECMA-48 that terminals of all kinds know.
const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
)

// UseColor says whether what is written to a file is coloured: mode is always, never, or auto, which is if it is a
// terminal that knows colours and NO_COLOR (https://no-color.org) is not set.
func UseColor(mode string, f *os.File) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())), nil
	}
	return false, fmt.Errorf("%w: color %q is none of auto, always and never", ErrFormat, mode)
}

// colorOf returns the colour of the column that says how serious an event is.
func colorOf(ev *reader.Event) string {
	switch s := ev.Severity; {
	case s >= reader.SeverityFatal:
		return bold + red
	case s >= reader.SeverityError || ev.Status == reader.StatusError:
		return red
	case s >= reader.SeverityWarn:
		return yellow
	case s >= reader.SeverityInfo:
		return green
	case s > 0:
		return faint
	case ev.Kind == reader.Other:
		return ""
	}
	return cyan
}
