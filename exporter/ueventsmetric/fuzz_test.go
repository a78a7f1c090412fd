package ueventsmetric_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
)

// FuzzExport: whatever names, attributes and numbers are, an event keeps the limit, its texts are
// safe to print, its attributes are JSON, and only what is cut is marked.
func FuzzExport(f *testing.F) {
	f.Add("requests", "route", "/users", 0.25, int64(7), uint64(3), 10, 4064)
	f.Add("\x1b[2J", "\xff", "\u202e\n", -1e300, int64(-1), uint64(1)<<63, 500, 216)
	f.Fuzz(func(t *testing.T, name, key, value string, x float64, n int64, c uint64, buckets, limit int) {
		limit = 216 + int(uint(limit)%4000)
		buckets = int(uint(buckets) % 600)
		r := newRig(t, ueventsmetric.WithMaxPayload(limit))
		tr := r.attach(t)
		counts := slices.Repeat([]uint64{c}, buckets)
		set := attribute.NewSet(attribute.String(key, value), attribute.Float64("x", x), attribute.StringSlice("list", []string{value, name}))
		bucket := metricdata.ExponentialBucket{Offset: int32(n), Counts: counts}
		rm := data(metricdata.ExponentialHistogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
			Attributes: set, Sum: x, Min: metricdata.NewExtrema(x), Count: c, PositiveBucket: bucket, NegativeBucket: bucket,
			Exemplars: []metricdata.Exemplar[float64]{{Value: x, FilteredAttributes: set.ToSlice()}},
		}}})
		sm := &rm.ScopeMetrics[0]
		sm.Scope.Name, sm.Scope.Version, sm.Metrics[0].Name, sm.Metrics[0].Unit = value, key, name, key
		sm.Metrics = append(sm.Metrics, metricdata.Metrics{Name: name, Data: metricdata.Histogram[int64]{DataPoints: []metricdata.HistogramDataPoint[int64]{{
			Attributes: set, Sum: n, Bounds: slices.Repeat([]float64{x}, buckets), BucketCounts: counts,
		}}}})
		require.NoError(t, r.Export(t.Context(), rm))
		for _, rec := range tr.Records() {
			require.LessOrEqual(t, len(rec.Payload), limit)
		}
		require.NoError(t, r.Export(t.Context(), rm))
		list := decode(t, tr)
		require.Len(t, list, 3)
		for _, m := range list {
			object(t, m["attributes"])
			if m["truncated"] == "0" && m[""] == "app_metric_exp_histogram" {
				require.Equal(t, bucketText(bucket), m["positive"])
				require.Equal(t, bucketText(bucket), m["negative"])
			}
		}
	})
}
