package main

import (
	"log/slog"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/log"
)

// newOtelslog returns a logger whose records go to the handler of the output, and as OpenTelemetry's log records to a
// provider: here that of package ueventslog, whose events are enabled while a tool is attached. The bridge is for programs
// whose events should have OpenTelemetry's fields; others are faster with package sloghandler.
func newOtelslog(output slog.Handler, provider log.LoggerProvider) *slog.Logger {
	return slog.New(slog.NewMultiHandler(output, otelslog.NewHandler("example.com/shop", otelslog.WithLoggerProvider(provider))))
}
