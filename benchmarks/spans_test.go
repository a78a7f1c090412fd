package benchmarks

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanScenarios are what spans carry.
var spanScenarios = []scenario{none, {name: "two", attrs: 2}, {name: "ten", attrs: 10}}

// spanCall starts and ends a span. Its attributes are made for it, as those of a server's
// spans are.
func spanCall(p trace.TracerProvider, s scenario) func() {
	tracer, ctx := p.Tracer("benchmarks"), context.Background()
	switch s.attrs {
	case 0:
		return func() {
			_, span := tracer.Start(ctx, message)
			span.End()
		}
	case 2:
		return func() {
			_, span := tracer.Start(ctx, message, trace.WithAttributes(
				attribute.String("http.request.method", method), attribute.Int("http.response.status_code", status)))
			span.End()
		}
	}
	return func() {
		_, span := tracer.Start(ctx, message, trace.WithAttributes(
			attribute.String("http.request.method", method), attribute.Int("http.response.status_code", status),
			attribute.String("http.route", route), attribute.Bool("cached", cached), attribute.Float64("load", load),
			attribute.String("server.address", host), attribute.Int("http.response.body.size", size),
			attribute.Bool("secure", secure), attribute.Int("attempt", attempt), attribute.String("service", service)))
		span.End()
	}
}

// spanParts are what a span has to contain.
func spanParts(s scenario) []string {
	parts := []string{message}
	if s.attrs >= 2 {
		parts = append(parts, "http.request.method", method, "http.response.status_code", "200")
	}
	if s.attrs == 10 {
		parts = append(parts, "http.route", route, "cached", "load", "0.25", "server.address", host, "http.response.body.size", "5120",
			"secure", "attempt", "service", service)
	}
	return parts
}

// batched is a provider with what its documentation recommends in front of an exporter.
func batched(tb testing.TB, e sdktrace.SpanExporter, s scenario) call {
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	tb.Cleanup(func() { require.NoError(tb, p.Shutdown(context.Background())) })
	return call{log: spanCall(p, s), flush: func() { require.NoError(tb, p.ForceFlush(tb.Context())) }}
}

func openStdouttrace(tb testing.TB, w io.Writer, s scenario) call {
	e, err := stdouttrace.New(stdouttrace.WithWriter(w))
	require.NoError(tb, err)
	return batched(tb, e, s)
}

func openOTLPTrace(tb testing.TB, to *sink, s scenario) call {
	e, err := otlptracehttp.New(tb.Context(), otlptracehttp.WithEndpointURL(to.URL+"/v1/traces"))
	require.NoError(tb, err)
	return batched(tb, e, s)
}

// discard is an exporter that does nothing: what is left is the SDK's.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

// TestSpans: a span arrives whole.
func TestSpans(t *testing.T) {
	for _, s := range spanScenarios {
		var out strings.Builder
		c := openStdouttrace(t, &out, s)
		c.log()
		c.flush()
		for _, part := range spanParts(s) {
			assert.Contains(t, out.String(), part)
		}

		to := newSink(t, true)
		c = openOTLPTrace(t, to, s)
		for range 3 {
			c.log()
		}
		c.flush()
		require.Len(t, to.bodies, 1)
		var request collector.ExportTraceServiceRequest
		require.NoError(t, proto.Unmarshal(to.bodies[0], &request))
		spans := request.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
		require.Len(t, spans, 3)
		for _, part := range spanParts(s) {
			assert.Contains(t, spans[2].String(), part)
		}
	}
}

// BenchmarkSpanOff is a disabled span.
func BenchmarkSpanOff(b *testing.B) {
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	for _, s := range spanScenarios {
		run(b, "noop/"+s.name, call{log: spanCall(noop.NewTracerProvider(), s)})
		run(b, "never-sample/"+s.name, call{log: spanCall(never, s)})
		ownSpansOff(b, s)
	}
}

// BenchmarkSpanOn is an enabled span: written to the null device, a collector on this machine or
// a tracing tool.
func BenchmarkSpanOn(b *testing.B) {
	for _, s := range spanScenarios {
		run(b, "no-processor/"+s.name, call{log: spanCall(sdktrace.NewTracerProvider(), s)})
		run(b, "discard-exporter/"+s.name, call{log: spanCall(sdktrace.NewTracerProvider(sdktrace.WithSyncer(discard{})), s)})
		run(b, "stdouttrace/"+s.name, openStdouttrace(b, devNull(b), s))
		run(b, "otlp/"+s.name, openOTLPTrace(b, newSink(b, false), s))
		ownSpansOn(b, s)
	}
}
