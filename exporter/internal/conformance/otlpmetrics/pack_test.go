package otlpmetrics

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

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestSeries: 2,000 series are all there, once and in order, in about as few events as can be.
func TestSeries(t *testing.T) {
	n := testscale.Count(2000, 500)
	for _, c := range []struct{ limit, payload int }{{0, 4064}, {tracepoint.MaxPayload, 4064}, {1000, 1000}, {512, 512}} {
		r := newRig(t, ueventsmetric.WithMaxPayload(c.limit))
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
		assert.Equal(t, uevents.EventStats{Written: uint64(n)}, r.stats())

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
		r := newRig(t, ueventsmetric.WithMaxPayload(limit))
		tr := r.attach(t)
		require.NoError(t, r.Export(t.Context(), rm))
		for _, rec := range tr.Records() {
			require.LessOrEqual(t, len(rec.Payload), limit)
		}
		assert.Zero(t, r.stats().Truncated, limit)
		assertEqual(t, want, merge(t, all(t, r, rm)))
	}
}

// TestExactFit: a point that fills an event to its last byte is whole.
func TestExactFit(t *testing.T) {
	rm := one(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: 42, Attributes: manyAttributes(4)}}})
	export := func(limit int) (payload int, truncated uint64) {
		r := newRig(t, ueventsmetric.WithMaxPayload(limit))
		tr := r.attach(t)
		require.NoError(t, r.Export(t.Context(), rm))
		return len(tr.Records()[0].Payload), r.stats().Truncated
	}
	size, _ := export(0)
	for limit, want := range map[int]uint64{size: 0, size - 1: 1} {
		payload, truncated := export(limit)
		assert.LessOrEqual(t, payload, limit)
		assert.Equal(t, want, truncated, "%d of %d", limit, size)
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

// TestLargeResource: the attributes of a resource and of a scope are cut, and leave space for points. Those of the service are first.
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
		assert.Zero(t, got.GetResource().GetDroppedAttributesCount())
		require.Len(t, got.GetResource().GetAttributes(), len(kvs))
		for i, kv := range got.GetResource().GetAttributes() {
			if i == 0 {
				assert.Equal(t, "service.name", kv.GetKey())
				assert.Equal(t, "shop", kv.GetValue().GetStringValue())
				continue
			}
			assert.Regexp(t, `^[^.]{61,}\.\.\.$`, kv.GetValue().GetStringValue())
		}
		scope := got.GetScopeMetrics()[0].GetScope()
		assert.Len(t, scope.GetAttributes(), 20-int(scope.GetDroppedAttributesCount()))
		assert.Positive(t, scope.GetDroppedAttributesCount(), "a quarter of an event has no space for 64 bytes of each")
	}
	assert.Equal(t, uint64(100), r.stats().Written)
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
	stats := r.stats()
	assert.Equal(t, uint64(10), stats.Refused)
	assert.Equal(t, uint64(20), stats.Written)
}

// FuzzPack: however large names and points are, every event keeps the limit, every point is in
// one event or counted as failed, and what was not cut is as OpenTelemetry's own exporter has it.
func FuzzPack(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 0, 5}, 4064)
	f.Add([]byte{255, 255, 128, 127, 126, 1, 0, 0, 90, 255, 3}, 512)
	f.Fuzz(func(t *testing.T, sizes []byte, limit int) {
		limit = 512 + int(uint(limit)%3600)
		sizes = sizes[:min(len(sizes), 100)]
		r := newRig(t, ueventsmetric.WithMaxPayload(limit))
		tr := r.attach(t)
		rm := series(0)
		metrics := &rm.ScopeMetrics[0].Metrics
		*metrics = nil
		for i, size := range sizes {
			if i == 0 || size%5 == 0 {
				*metrics = append(*metrics, metricdata.Metrics{
					Name: fmt.Sprintf("m%d%s", i, strings.Repeat("n", int(size))), Description: strings.Repeat("d", 2*int(size)), Data: metricdata.Gauge[int64]{},
				})
			}
			m := &(*metrics)[len(*metrics)-1]
			g := m.Data.(metricdata.Gauge[int64])
			set := attribute.NewSet(attribute.String("k", strings.Repeat("v", 4*int(size))))
			g.DataPoints = append(g.DataPoints, metricdata.DataPoint[int64]{Attributes: set, Time: end, Value: int64(i)})
			m.Data = g
		}
		err := r.Export(t.Context(), rm)
		stats := r.stats()
		require.Equal(t, stats.Refused > 0, err != nil, "%v", err)
		require.Equal(t, uint64(len(sizes)), stats.Written+stats.Refused)
		seen := 0
		for _, rec := range tr.Records() {
			require.LessOrEqual(t, len(rec.Payload), limit)
			for _, m := range request(t, rec).GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
				seen += len(m.GetGauge().GetDataPoints())
			}
		}
		require.Equal(t, stats.Written, uint64(seen))
		if stats.Truncated+stats.Refused == 0 && len(sizes) > 0 {
			require.True(t, proto.Equal(witness(t, rm), merge(t, all(t, r, rm))))
		}
	})
}

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
