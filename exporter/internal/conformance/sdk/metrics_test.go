package sdk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/uevents"
)

// exemplars returns up to two exemplars.
func exemplars[N int64 | float64](in inputs, value func() N) (list []metricdata.Exemplar[N]) {
	for range in.IntN(3) {
		trace, span := in.traceID(), in.spanID()
		list = append(list, metricdata.Exemplar[N]{FilteredAttributes: in.attributes(), Time: in.time(), Value: value(), TraceID: trace[:], SpanID: span[:]})
	}
	return list
}

func points[N int64 | float64](in inputs, value func() N) (list []metricdata.DataPoint[N]) {
	for range 1 + in.IntN(3) {
		list = append(list, metricdata.DataPoint[N]{
			Attributes: attribute.NewSet(in.attributes()...), StartTime: in.time(), Time: in.time(), Value: value(), Exemplars: exemplars(in, value),
		})
	}
	return list
}

func (in inputs) temporality() metricdata.Temporality {
	return []metricdata.Temporality{metricdata.DeltaTemporality, metricdata.CumulativeTemporality}[in.IntN(2)]
}

func (in inputs) buckets() metricdata.ExponentialBucket {
	if in.IntN(3) == 0 {
		return metricdata.ExponentialBucket{}
	}
	return metricdata.ExponentialBucket{Offset: int32(in.IntN(20) - 10), Counts: []uint64{uint64(in.IntN(9)), 0, in.Uint64()}}
}

// aggregation returns a random aggregation with data points.
func (in inputs) aggregation() metricdata.Aggregation {
	set := attribute.NewSet(in.attributes()...)
	switch in.IntN(7) {
	case 0:
		return metricdata.Gauge[int64]{DataPoints: points(in, in.int)}
	case 1:
		return metricdata.Gauge[float64]{DataPoints: points(in, in.float)}
	case 2:
		return metricdata.Sum[int64]{DataPoints: points(in, in.int), Temporality: in.temporality(), IsMonotonic: in.IntN(2) == 0}
	case 3:
		return metricdata.Sum[float64]{DataPoints: points(in, in.float), Temporality: in.temporality(), IsMonotonic: in.IntN(2) == 0}
	case 4:
		p := metricdata.HistogramDataPoint[float64]{
			Attributes: set, StartTime: in.time(), Time: in.time(), Count: in.Uint64(), Sum: in.float(), Bounds: []float64{-1, 0.5, 1e9}, BucketCounts: []uint64{0, 3, in.Uint64(), 1},
			Exemplars: exemplars(in, in.float),
		}
		if in.IntN(2) == 0 {
			p.Min, p.Max = metricdata.NewExtrema(in.float()), metricdata.NewExtrema(in.float())
		}
		return metricdata.Histogram[float64]{Temporality: in.temporality(), DataPoints: []metricdata.HistogramDataPoint[float64]{p}}
	case 5:
		return metricdata.ExponentialHistogram[float64]{Temporality: in.temporality(), DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
			Attributes: set, StartTime: in.time(), Time: in.time(), Count: in.Uint64(), Sum: in.float(), Scale: int32(in.IntN(30) - 10), ZeroCount: uint64(in.IntN(3)),
			ZeroThreshold: []float64{0, 0.25}[in.IntN(2)], PositiveBucket: in.buckets(), NegativeBucket: in.buckets(), Exemplars: exemplars(in, in.float),
		}}}
	default:
		return metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
			Attributes: set, StartTime: in.time(), Time: in.time(), Count: in.Uint64(), Sum: in.float(),
			QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: in.float()}, {Quantile: 0.999, Value: in.float()}},
		}}}
	}
}

func metricItems(t *testing.T, texts [][]byte) []item {
	t.Helper()
	return items(t, texts, "resourceMetrics", "scopeMetrics", "metrics")
}

// TestMetrics: data points are those that the SDK sends.
func TestMetrics(t *testing.T) {
	ctx := context.Background()
	for seed := range seeds() {
		in := newInputs(seed)
		data := &metricdata.ResourceMetrics{Resource: sdkresource.NewSchemaless(attribute.String("service.name", "shop")), ScopeMetrics: []metricdata.ScopeMetrics{{
			Scope: instrumentation.Scope{Name: in.one("my/package", ""), Version: in.one("", "1.2"), SchemaURL: in.one("", "https://example/1"), Attributes: attribute.NewSet(attribute.Bool("s", true))},
			Metrics: []metricdata.Metrics{
				{Name: "first", Description: "Some.", Unit: in.one("", "s", "{request}"), Data: in.aggregation()},
				{Name: "second", Data: in.aggregation()},
			},
		}}}
		var sent capture
		x, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithHTTPClient(sent.client()))
		require.NoError(t, err)
		require.NoError(t, x.Export(ctx, data))
		require.NoError(t, x.Shutdown(ctx))
		c := converted(t, func(t testing.TB, p *uevents.Provider) func() {
			x, err := ueventsmetric.NewExporter("myapp", ueventsmetric.WithProvider(p), ueventsmetric.WithMaxPayload(32<<10))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, x.Shutdown(ctx)) })
			return func() { require.NoError(t, x.Export(ctx, data)) }
		})
		want := metricItems(t, requests(t, &sent, (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics, (&pmetric.JSONMarshaler{}).MarshalMetrics))
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(c.TakeMetrics())
		require.NoError(t, err)
		for _, i := range want {
			asTyped(map[string]any(i))
			asDouble(map[string]any(i))
		}
		compare(t, want, metricItems(t, [][]byte{text}))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
