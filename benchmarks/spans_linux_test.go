package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// attributes are those of spans, as many as a benchmark asks for.
var attributes = []attribute.KeyValue{
	attribute.String("http.request.method", method), attribute.Int("http.response.status_code", status),
	attribute.String("http.route", route), attribute.Bool("cached", cached), attribute.Float64("load", 0.25),
	attribute.String("server.address", "shop"), attribute.Int("server.port", 443), attribute.String("url.scheme", "https"),
	attribute.Int("attempt", 1), attribute.String("client", "192.0.2.7"),
}

// spanCall starts and ends a span.
func spanCall(b *testing.B, p trace.TracerProvider, n int) func() {
	tracer, ctx, option := p.Tracer("benchmarks"), b.Context(), trace.WithAttributes(attributes[:n]...)
	return func() {
		_, s := tracer.Start(ctx, message, option)
		s.End()
	}
}

// BenchmarkSpanOff is a span that nobody wants.
func BenchmarkSpanOff(b *testing.B) {
	kerneltest.Require(b)
	p, err := ueventstrace.New(uniqueName())
	require.NoError(b, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithSampler(ueventstrace.NewSampler(nil, p)))
	defer func() { require.NoError(b, provider.Shutdown(b.Context())) }()
	run(b, "noop", spanCall(b, noop.NewTracerProvider(), 2))
	run(b, "never-sample", spanCall(b, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), 2))
	run(b, "ours-sampler", spanCall(b, provider, 2))
	run(b, "ours-gated", spanCall(b, ueventstrace.NewTracerProvider(provider, p), 2))
}

// BenchmarkSpanOn is a span that is written: to the null device, or to ftrace.
func BenchmarkSpanOn(b *testing.B) {
	fs := kerneltest.Require(b)
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(devNull(b)))
	require.NoError(b, err)
	name := uniqueName()
	p, err := ueventstrace.New(name)
	require.NoError(b, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	defer func() { require.NoError(b, provider.Shutdown(b.Context())) }()
	run(b, "no-processor", spanCall(b, sdktrace.NewTracerProvider(), 2))
	run(b, "stdouttrace-sync", spanCall(b, sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)), 2))
	i := kerneltest.NewInstance(b, fs, 64)
	i.Attach(name + "_span")
	run(b, "ours", spanCall(b, ueventstrace.NewTracerProvider(provider, p), 2))
	run(b, "ours-ten-attributes", spanCall(b, ueventstrace.NewTracerProvider(provider, p), 10))
	i.Detach()
}
