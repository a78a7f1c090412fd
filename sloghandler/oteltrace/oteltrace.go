// Package oteltrace gives package sloghandler the ids of OpenTelemetry's current span, so
// that log records and spans can be put together. It needs OpenTelemetry's API and not its
// SDK.
//
//	events, err := sloghandler.New("myapp", &sloghandler.Options{TraceContext: oteltrace.Context})
//	logger.InfoContext(ctx, "request served")
package oteltrace

import (
	"context"
	"reflect"

	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/internal/adapter/spankey"
)

// noSpan is the type of the span of a context that has none.
var noSpan = reflect.TypeOf(trace.SpanFromContext(context.Background()))

// Context returns the ids of the span that ctx carries, sampled or not, and zeros without one. Of a span of package
// ueventstrace's own provider they are those in its events, which it does not propagate. Context does not allocate, and
// may be called concurrently.
func Context(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	span := trace.SpanFromContext(ctx)
	if reflect.TypeOf(span) == noSpan { // most log records of many programs
		return traceID, spanID
	}
	s, ok := span.(spankey.Span)
	if !ok {
		s, ok = ctx.Value(spankey.Key{}).(spankey.Span)
	}
	if ok {
		return s.EventIDs(ctx)
	}
	c := span.SpanContext()
	return c.TraceID(), c.SpanID()
}
