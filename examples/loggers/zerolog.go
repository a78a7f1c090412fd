package main

import (
	"log/slog"

	"github.com/rs/zerolog"
)

// newZerolog returns a logger whose records go to zerolog's, with its level, hooks and writer, and to events while a tool is
// attached. The program calls slog: calls of the [zerolog.Logger] reach its writer only.
func newZerolog(output zerolog.Logger, events slog.Handler) *slog.Logger {
	return slog.New(slog.NewMultiHandler(zerolog.NewSlogHandler(output), events))
}
