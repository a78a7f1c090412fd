package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents"
)

// telemetry is a program with OpenTelemetry: all its signals are events.
type telemetry struct {
	tracer   trace.Tracer
	logger   log.Logger
	requests metric.Int64Counter
	load     metric.Float64Gauge
	latency  metric.Float64Histogram
}

// otelProgram, given a name and the arguments of signaled, serves two requests: each has two spans, an event in either,
// a link, and two log records. Then it writes its metrics: three points. It exits when the file of the last argument
// exists.
func otelProgram(args []string) (err error) {
	ctx := context.Background()
	p, err := uevents.Open(nil)
	must(err)
	defer func() { err = errors.Join(err, p.Close()) }()
	name, res := args[0], resource.NewSchemaless(attribute.String("service.name", "shop"))
	spans, spanErr := ueventstrace.NewTracerProvider(name, ueventstrace.WithProvider(p), ueventstrace.WithResource(res))
	logs, logErr := ueventslog.NewLoggerProvider(name, ueventslog.WithProvider(p), ueventslog.WithResource(res))
	exporter, pointErr := ueventsmetric.NewExporter(name, ueventsmetric.WithProvider(p))
	must(errors.Join(spanErr, logErr, pointErr))
	points := sdkmetric.NewMeterProvider(sdkmetric.WithResource(res), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(time.Hour))))
	t := telemetry{tracer: spans.Tracer("shop/http"), logger: logs.Logger("shop/http")}
	meter := points.Meter("shop/http")
	var errs [3]error
	t.requests, errs[0] = meter.Int64Counter("http.requests", metric.WithUnit("{request}"))
	t.load, errs[1] = meter.Float64Gauge("load")
	t.latency, errs[2] = meter.Float64Histogram("http.latency", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(0.1, 1))
	must(errors.Join(errs[:]...))
	must(signaled(args[1], args[2]))
	for _, user := range []string{"41", "\x1b[31m\n42"} {
		t.serveRequest(ctx, user)
	}
	must(points.ForceFlush(ctx))
	must(exists(args[3])) // meanwhile its stacks can be read
	return errors.Join(points.Shutdown(ctx), logs.Shutdown(ctx), spans.Shutdown(ctx))
}

//go:noinline
func (t *telemetry) serveRequest(ctx context.Context, user string) {
	cause := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 2}, Remote: true})
	ctx, span := t.tracer.Start(ctx, "GET /users/{id}", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("user", user)), trace.WithLinks(trace.Link{SpanContext: cause}))
	defer span.End()
	span.AddEvent("cache miss", trace.WithAttributes(attribute.Int("shard", 3)))
	t.queryDatabase(ctx)
	var r log.Record
	r.SetSeverity(log.SeverityInfo)
	r.SetBody(attribute.StringValue("served user " + user))
	r.AddAttributes(attribute.Int("status", 500))
	t.logger.Emit(ctx, r)
	t.requests.Add(ctx, 1, metric.WithAttributes(attribute.String("route", "/users/{id}")))
	t.load.Record(ctx, 0.75)
	t.latency.Record(ctx, 0.25)
}

//go:noinline
func (t *telemetry) queryDatabase(ctx context.Context) {
	ctx, span := t.tracer.Start(ctx, "SELECT", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	err := errors.New("time out")
	span.RecordError(err)
	span.SetStatus(codes.Error, "database is down")
	var r log.Record
	r.SetSeverity(log.SeverityError)
	r.SetBody(attribute.StringValue("query failed"))
	r.SetErr(err)
	t.logger.Emit(ctx, r)
}

// hangProgram, given a name and a file to create when it is ready, serves one request that never ends: its handler retries a query,
// with an event of the request's span for each attempt. After each one it prints its number. It ends when it is killed.
func hangProgram(args []string) error {
	spans, err := ueventstrace.NewTracerProvider(args[0])
	must(err)
	ctx, span := spans.Tracer("shop/http").Start(context.Background(), "GET /users/{id}", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	must(create(args[1]))
	for attempt := 1; ; attempt++ {
		trace.SpanFromContext(ctx).AddEvent("query timed out", trace.WithAttributes(attribute.Int("attempt", attempt)))
		_, err = fmt.Println(attempt)
		must(err)
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the pace of the program
	}
}
