package otlp_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// benchmarked returns 100 points of two kinds, with two attributes each: a counter, and a histogram with the SDK's
// default buckets.
func benchmarked() map[string]*metricdata.ResourceMetrics {
	s := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	h := metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality}
	for i := range 100 {
		s.DataPoints = append(s.DataPoints, metricdata.DataPoint[int64]{Attributes: attrs, StartTime: start, Time: end, Value: int64(i)})
		h.DataPoints = append(h.DataPoints, metricdata.HistogramDataPoint[float64]{
			Attributes: attrs, StartTime: start, Time: end, Count: 100, Sum: 12.5, Min: metricdata.NewExtrema(0.001), Max: metricdata.NewExtrema(1.25),
			Bounds:       []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000},
			BucketCounts: []uint64{10, 20, 30, 10, 10, 5, 5, 5, 3, 1, 1, 0, 0, 0, 0, 0},
		})
	}
	return map[string]*metricdata.ResourceMetrics{"sum": one(s), "histogram": one(h)}
}

// TestAllocations: an export does not allocate, disabled or enabled.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("not under the race detector: it allocates")
	}
	k := ueventstest.New(t, &ueventstest.Options{BufferSize: 1}) // whose tools keep no record, which takes no memory
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	e, err := otlp.NewExporter(otlp.WithEventProvider(p))
	require.NoError(t, err)
	ctx := t.Context()
	for name, rm := range benchmarked() {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	_, err = k.Attach(ueventstest.Perf, otlp.EventName)
	require.NoError(t, err)
	for name, rm := range benchmarked() {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	assert.Equal(t, uint64(2*101*100), e.Stats().Points)
}
