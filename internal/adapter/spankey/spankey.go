// Package spankey has the key of package ueventstrace's spans in a context. It uses no type of
// OpenTelemetry, so that the module of this package does not require OpenTelemetry.
package spankey

import "context"

// Key is the key of the nearest Span in its context. A program may put another span around it, under the key of package
// trace.
type Key struct{}

// Span is a span whose ids in events are not those that it propagates.
type Span interface {
	// EventIDs returns the ids that the current span of ctx has in events. The Span is that span, or an outer one. EventIDs does not
	// allocate.
	EventIDs(ctx context.Context) (traceID [16]byte, spanID [8]byte)
}
