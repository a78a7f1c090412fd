package main

import (
	"fmt"
	"strings"
)

// bars are what the plot shows: a call that is on.
var bars = []struct{ label, name string }{
	{"raw event of 256 bytes", "Write/256"},
	{"struct event", "OwnOn/struct"},
	{"uprobe, no attributes", "Uprobe/function/on"},
	{"phuslu/log", "On/phuslu"},
	{"zerolog", "On/zerolog"},
	{"sloghandler", "OwnOn/slog-typed"},
	{"zap", "On/zap"},
	{"sloghandler, declared", "OwnOn/slog-declared"},
	{"sloghandler, EventHeader", "OwnOn/slog-eventheader"},
	{"slog.JSONHandler", "On/slog-json"},
	{"slog.TextHandler", "On/slog-text"},
}

// plot returns a bar chart as SVG.
func plot(figures map[string]int) (string, error) {
	const row, left, width = 24, 190, 480
	most := 0
	for _, bar := range bars {
		v, ok := figures[bar.name]
		if !ok {
			return "", fmt.Errorf("no figure for %s", bar.name)
		}
		most = max(most, v)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", left+width+80, row*len(bars)+40)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="20">instructions of a log call with five attributes that is written</text>`+"\n", left)
	for i, bar := range bars {
		y, v := 32+i*row, figures[bar.name]
		w := v * width / most
		color := "#9aa5b1"
		if strings.HasPrefix(bar.name, "Own") {
			color = "#2f6f9f"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%d" height="16" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			left-8, y+13, bar.label, left, y, w, color, left+w+6, y+13, thousands(v))
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}
