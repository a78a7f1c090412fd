package main

import (
	"log/slog"

	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// newZap returns a logger whose records go to zap's core, with its level, encoder and sinks, and to events while a tool is
// attached. The program calls slog: calls of a [zap.Logger] reach the core only.
func newZap(core zapcore.Core, events slog.Handler) *slog.Logger {
	// The bridge counts the calls between the program and itself, so that stack traces begin with the program's. A
	// MultiHandler is one more.
	output := zapslog.NewHandler(core, zapslog.WithCallerSkip(1))
	return slog.New(slog.NewMultiHandler(output, events))
}
