package ueventstrace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
)

// TestIdentityIsValid: as in package trace, both ids have to be set.
func TestIdentityIsValid(t *testing.T) {
	for _, c := range []trace.SpanContextConfig{{}, {TraceID: trace.TraceID{1}}, {SpanID: trace.SpanID{1}}, {TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}} {
		want := trace.NewSpanContext(c)
		got := identityOf(want)
		assert.Equal(t, want.IsValid(), got.IsValid())
	}
}
