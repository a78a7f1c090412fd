package ueventstrace_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// spanAttributes are those of the spans that benchmarks make, as an option made once.
var spanAttributes = trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 200))

// BenchmarkDisabled is a span while no tool is attached.
func BenchmarkDisabled(b *testing.B) {
	tracer := newOwn(b).Tracer("x")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, s := tracer.Start(ctx, "s", spanAttributes)
		s.End()
	}
}
