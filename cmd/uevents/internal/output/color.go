package output

import (
	"os"

	"github.com/userevents/userevents-go/reader"
)

// Colors of [Paint] and sequences that move the cursor. All are ECMA-48, which terminals of all kinds know.
const (
	Faint  = "\x1b[2m"
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"

	// ClearLine clears from the cursor to the end of the line, ClearScreen moves the cursor to the top left corner and clears
	// the screen.
	ClearLine   = "\x1b[K"
	ClearScreen = "\x1b[H\x1b[J"

	bold  = "\x1b[1m"
	cyan  = "\x1b[36m"
	reset = "\x1b[0m"
)

// UseColor says whether what is written is coloured: mode is always, never, or auto, which is on a terminal that knows
// colours unless NO_COLOR (https://no-color.org) is set.
func UseColor(mode string, terminal bool) bool {
	return mode == "always" || mode == "auto" && terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Paint returns a text in a color if colors are in use: see [UseColor].
func Paint(use bool, color, s string) string {
	if !use {
		return s
	}
	return color + s + reset
}

// colorOf returns the colour of the column that says how serious an event is.
func colorOf(ev *reader.Event) string {
	switch s := ev.Severity; {
	case s >= reader.SeverityFatal:
		return bold + Red
	case s >= reader.SeverityError || ev.Status == reader.StatusError:
		return Red
	case s >= reader.SeverityWarn:
		return Yellow
	case s >= reader.SeverityInfo:
		return Green
	case s > 0:
		return Faint
	case ev.Kind == reader.KindOther:
		return ""
	}
	return cyan
}
