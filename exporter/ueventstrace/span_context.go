package ueventstrace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// startedSpan is a span and the context that has it, in one object: [trace.ContextWithSpan] would allocate another one.
type startedSpan struct {
	context.Context // the caller's
	span            recordingSpan
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

// Value returns the span for the key of package trace, and the caller's values for all others.
func (s *startedSpan) Value(key any) any {
	if key == spanKey {
		return &s.span
	}
	return s.Context.Value(key)
}

// newSpan returns a span, and room for so many attributes, of which a few are in the same object.
func newSpan(attributes int) (*startedSpan, []attribute.KeyValue) {
	switch attributes {
	case 0:
		return &startedSpan{}, nil
	case 1, 2:
		s := &struct {
			startedSpan
			room [2]attribute.KeyValue
		}{}
		return &s.startedSpan, s.room[:]
	case 3, 4:
		s := &struct {
			startedSpan
			room [4]attribute.KeyValue
		}{}
		return &s.startedSpan, s.room[:]
	default:
		return &startedSpan{}, make([]attribute.KeyValue, attributes)
	}
}
