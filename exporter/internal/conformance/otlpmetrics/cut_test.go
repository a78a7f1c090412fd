package otlpmetrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/uevents"
)

// TestTooLarge: of a point that no event can hold, what matters least goes first.
func TestTooLarge(t *testing.T) {
	exemplars := []metricdata.Exemplar[int64]{{Value: 1, FilteredAttributes: longAttributes(20)}}
	point := func(set attribute.Set, x []metricdata.Exemplar[int64]) metricdata.Aggregation {
		return metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: 1}, {Attributes: set, Value: 42, Exemplars: x}, {Value: 3}}}
	}
	export := func(a metricdata.Aggregation, description string) ([]*metricspb.Metric, uevents.EventStats) {
		r := newRig(t)
		tr := r.attach(t)
		rm := one(a)
		rm.ScopeMetrics[0].Metrics[0].Description = description
		require.NoError(t, r.Export(t.Context(), rm))
		var metrics []*metricspb.Metric
		for _, req := range requests(t, tr) {
			metrics = append(metrics, req.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()...)
		}
		return metrics, r.stats()
	}
	find := func(metrics []*metricspb.Metric) *metricspb.NumberDataPoint {
		for _, m := range metrics {
			for _, p := range m.GetGauge().GetDataPoints() {
				if p.GetAsInt() == 42 {
					return p
				}
			}
		}
		require.Fail(t, "the point is lost")
		return nil
	}

	t.Run("exemplars", func(t *testing.T) {
		metrics, stats := export(point(attrs, exemplars), "d")
		p := find(metrics)
		assert.Empty(t, p.GetExemplars())
		assert.Len(t, p.GetAttributes(), 2, "attributes are whole, and no mark changes the series")
		assert.Equal(t, "d", metrics[0].GetDescription())
		assert.Equal(t, uint64(3), stats.Written)
		assert.Equal(t, uint64(1), stats.Truncated)
		assert.Zero(t, stats.Refused)
	})
	t.Run("description", func(t *testing.T) {
		metrics, stats := export(point(attrs, nil), strings.Repeat("d", 5000))
		assert.Len(t, find(metrics).GetAttributes(), 2)
		assert.Empty(t, metrics[0].GetDescription())
		assert.Equal(t, uint64(3), stats.Written)
	})
	t.Run("attributes", func(t *testing.T) {
		metrics, stats := export(point(manyAttributes(20), exemplars), "d")
		list := find(metrics).GetAttributes()
		mark := list[len(list)-1]
		assert.Equal(t, "user_events.truncated", mark.GetKey())
		assert.Equal(t, int64(20), mark.GetValue().GetIntValue())
		assert.Len(t, list, 21, "all are cut, and none is dropped")
		for i, kv := range list[:len(list)-1] {
			assert.Equal(t, fmt.Sprintf("k%03d", i), kv.GetKey(), "the first ones")
		}
		assert.Equal(t, uint64(3), stats.Written)
		assert.Equal(t, uint64(1), stats.Truncated)
	})
	t.Run("one attribute", func(t *testing.T) {
		metrics, _ := export(point(attribute.NewSet(attribute.String("k", strings.Repeat("x", 5000))), nil), "")
		list := find(metrics).GetAttributes()
		require.Len(t, list, 2)
		assert.Regexp(t, `^x{900,}\.\.\.$`, list[0].GetValue().GetStringValue())
		assert.Equal(t, int64(1), list[1].GetValue().GetIntValue())
	})
	t.Run("buckets", func(t *testing.T) {
		counts := slices.Repeat([]uint64{1 << 60}, 2000)
		bounds := make([]float64, 1999)
		bucket := metricdata.ExponentialBucket{Counts: counts}
		h, stats := export(metricdata.Histogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[int64]{
			{Attributes: attrs, Count: 7, Sum: 8, Bounds: bounds, BucketCounts: counts},
		}}, "")
		p := h[0].GetHistogram().GetDataPoints()[0]
		assert.Equal(t, uint64(7), p.GetCount())
		assert.Equal(t, 8.0, p.GetSum())
		assert.Empty(t, p.GetBucketCounts())
		assert.Empty(t, p.GetExplicitBounds())
		assert.Equal(t, uevents.EventStats{Written: 1, Truncated: 1}, stats)
		x, _ := export(metricdata.ExponentialHistogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{
			{Attributes: attrs, Count: 7, PositiveBucket: bucket, NegativeBucket: bucket, Exemplars: exemplars},
		}}, "")
		assert.Equal(t, uint64(7), x[0].GetExponentialHistogram().GetDataPoints()[0].GetCount())
		s, _ := export(metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{
			{Attributes: manyAttributes(20), Count: 7, QuantileValues: slices.Repeat([]metricdata.QuantileValue{{Value: 1}}, 500)},
		}}, "")
		assert.Equal(t, uint64(7), s[0].GetSummary().GetDataPoints()[0].GetCount())
	})
}

// TestManyAttributes: a point, a resource and a scope keep as many attributes as have room.
func TestManyAttributes(t *testing.T) {
	for _, size := range []int{10, 100} { // which are whole, and which are cut
		var kvs []attribute.KeyValue
		for i := range 500 {
			kvs = append(kvs, attribute.String(fmt.Sprintf("k%03d", i), strings.Repeat("x", size)))
		}
		const header, lengths, headers = 6, 10, 24 // of an attribute, what lengths may grow, and the room for other fields of a resource
		field := header + 4 + 2 + size
		for limit := 700; limit < 4064; limit += 61 {
			r := newRig(t, ueventsmetric.WithMaxPayload(limit))
			tr := r.attach(t)
			rm := one(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: 42, Attributes: attribute.NewSet(kvs...)}}})
			require.NoError(t, r.Export(t.Context(), rm))
			raw := tr.Records()
			assert.Less(t, limit-len(raw[0].Payload), field+lengths, "limit %d", limit)
			kept := request(t, raw[0]).GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0].GetGauge().GetDataPoints()[0].GetAttributes()
			truncated := 500 - (len(kept) - 1)
			for _, kv := range kept {
				if strings.HasSuffix(kv.GetValue().GetStringValue(), "...") {
					truncated++
				}
			}
			assert.EqualValues(t, truncated, kept[len(kept)-1].GetValue().GetIntValue())

			rm = series(1)
			rm.Resource = resource.NewWithAttributes("https://example.com/1", kvs...)
			rm.ScopeMetrics[0].Scope.SchemaURL, rm.ScopeMetrics[0].Scope.Attributes = "https://example.com/2", attribute.NewSet(kvs...)
			require.NoError(t, r.Export(t.Context(), rm))
			got := request(t, tr.Records()[0]).GetResourceMetrics()[0]
			scope := got.GetScopeMetrics()[0]
			got.ScopeMetrics, scope.Metrics = nil, nil
			for share, m := range map[int]proto.Message{2: got, 4: scope} {
				room := (limit-16)/share - proto.Size(m)
				assert.GreaterOrEqual(t, room, 0)
				assert.Less(t, room, field+headers, "limit %d", limit)
			}
			assert.Equal(t, 500, len(got.GetResource().GetAttributes())+int(got.GetResource().GetDroppedAttributesCount()))
			assert.Equal(t, 500, len(scope.GetScope().GetAttributes())+int(scope.GetScope().GetDroppedAttributesCount()))
		}
	}
}

// TestExactShare: a resource of exactly half of an event is whole; of one more byte, a text is cut.
func TestExactShare(t *testing.T) {
	for more := range 2 {
		r := newRig(t)
		tr := r.attach(t)
		rm := series(1)
		rm.Resource = resource.NewSchemaless(attribute.String("k", strings.Repeat("x", (4064-16)/2-24+more)), attribute.Bool("b", true))
		require.NoError(t, r.Export(t.Context(), rm))
		got := requests(t, tr)[0].GetResourceMetrics()[0]
		got.ScopeMetrics = nil
		if more == 0 {
			require.Equal(t, (4064-16)/2, proto.Size(got))
		}
		assert.Zero(t, got.GetResource().GetDroppedAttributesCount())
		kvs := got.GetResource().GetAttributes()
		require.Len(t, kvs, 2)
		assert.Equal(t, more > 0, strings.HasSuffix(kvs[1].GetValue().GetStringValue(), "..."))
	}
}

// TestShortAttributes: whatever is large, and whatever comes first, short attributes survive, as do numbers.
func TestShortAttributes(t *testing.T) {
	large := attribute.NewSet(attribute.String("a.query", strings.Repeat("q", 5000)), attribute.String("error.type", "timeout"), attribute.Int("status", 500))
	small := attribute.NewSet(attribute.String("error.type", "timeout"), attribute.Int("status", 500))
	counts, bounds := make([]uint64, 3000), make([]float64, 2999)
	for name, c := range map[string]struct {
		point   metricdata.HistogramDataPoint[int64]
		cut     int64
		buckets int
	}{
		"a large attribute":             {metricdata.HistogramDataPoint[int64]{Attributes: large, BucketCounts: counts[:15], Bounds: bounds[:14]}, 1, 15},
		"many buckets":                  {metricdata.HistogramDataPoint[int64]{Attributes: small, BucketCounts: counts, Bounds: bounds}, 0, 0},
		"many buckets, large attribute": {metricdata.HistogramDataPoint[int64]{Attributes: large, BucketCounts: counts, Bounds: bounds}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tr := r.attach(t)
			c.point.Count, c.point.Sum = 7, 42
			require.NoError(t, r.Export(t.Context(), one(metricdata.Histogram[int64]{
				Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[int64]{c.point},
			})))
			p := requests(t, tr)[0].GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0].GetHistogram().GetDataPoints()[0]
			assert.Equal(t, uint64(7), p.GetCount())
			assert.Equal(t, 42.0, p.GetSum())
			assert.Len(t, p.GetBucketCounts(), c.buckets)
			kvs := p.GetAttributes()
			if c.cut > 0 {
				require.Len(t, kvs, 4)
				assert.Regexp(t, `^q{900,}\.\.\.$`, kvs[0].GetValue().GetStringValue())
				assert.Equal(t, "user_events.truncated", kvs[3].GetKey())
				assert.Equal(t, c.cut, kvs[3].GetValue().GetIntValue())
				kvs = kvs[1:3]
			}
			require.Len(t, kvs, 2)
			assert.Equal(t, "timeout", kvs[0].GetValue().GetStringValue())
			assert.Equal(t, int64(500), kvs[1].GetValue().GetIntValue())
		})
	}
}
