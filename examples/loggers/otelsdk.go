package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// logSDK makes OpenTelemetry's SDK log to a handler, and to events while a tool is attached: what it does about spans that
// do not arrive at a backend. The SDK has two ways to log, and both of them print errors to standard error by default. So
// the handler should be enabled for errors.
func logSDK(errorsOnly, events slog.Handler) {
	both := slog.NewMultiHandler(errorsOnly, events)
	otel.SetLogger(logr.FromSlogHandler(both))
	log := slog.New(both)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err.Error()) }))
}

// export ends a span whose exporter cannot reach its backend, about which the SDK logs.
func export(ctx context.Context) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(unreachable{}))
	_, span := provider.Tracer("example.com/shop").Start(ctx, "sell")
	span.End()
	_ = provider.Shutdown(ctx) // of unreachable, which cannot fail
}

// unreachable is an exporter without a backend.
type unreachable struct{}

func (unreachable) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("traces export: connection refused")
}

func (unreachable) Shutdown(context.Context) error { return nil }
