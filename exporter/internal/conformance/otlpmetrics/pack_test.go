package otlpmetrics

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
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
