// Package testmetrics generates metric data for the tests of the metric exporters.
package testmetrics

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/testattrs"
)

// Observe collects the metrics that exporters publish about themselves, until stop is called. read returns the values of a metric by
// "otel.component.name error.type".
func Observe() (read func(name string) map[string]int64, stop func()) {
	reader := sdkmetric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	read = func(name string) map[string]int64 {
		var rm metricdata.ResourceMetrics
		if err := reader.Collect(context.Background(), &rm); err != nil {
			panic(err)
		}
		values := map[string]int64{}
		for _, scope := range rm.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name != name || scope.Scope.Name != "github.com/userevents/userevents-go/exporter" {
					continue
				}
				for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
					component, _ := p.Attributes.Value("otel.component.name")
					problem, _ := p.Attributes.Value("error.type")
					values[strings.TrimSpace(component.AsString()+" "+problem.AsString())] += p.Value
				}
			}
		}
		return values
	}
	return read, func() { otel.SetMeterProvider(old) }
}

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

// Series returns n points each of a counter and of a histogram with the SDK's default buckets, with two attributes, for
// benchmarks.
func Series(n int) map[string]*metricdata.ResourceMetrics {
	start := time.Date(2026, 11, 21, 10, 20, 30, 123456789, time.UTC)
	end := start.Add(time.Minute)
	attrs := attribute.NewSet(attribute.String("route", "/users"), attribute.Int("status", 200))
	bounds := []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}
	s := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	h := metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality}
	for i := range n {
		s.DataPoints = append(s.DataPoints, metricdata.DataPoint[int64]{Attributes: attrs, StartTime: start, Time: end, Value: int64(i)})
		h.DataPoints = append(h.DataPoints, metricdata.HistogramDataPoint[float64]{
			Attributes: attrs, StartTime: start, Time: end, Count: 100, Sum: 1234.5, Min: metricdata.NewExtrema(0.125), Max: metricdata.NewExtrema(987.5),
			Bounds: bounds, BucketCounts: []uint64{0, 10, 20, 30, 10, 10, 5, 5, 5, 3, 1, 1, 0, 0, 0, 0},
		})
	}
	all := make(map[string]*metricdata.ResourceMetrics)
	for kind, a := range map[string]metricdata.Aggregation{"sum": s, "histogram": h} {
		rm := &metricdata.ResourceMetrics{
			Resource:     resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("host.name", "node1")),
			ScopeMetrics: make([]metricdata.ScopeMetrics, 1),
		}
		rm.ScopeMetrics[0].Scope.Name = "my/package"
		rm.ScopeMetrics[0].Metrics = []metricdata.Metrics{{Name: "http.server.requests", Description: "Requests of clients.", Unit: "{request}", Data: a}}
		all[kind] = rm
	}
	return all
}

// Kinds is the number of aggregation kinds: each of integers and of floating-point numbers, except for summaries.
const Kinds = 9

// Random returns metrics of all kinds, with data that the SDK never produces but another producer may. Names of metrics
// are unique in a scope, texts are UTF-8, ids have their full length or are empty, and a point takes less than 2,000
// bytes in any encoding.
func Random(r *rand.Rand) *metricdata.ResourceMetrics {
	rm := &metricdata.ResourceMetrics{}
	if r.IntN(5) > 0 {
		rm.Resource = resource.NewWithAttributes(pick(r, "", "https://example.com/1.0"), append(keyValues(r, 3), attribute.String("service.name", word(r)))...)
	}
	for i := range r.IntN(4) {
		sm := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: fmt.Sprint(word(r), i), Version: word(r), SchemaURL: word(r), Attributes: set(r, 2)}}
		for j := range r.IntN(5) {
			m := metricdata.Metrics{Name: fmt.Sprint(word(r), j), Description: word(r), Unit: word(r), Data: Aggregation(r, r.IntN(Kinds))}
			if j == 0 {
				m.Name = ""
			}
			sm.Metrics = append(sm.Metrics, m)
		}
		rm.ScopeMetrics = append(rm.ScopeMetrics, sm)
	}
	return rm
}

// Aggregation returns points of a kind.
func Aggregation(r *rand.Rand, kind int) metricdata.Aggregation {
	t := pick(r, metricdata.DeltaTemporality, metricdata.CumulativeTemporality)
	switch kind {
	case 0:
		return metricdata.Gauge[int64]{DataPoints: list(r, 5, number[int64])}
	case 1:
		return metricdata.Gauge[float64]{DataPoints: list(r, 5, number[float64])}
	case 2:
		return metricdata.Sum[int64]{DataPoints: list(r, 5, number[int64]), Temporality: t, IsMonotonic: r.IntN(2) == 0}
	case 3:
		return metricdata.Sum[float64]{DataPoints: list(r, 5, number[float64]), Temporality: t, IsMonotonic: r.IntN(2) == 0}
	case 4:
		return metricdata.Histogram[int64]{DataPoints: list(r, 5, histogram[int64]), Temporality: t}
	case 5:
		return metricdata.Histogram[float64]{DataPoints: list(r, 5, histogram[float64]), Temporality: t}
	case 6:
		return metricdata.ExponentialHistogram[int64]{DataPoints: list(r, 5, expHistogram[int64]), Temporality: t}
	case 7:
		return metricdata.ExponentialHistogram[float64]{DataPoints: list(r, 5, expHistogram[float64]), Temporality: t}
	default:
		return metricdata.Summary{DataPoints: list(r, 5, summary)}
	}
}

func number[N int64 | float64](r *rand.Rand) metricdata.DataPoint[N] {
	return metricdata.DataPoint[N]{Attributes: set(r, 4), StartTime: moment(r), Time: moment(r), Value: value[N](r), Exemplars: list(r, 3, exemplar[N])}
}

func histogram[N int64 | float64](r *rand.Rand) metricdata.HistogramDataPoint[N] {
	return metricdata.HistogramDataPoint[N]{
		Attributes: set(r, 4), StartTime: moment(r), Time: moment(r), Count: count(r), Sum: value[N](r), Min: extremum[N](r), Max: extremum[N](r),
		Bounds: list(r, 20, value[float64]), BucketCounts: list(r, 20, count), Exemplars: list(r, 3, exemplar[N]),
	}
}

func expHistogram[N int64 | float64](r *rand.Rand) metricdata.ExponentialHistogramDataPoint[N] {
	return metricdata.ExponentialHistogramDataPoint[N]{
		Attributes: set(r, 4), StartTime: moment(r), Time: moment(r), Count: count(r), Sum: value[N](r), Min: extremum[N](r), Max: extremum[N](r),
		Scale: int32(r.IntN(31) - 10), ZeroCount: count(r), ZeroThreshold: math.Abs(value[float64](r)), Exemplars: list(r, 3, exemplar[N]),
		PositiveBucket: metricdata.ExponentialBucket{Offset: int32(r.Uint32()) >> r.IntN(32), Counts: list(r, 20, count)},
		NegativeBucket: metricdata.ExponentialBucket{Offset: int32(r.Uint32()) >> r.IntN(32), Counts: list(r, 20, count)},
	}
}

func summary(r *rand.Rand) metricdata.SummaryDataPoint {
	return metricdata.SummaryDataPoint{
		Attributes: set(r, 4), StartTime: moment(r), Time: moment(r), Count: count(r), Sum: value[float64](r),
		QuantileValues: list(r, 8, func(r *rand.Rand) metricdata.QuantileValue {
			return metricdata.QuantileValue{Quantile: value[float64](r), Value: value[float64](r)}
		}),
	}
}

func exemplar[N int64 | float64](r *rand.Rand) metricdata.Exemplar[N] {
	e := metricdata.Exemplar[N]{FilteredAttributes: keyValues(r, 2), Time: moment(r), Value: value[N](r)}
	if r.IntN(3) > 0 {
		e.TraceID, e.SpanID = make([]byte, 16), make([]byte, 8)
		for i := range 8 {
			e.TraceID[i], e.SpanID[i] = byte(r.Uint32()), byte(r.Uint32())
		}
	}
	return e
}

// list returns fewer than n elements; an empty list is nil or empty.
func list[T any](r *rand.Rand, n int, one func(*rand.Rand) T) (l []T) {
	if r.IntN(8) == 0 {
		return []T{}
	}
	for range r.IntN(n) {
		l = append(l, one(r))
	}
	return l
}

func extremum[N int64 | float64](r *rand.Rand) (e metricdata.Extrema[N]) {
	if r.IntN(3) > 0 {
		e = metricdata.NewExtrema(value[N](r))
	}
	return e
}

func count(r *rand.Rand) uint64 { return r.Uint64() >> r.IntN(65) }

func value[N int64 | float64](r *rand.Rand) (n N) {
	switch p := any(&n).(type) {
	case *int64:
		*p = pick(r, 0, 1, -1, math.MinInt64, math.MaxInt64, int64(r.Uint64())>>r.IntN(64))
	case *float64:
		*p = pick(r, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, r.NormFloat64(), r.NormFloat64()*1e9)
	}
	return n
}

// moment returns a time within 64 bits of nanoseconds, or the zero time.
func moment(r *rand.Rand) time.Time {
	return pick(r, time.Time{}, time.Unix(0, 0), time.Unix(-1, 5), time.Unix(r.Int64N(9e9), r.Int64N(1e9)).In(time.FixedZone("", 3600)))
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func word(r *rand.Rand) string {
	return pick(r, "", "s", "http.route", "größe 𝄞", "line\nbreak\x00\"\x1b[2J\"")
}

func set(r *rand.Rand, n int) attribute.Set { return attribute.NewSet(keyValues(r, n)...) }

func keyValues(r *rand.Rand, n int) (kvs []attribute.KeyValue) {
	values := testattrs.Values{
		Rand: r, Most: 3, Text: func() string { return word(r) }, Key: func() attribute.Key { return attribute.Key(fmt.Sprint(word(r), r.IntN(1000))) },
		Int: func() int64 { return value[int64](r) }, Float: func() float64 { return value[float64](r) },
	}
	for i := range r.IntN(n + 1) {
		kvs = append(kvs, attribute.KeyValue{Key: attribute.Key(fmt.Sprint(word(r), i)), Value: values.Value(2)})
	}
	return kvs
}
