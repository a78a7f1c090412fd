package main

import (
	"log/slog"

	slogmulti "github.com/samber/slog-multi"
)

// newSlogMulti returns a logger whose records go to the handler of the output, and to events while a tool is attached. Programs
// of Go 1.25 need it: slog.NewMultiHandler is new in Go 1.26.
func newSlogMulti(output, events slog.Handler) *slog.Logger {
	return slog.New(slogmulti.Fanout(output, events))
}
