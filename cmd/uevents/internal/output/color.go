package output

import (
	"os"

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

// UseColor says whether what is written is coloured: mode is always, never, or auto, which is on a terminal that knows
// colours unless NO_COLOR (https://no-color.org) is set.
func UseColor(mode string, terminal bool) bool {
	return mode == "always" || mode == "auto" && terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
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
