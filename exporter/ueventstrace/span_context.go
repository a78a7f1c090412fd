package ueventstrace

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/internal/eventspan"
)

// spanContext is the context of a span. The span does not refer to it: a span that a program keeps does not keep the
// values of its context.
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

// Value returns the span for the keys of package trace and [eventspan], and the caller's values for all others.
func (c *spanContext) Value(key any) any {
	if key == spanKey || key == any(eventspan.Key{}) {
		return c.span
	}
	return c.Context.Value(key)
}

// String returns what other contexts with a span return. Package fmt would print the span, which changes.
func (c *spanContext) String() string { return fmt.Sprint(trace.ContextWithSpan(c.Context, c.span)) }

// newSpan returns a span, and room for so many attributes, of which a few are in the same object.
func newSpan(attributes int) (*recordingSpan, []attribute.KeyValue) {
	switch attributes {
	case 0:
		return &recordingSpan{}, nil
	case 1, 2:
		s := &struct {
			recordingSpan
			room [2]attribute.KeyValue
		}{}
		return &s.recordingSpan, s.room[:]
	case 3, 4:
		s := &struct {
			recordingSpan
			room [4]attribute.KeyValue
		}{}
		return &s.recordingSpan, s.room[:]
	default:
		return &recordingSpan{}, make([]attribute.KeyValue, attributes)
	}
}
