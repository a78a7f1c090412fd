package benchmarks

import (
	"context"
	"io"
	"slices"
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
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanScenarios are what spans carry, and one whose caller asks the provider for the tracer of each span, as otel.Tracer
// does it for instrumentation that keeps none.
var spanScenarios = []scenario{none, {name: "two", attrs: 2}, {name: "ten", attrs: 10}, {name: "each", each: true}}

// spanCall starts and ends a span. Its attributes are made for it, as those of a server's
// spans are.
func spanCall(p trace.TracerProvider, s scenario) func() {
	tracer, ctx := p.Tracer("benchmarks"), context.Background()
	switch {
	case s.each:
		return func() {
			_, span := p.Tracer("benchmarks").Start(ctx, message)
			span.End()
		}
	case s.attrs == 0:
		return func() {
			_, span := tracer.Start(ctx, message)
			span.End()
		}
	case s.attrs == 2:
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
	p := sdk(tb, sdktrace.WithBatcher(e))
	return call{log: spanCall(p, s), flush: func() { require.NoError(tb, p.ForceFlush(context.Background())) }}
}

func openStdouttrace(tb testing.TB, w io.Writer, s scenario) call {
	e, err := stdouttrace.New(stdouttrace.WithWriter(w))
	require.NoError(tb, err)
	return batched(tb, e, s)
}

func openOTLPTrace(tb testing.TB, url string, s scenario) call {
	e, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(url+"/v1/traces"))
	require.NoError(tb, err)
	return batched(tb, e, s)
}

// nothing is a processor that does nothing: what is left is the SDK's.
type nothing struct{}

func (nothing) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (nothing) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (nothing) Shutdown(context.Context) error                  { return nil }
func (nothing) ForceFlush(context.Context) error                { return nil }

// spanContender is a way to make spans.
type spanContender struct {
	name string
	// off is the disabled span: no tracing tool is attached, or nothing is there to record it. nil if it is that of another contender.
	off func(tb testing.TB, s scenario) call
	// on is the enabled span: recorded, and written to the null device, to a collector on this machine or to a tracing
	// tool. nil if there is nothing to record it, or this machine cannot do that.
	on func(tb testing.TB, s scenario) call
}

// spansOf makes a contender's spans with a provider, for scenarios.
func spansOf(open func(tb testing.TB) trace.TracerProvider) func(testing.TB, scenario) call {
	return func(tb testing.TB, s scenario) call { return call{log: spanCall(open(tb), s)} }
}

// sdk returns OpenTelemetry's provider.
func sdk(tb testing.TB, options ...sdktrace.TracerProviderOption) *sdktrace.TracerProvider {
	p := sdktrace.NewTracerProvider(options...)
	tb.Cleanup(func() { require.NoError(tb, p.Shutdown(context.Background())) })
	return p
}

var spanContenders = []spanContender{
	{name: "noop", off: spansOf(func(testing.TB) trace.TracerProvider { return noop.NewTracerProvider() })},
	{name: "never-sample", off: spansOf(func(tb testing.TB) trace.TracerProvider {
		return sdk(tb, sdktrace.WithSampler(sdktrace.NeverSample()))
	})},
	{name: "no-processor", on: spansOf(func(tb testing.TB) trace.TracerProvider { return sdk(tb) })},
	{name: "noop-processor", on: spansOf(func(tb testing.TB) trace.TracerProvider {
		return sdk(tb, sdktrace.WithSpanProcessor(nothing{}))
	})},
	{name: "stdouttrace", on: func(tb testing.TB, s scenario) call { return openStdouttrace(tb, devNull(tb), s) }},
	{name: "otlp", on: func(tb testing.TB, s scenario) call { return openOTLPTrace(tb, startCollector(tb).url, s) }},
	{name: "otlp-collector", on: func(tb testing.TB, s scenario) call {
		collector := startCollector(tb)
		c := openOTLPTrace(tb, collector.url, s)
		c.collector = collector
		return c
	}},
}

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

		to := newSink(t)
		c = openOTLPTrace(t, to.URL, s)
		for range 3 {
			c.log()
		}
		c.flush()
		require.Len(t, to.bodies, 1)
		var request traces.ExportTraceServiceRequest
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
	for _, c := range slices.Concat(spanContenders, ownSpanContenders()) {
		for _, s := range spanScenarios {
			if c.off != nil {
				run(b, c.name+"/"+s.name, c.off(b, s))
			}
		}
	}
}

// BenchmarkSpanOn is an enabled span. What it costs to ask for the tracer is known from BenchmarkSpanOff.
func BenchmarkSpanOn(b *testing.B) {
	for _, c := range slices.Concat(spanContenders, ownSpanContenders()) {
		for _, s := range spanScenarios[:3] {
			if c.on != nil {
				run(b, c.name+"/"+s.name, c.on(b, s))
			}
		}
	}
}
