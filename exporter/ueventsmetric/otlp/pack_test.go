package otlp_test

import (
	"fmt"
	"math"
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

	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/uevents"
)

// TestSeries: 2,000 series are all there, once and in order, in about as few events as can be.
func TestSeries(t *testing.T) {
	const n = 2000
	for _, c := range []struct{ limit, payload int }{{0, 4064}, {uevents.MaxPayload, 4064}, {1000, 1000}, {512, 512}} {
		r := newRig(t, otlp.WithMaxPayload(c.limit))
		tr := r.attach(t)
		rm := series(n)
		require.NoError(t, r.Export(t.Context(), rm))

		records := tr.Records()
		envelope := math.MaxInt // what an event has beside points
		total := 0              // bytes of all points
		seen := make(map[int64]int)
		var last int
		for i, rec := range records {
			require.LessOrEqual(t, len(rec.Payload), c.payload)
			if i < len(records)-1 {
				assert.Greater(t, len(rec.Payload), c.payload-120, "less than a point is left")
			}
			m := request(t, rec).GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0]
			assert.Equal(t, "Number of requests.", m.GetDescription())
			pts := m.GetSum().GetDataPoints()
			size := 0
			for _, p := range pts {
				seen[p.GetAsInt()]++
				size += 2 + proto.Size(p) // with tag and length
			}
			total += size
			envelope = min(envelope, len(rec.Payload)-size)
			last = len(pts)
		}
		require.Len(t, seen, n, "every point")
		for v, times := range seen {
			assert.Equal(t, 1, times, v)
		}
		least := (total + c.payload - envelope - 1) / (c.payload - envelope) // if points could be split
		t.Logf("limit %d: %d events, %d at least; %d points in the last one, envelope of %d bytes", c.payload, len(records), least, last, envelope)
		assert.LessOrEqual(t, float64(len(records)), math.Ceil(float64(least)*float64(c.payload-envelope)/float64(c.payload-envelope-110)))
		assert.Equal(t, otlp.Stats{Events: uint64(len(records)), Points: n}, r.Stats())

		got := merge(t, all(t, r, rm))
		assertEqual(t, witness(t, rm), got)
	}
}

// TestEdges: with every limit the events keep it, whatever is split where, and together they are
// what went in.
func TestEdges(t *testing.T) {
	rm := every()
	want := witness(t, rm)
	for limit := 512; limit < 1600; limit += 7 {
		r := newRig(t, otlp.WithMaxPayload(limit))
		tr := r.attach(t)
		require.NoError(t, r.Export(t.Context(), rm))
		for _, rec := range tr.Records() {
			require.LessOrEqual(t, len(rec.Payload), limit)
		}
		assert.Zero(t, r.Stats().Truncated, limit)
		assertEqual(t, want, merge(t, all(t, r, rm)))
	}
}

// all exports rm once more and returns what is written.
func all(t *testing.T, r *rig, rm *metricdata.ResourceMetrics) (list []*requestOf) {
	t.Helper()
	tr := r.attach(t)
	defer tr.Detach()
	require.NoError(t, r.Export(t.Context(), rm))
	return requests(t, tr)
}

var long = strings.Repeat("x", 300)

// manyAttributes take about n*300 bytes.
func manyAttributes(n int) attribute.Set { return attribute.NewSet(longAttributes(n)...) }

func longAttributes(n int) (kvs []attribute.KeyValue) {
	for i := range n {
		kvs = append(kvs, attribute.String(fmt.Sprintf("k%03d", i), long))
	}
	return kvs
}

func one(a metricdata.Aggregation) *metricdata.ResourceMetrics {
	rm := series(0)
	rm.ScopeMetrics[0].Metrics[0].Data = a
	return rm
}

// TestTooLarge: of a point that no event can hold, what matters least goes first.
func TestTooLarge(t *testing.T) {
	exemplars := []metricdata.Exemplar[int64]{{Value: 1, FilteredAttributes: longAttributes(20)}}
	point := func(set attribute.Set, x []metricdata.Exemplar[int64]) metricdata.Aggregation {
		return metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: 1}, {Attributes: set, Value: 42, Exemplars: x}, {Value: 3}}}
	}
	export := func(a metricdata.Aggregation, description string) ([]*metricspb.Metric, otlp.Stats) {
		r := newRig(t)
		tr := r.attach(t)
		rm := one(a)
		rm.ScopeMetrics[0].Metrics[0].Description = description
		require.NoError(t, r.Export(t.Context(), rm))
		var metrics []*metricspb.Metric
		for _, req := range requests(t, tr) {
			metrics = append(metrics, req.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()...)
		}
		return metrics, r.Stats()
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
		assert.Equal(t, uint64(3), stats.Points)
		assert.Equal(t, uint64(1), stats.Truncated)
		assert.Zero(t, stats.Failed)
	})
	t.Run("description", func(t *testing.T) {
		metrics, stats := export(point(attrs, nil), strings.Repeat("d", 5000))
		assert.Len(t, find(metrics).GetAttributes(), 2)
		assert.Empty(t, metrics[0].GetDescription())
		assert.Equal(t, uint64(3), stats.Points)
	})
	t.Run("attributes", func(t *testing.T) {
		metrics, stats := export(point(manyAttributes(20), exemplars), "d")
		list := find(metrics).GetAttributes()
		mark := list[len(list)-1]
		assert.Equal(t, "otel.dropped_attributes_count", mark.GetKey())
		assert.Equal(t, int64(20-(len(list)-1)), mark.GetValue().GetIntValue())
		assert.Greater(t, len(list), 10, "as many as fit")
		for i, kv := range list[:len(list)-1] {
			assert.Equal(t, fmt.Sprintf("k%03d", i), kv.GetKey(), "the first ones")
		}
		assert.Equal(t, uint64(3), stats.Points)
		assert.Equal(t, uint64(1), stats.Truncated)
	})
	t.Run("one attribute", func(t *testing.T) {
		metrics, _ := export(point(attribute.NewSet(attribute.String("k", strings.Repeat("x", 5000))), nil), "")
		list := find(metrics).GetAttributes()
		require.Len(t, list, 1)
		assert.Equal(t, int64(1), list[0].GetValue().GetIntValue())
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
		assert.Equal(t, otlp.Stats{Events: 1, Points: 1, Truncated: 1}, stats)
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

// TestLargeResource: a resource leaves room for points, and says what it lacks.
func TestLargeResource(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	rm := series(100)
	kvs := append(longAttributes(20), attribute.String("service.name", "shop"), attribute.String("process.command_line", strings.Repeat("y", 9000)))
	rm.Resource = resource.NewSchemaless(kvs...)
	rm.ScopeMetrics[0].Scope.Attributes = manyAttributes(20)
	require.NoError(t, r.Export(t.Context(), rm))
	list := requests(t, tr)
	assert.Less(t, len(list), 15)
	for _, req := range list {
		got := req.GetResourceMetrics()[0]
		dropped := int(got.GetResource().GetDroppedAttributesCount())
		assert.Greater(t, dropped, 10)
		assert.Len(t, got.GetResource().GetAttributes(), len(kvs)-dropped)
		last := got.GetResource().GetAttributes()[len(kvs)-dropped-1]
		assert.Equal(t, "service.name", last.GetKey(), "what is short stays")
		scope := got.GetScopeMetrics()[0].GetScope()
		assert.Len(t, scope.GetAttributes(), 20-int(scope.GetDroppedAttributesCount()))
		assert.NotZero(t, scope.GetDroppedAttributesCount())
	}
	assert.Equal(t, uint64(100), r.Stats().Points)
}

// TestImpossible: a point whose names alone are too large is counted, and the rest is written.
func TestImpossible(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	rm := series(10)
	ms := &rm.ScopeMetrics[0].Metrics
	*ms = append(*ms, metricdata.Metrics{Name: strings.Repeat("n", 5000), Data: (*ms)[0].Data}, metricdata.Metrics{Name: "other", Data: (*ms)[0].Data})
	err := r.Export(t.Context(), rm)
	require.ErrorContains(t, err, "10 points were not written: a data point does not fit an event")
	got := merge(t, requests(t, tr)).GetScopeMetrics()[0].GetMetrics()
	require.Len(t, got, 2)
	for _, m := range got {
		assert.Len(t, m.GetSum().GetDataPoints(), 10)
	}
	stats := r.Stats()
	assert.Equal(t, uint64(10), stats.Failed)
	assert.Equal(t, uint64(20), stats.Points)
}
