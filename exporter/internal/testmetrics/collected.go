package testmetrics

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// Collected returns metrics that the SDK collected from all kinds of instruments and aggregations, with exemplars.
func Collected(ctx context.Context) (*metricdata.ResourceMetrics, error) {
	filtered := sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter("route", "status")}
	exponential := filtered
	exponential.Aggregation = sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 20, MaxScale: 20}
	reader := sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))), sdkmetric.WithView(
		sdkmetric.NewView(sdkmetric.Instrument{Name: "exp*"}, exponential), sdkmetric.NewView(sdkmetric.Instrument{Name: "plain*"}, filtered)))
	m := provider.Meter("my/package", metric.WithInstrumentationVersion("v1"), metric.WithSchemaURL("https://example.com/1"), metric.WithInstrumentationAttributes(attribute.Int("n", 1)))
	ints := []metric.Int64Histogram{must(m.Int64Histogram("plain.int.histogram", metric.WithUnit("By"))), must(m.Int64Histogram("exp.int.histogram"))}
	floats := []metric.Float64Histogram{must(m.Float64Histogram("plain.float.histogram")), must(m.Float64Histogram("exp.float.histogram", metric.WithUnit("s")))}
	counter := must(m.Int64Counter("plain.counter", metric.WithDescription("described")))
	upDown := must(m.Float64UpDownCounter("plain.up_down"))
	gauge := must(m.Float64Gauge("plain.gauge"))
	observe := func(v int64) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(v, metric.WithAttributes(attribute.String("route", "/observed")))
			return nil
		}
	}
	must(m.Int64ObservableGauge("observable.gauge", metric.WithInt64Callback(observe(-1))))
	must(m.Int64ObservableCounter("observable.counter", metric.WithInt64Callback(observe(5))))
	must(m.Int64ObservableUpDownCounter("observable.up_down", metric.WithInt64Callback(observe(7))))
	spanContext := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3, 4}, TraceFlags: trace.FlagsSampled})
	for i := range 5 {
		ctx := ctx
		if i%2 == 0 {
			ctx = trace.ContextWithSpanContext(ctx, spanContext)
		}
		at := metric.WithAttributes(attribute.String("route", "/users"), attribute.Int("status", 200+i%2), attribute.String("user", "alice"))
		for j := range 2 {
			ints[j].Record(ctx, int64(i-1)*1000, at)
			floats[j].Record(ctx, float64(i-2)*0.75, at)
		}
		counter.Add(ctx, int64(i), at)
		upDown.Add(ctx, -0.25, at)
		gauge.Record(ctx, 36.6, at)
	}
	rm := new(metricdata.ResourceMetrics)
	return rm, reader.Collect(ctx, rm)
}

// must returns an instrument. The names above are valid.
func must[I any](instrument I, err error) I {
	if err != nil {
		panic(err)
	}
	return instrument
}
