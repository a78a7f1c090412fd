// Package oteltrace gives package sloghandler the ids of OpenTelemetry's current span, so
// that log records and spans can be put together. It needs OpenTelemetry's API and not its
// SDK.
//
//	events, err := sloghandler.New("myapp", &sloghandler.Options{TraceContext: oteltrace.Context})
//	logger.InfoContext(ctx, "request served")
package oteltrace

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Context returns the ids of the span that ctx carries, sampled or not, and zeros without
// one. It does not allocate, and may be called concurrently.
func Context(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	span := trace.SpanContextFromContext(ctx)
	return span.TraceID(), span.SpanID()
}
