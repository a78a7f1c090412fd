package ueventstrace_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// spanAttributes are those of the spans that benchmarks make, as an option made once.
var spanAttributes = trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 200))

// BenchmarkGate is a span while no tool is attached.
func BenchmarkGate(b *testing.B) {
	rig := newRig(b)
	tracer := ueventstrace.NewTracerProvider(rig.provider, rig.Processor).Tracer("x")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, s := tracer.Start(ctx, "s", spanAttributes)
		s.End()
	}
}
