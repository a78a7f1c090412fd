// Package oteltrace gives package sloghandler the ids of OpenTelemetry's current span, so
// that log records and spans can be put together. It needs OpenTelemetry's API and not its
// SDK.
//
//	events, err := sloghandler.New("myapp", &sloghandler.Options{TraceContext: oteltrace.Context})
//	logger.InfoContext(ctx, "request served")
package oteltrace

import (
	"context"

	"github.com/userevents/userevents-go/internal/eventspan"
)

// Context returns the ids of the span that ctx carries, sampled or not, and zeros without one. Of a span of package
// ueventstrace's own provider they are those in its events, which it does not propagate. Context does not allocate, and
// may be called concurrently.
func Context(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	span := eventspan.FromContext(ctx)
	return span.TraceID(), span.SpanID()
}
