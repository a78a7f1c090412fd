package ueventstrace

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/internal/spankey"
)

// spanContext is the context of a span that is recorded. The span does not refer to it: a span that a program keeps does not
// keep the values of its context.
type spanContext struct {
	context.Context // the caller's
	span            eventspan.Span
}

// spanKey is the key of the span in a context, which package trace does not export.
var spanKey = func() any {
	var asked askedKey
	trace.SpanFromContext(&asked)
	return asked.key
}()

// askedKey is a context that keeps the key that it is asked for.
type askedKey struct {
	context.Context
	key any
}

func (c *askedKey) Value(key any) any {
	c.key = key
	return nil
}

// isSpanKey reports whether a context is asked for its span, by package trace or by [spankey].
func isSpanKey(key any) bool { return key == spanKey || key == any(spankey.Key{}) }

// Value returns the span for the keys of package trace and [spankey], and the caller's values for all others.
func (c *spanContext) Value(key any) any {
	if isSpanKey(key) {
		return c.span
	}
	return c.Context.Value(key)
}

// String returns what other contexts with a span return. Package fmt would print the span, which changes.
func (c *spanContext) String() string { return contextText(c.Context) }

// contextText does not ask the span for its text: that of an idleSpan is that of its context.
func contextText(ctx context.Context) string {
	return fmt.Sprint(trace.ContextWithSpan(ctx, span{}))
}

// span stands for a span of this package, recorded or not, in the text of a context.
type span struct{ trace.Span }
