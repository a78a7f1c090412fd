package perfetto_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// request is a struct event.
type request struct {
	Route  string `uevent:"route"`
	Status uint16 `uevent:"status"`
}

// typedEvents are the events that a program writes one record or more of, with a text that each
// must have: the fields are what the adapters' documentation says.
var typedEvents = map[string]struct{ field, text string }{
	"perfslog_info":                   {"message", "served by slog"},
	"perfslog_declared":               {"route", "/declared"},
	"perflog_log_warn":                {"body", "disk almost full"},
	"perflog_log_declared":            {"route", "/declared"},
	"perfspan_span_start":             {"name", "GET /outer"},
	"perfspan_span":                   {"name", "GET /outer"},
	"perfspan_span_event":             {"name", "cache miss"},
	"perfspan_span_link":              {"linked_span_id", "0200000000000000"},
	"perfspan_slice":                  {"slice_name", "GET /outer"},
	"perfmetric_metric_gauge":         {"name", "temperature"},
	"perfmetric_metric_sum":           {"temporality", "delta"},
	"perfmetric_metric_histogram":     {"explicit_bounds", "0.1,1"},
	"perfmetric_metric_exp_histogram": {"name", "size"},
	"perfmetric_metric_exemplar":      {"name", "requests"},
	"perfstruct":                      {"route", "/users/{id}"},
}

// adapters are one of each. The function returned writes a record of each of typedEvents.
func adapters(t *testing.T) (emit func()) {
	t.Helper()
	ctx := context.Background()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}

	handler, err := sloghandler.New("perfslog", &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("declared", nil)}})
	must(err)
	t.Cleanup(func() { must(handler.Close()) })

	logs, err := ueventslog.NewProcessor("perflog", ueventslog.WithDeclarations(ueventslog.Declare[struct {
		Route string `uevent:"route"`
	}]("declared", nil)))
	must(err)
	logProvider := sdklog.NewLoggerProvider(sdklog.WithProcessor(logs), sdklog.WithResource(res))
	t.Cleanup(func() { must(logProvider.Shutdown(ctx)) })

	spans, err := ueventstrace.NewProcessor("perfspan", ueventstrace.WithPerfettoSlices())
	must(err)
	traceProvider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithResource(res))
	t.Cleanup(func() { must(traceProvider.Shutdown(ctx)) })

	metrics, err := ueventsmetric.NewExporter("perfmetric")
	must(err)
	meterProvider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)), sdkmetric.WithResource(res),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "size"},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 20, MaxScale: 2}})))
	t.Cleanup(func() { must(meterProvider.Shutdown(ctx)) })

	p, err := uevents.Open(nil)
	must(err)
	t.Cleanup(func() { must(p.Close()) })
	structs, err := structevent.Define[request](p, "perfstruct", nil)
	must(err)

	return func() {
		logger := slog.New(handler)
		logger.Info("served by slog", "status", 200)
		logger.Info("declared", "route", "/declared")

		spanCtx, span := traceProvider.Tracer("my/package").Start(ctx, "GET /outer", trace.WithLinks(trace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}),
		}))
		span.AddEvent("cache miss")

		for _, name := range []string{"", "declared"} {
			var r log.Record
			r.SetSeverity(log.SeverityWarn)
			r.SetEventName(name)
			r.SetBody(attribute.StringValue("disk almost full"))
			r.AddAttributes(attribute.String("route", "/declared"))
			logProvider.Logger("my/package").Emit(spanCtx, r)
		}

		meter := meterProvider.Meter("my/package")
		requests, err := meter.Int64Counter("requests")
		must(err)
		requests.Add(spanCtx, 1)
		temperature, err := meter.Float64Gauge("temperature")
		must(err)
		temperature.Record(ctx, 20.5)
		latency, err := meter.Float64Histogram("latency", metric.WithExplicitBucketBoundaries(0.1, 1))
		must(err)
		latency.Record(ctx, 0.25)
		size, err := meter.Int64Histogram("size")
		must(err)
		size.Record(ctx, 100)
		must(meterProvider.ForceFlush(ctx))

		span.End()
		structs.Emit(&request{Route: "/users/{id}", Status: 200})
	}
}
