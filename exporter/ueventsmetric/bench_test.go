package ueventsmetric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// series returns n points with the attributes of an HTTP server, each of one kind.
func series(n int) map[string]*metricdata.ResourceMetrics {
	s := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	h := metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality}
	bounds := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	for i := range n {
		s.DataPoints = append(s.DataPoints, metricdata.DataPoint[int64]{Attributes: attrs, StartTime: start, Time: end, Value: int64(i)})
		h.DataPoints = append(h.DataPoints, metricdata.HistogramDataPoint[float64]{
			Attributes: attrs, StartTime: start, Time: end, Count: 100, Sum: 12.5, Min: metricdata.NewExtrema(0.001), Max: metricdata.NewExtrema(1.25),
			Bounds: bounds, BucketCounts: []uint64{10, 20, 30, 10, 10, 5, 5, 5, 3, 1, 1, 0, 0, 0, 0},
		})
	}
	return map[string]*metricdata.ResourceMetrics{"sum": data(s), "histogram": data(h)}
}

// TestAllocations: an export does not allocate, disabled or enabled.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("not under the race detector: it allocates")
	}
	k := ueventstest.New(t, &ueventstest.Options{BufferSize: 1}) // whose tools keep no record, which takes no memory
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	e, err := ueventsmetric.NewExporter("app", ueventsmetric.WithEventProvider(p))
	require.NoError(t, err)
	ctx := t.Context()
	for name, rm := range series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	tr, err := k.Attach(ueventstest.Perf, "app_metric_*")
	require.NoError(t, err)
	for name, rm := range series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	assert.Equal(t, uint64(2*101*100), tr.Lost())
}

// BenchmarkExport exports 100 points, disabled and to a tool on a simulated kernel.
func BenchmarkExport(b *testing.B) {
	for name, rm := range series(100) {
		r := newRig(b)
		b.Run(name+"/disabled", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, r.Export(b.Context(), rm))
			}
		})
		tr := r.attach(b)
		b.Run(name+"/traced", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, r.Export(b.Context(), rm))
				tr.Records()
			}
		})
	}
}
