// Package testmetrics generates metric data for the tests of the metric exporters.
package testmetrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/internal/testattrs"
)

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
