package eventspan_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/internal/adapter/spankey"
)

var propagated, recorded = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}),
	trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})

// span propagates other ids than it was recorded with.
type span struct{ noop.Span }

func (span) SpanContext() trace.SpanContext                   { return propagated }
func (span) EventSpanContext() trace.SpanContext              { return recorded }
func (span) EventIDs(ctx context.Context) ([16]byte, [8]byte) { return eventspan.IDs(ctx) }

func TestFromContext(t *testing.T) {
	assert.False(t, eventspan.FromContext(t.Context()).IsValid())
	assert.Equal(t, propagated, eventspan.FromContext(trace.ContextWithSpanContext(t.Context(), propagated)))
	inside := trace.ContextWithSpan(t.Context(), span{})
	assert.Equal(t, recorded, eventspan.FromContext(inside))
	assert.Zero(t, testing.AllocsPerRun(100, func() { eventspan.FromContext(inside) }))
}

// wrapper is a span of a program's own around another one.
type wrapper struct{ trace.Span }

func TestFromContextOfWrapped(t *testing.T) {
	inside := context.WithValue(trace.ContextWithSpan(t.Context(), span{}), spankey.Key{}, span{})
	wrapped := trace.ContextWithSpan(inside, wrapper{span{}})
	assert.Equal(t, recorded, eventspan.FromContext(wrapped))
	assert.Zero(t, testing.AllocsPerRun(100, func() { eventspan.FromContext(wrapped) }))
	other := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{3}})
	assert.Equal(t, other, eventspan.FromContext(trace.ContextWithSpanContext(inside, other)))
	assert.False(t, eventspan.FromContext(trace.ContextWithSpan(inside, nil)).IsValid())
}

// root propagates no ids, since its caller has none.
type root struct{ span }

func (root) SpanContext() trace.SpanContext { return trace.SpanContext{} }

func TestFromContextOfIDsAlone(t *testing.T) {
	inside := context.WithValue(trace.ContextWithSpan(t.Context(), span{}), spankey.Key{}, span{})
	assert.Equal(t, recorded, eventspan.FromContext(trace.ContextWithSpanContext(inside, propagated)), "the ids that the span propagates")

	inside = context.WithValue(trace.ContextWithSpan(t.Context(), root{}), spankey.Key{}, root{})
	assert.Equal(t, recorded, eventspan.FromContext(trace.ContextWithSpan(inside, wrapper{root{}})))
	assert.False(t, eventspan.FromContext(trace.ContextWithSpanContext(inside, trace.SpanContext{})).IsValid(), "out of all spans")
}
