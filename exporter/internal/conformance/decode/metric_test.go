package decode

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var (
	metricStart = time.Unix(100, 1)
	metricEnd   = time.Unix(200, 2)
)

// onePointOfEach is metric data with a point of each type, and an exemplar.
func onePointOfEach() *metricdata.ResourceMetrics {
	set := attribute.NewSet(attribute.String("route", "/"))
	exemplar := metricdata.Exemplar[int64]{
		FilteredAttributes: []attribute.KeyValue{attribute.Bool("cached", true)}, Time: metricStart, Value: -3,
		TraceID: []byte{15: 1}, SpanID: []byte{7: 2},
	}
	return &metricdata.ResourceMetrics{Resource: testResource, ScopeMetrics: []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: "meter", Version: "v1"},
		Metrics: []metricdata.Metrics{
			{Name: "gauge", Unit: "Cel", Data: metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{
				{Attributes: set, StartTime: metricStart, Time: metricEnd, Value: 0.5},
			}}},
			{Name: "sum", Data: metricdata.Sum[int64]{
				Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
				DataPoints: []metricdata.DataPoint[int64]{
					{Attributes: set, StartTime: metricStart, Time: metricEnd, Value: -1 << 63, Exemplars: []metricdata.Exemplar[int64]{exemplar}},
				},
			}},
			{Name: "histogram", Data: metricdata.Histogram[float64]{
				Temporality: metricdata.DeltaTemporality,
				DataPoints: []metricdata.HistogramDataPoint[float64]{{
					Attributes: set, StartTime: metricStart, Time: metricEnd, Count: 3, Sum: 1.5, Max: metricdata.NewExtrema(1.0),
					Bounds: []float64{0.1, 1e9}, BucketCounts: []uint64{1, 1 << 63, 2},
				}},
			}},
			{Name: "exp", Data: metricdata.ExponentialHistogram[int64]{
				Temporality: metricdata.DeltaTemporality,
				DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{
					Attributes: set, StartTime: metricStart, Time: metricEnd, Count: 4, Sum: 7, Min: metricdata.NewExtrema[int64](-2), Scale: -3, ZeroCount: 9, ZeroThreshold: 0.25,
					PositiveBucket: metricdata.ExponentialBucket{Offset: -4, Counts: []uint64{5, 6}}, NegativeBucket: metricdata.ExponentialBucket{Offset: 8, Counts: []uint64{7}},
				}},
			}},
			{Name: "summary", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
				Attributes: set, StartTime: metricStart, Time: metricEnd, Count: 2, Sum: 3,
				QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: 1}, {Quantile: 1, Value: 2}},
			}}}},
		},
	}}}
}

// writeMetrics writes a point of each type on a simulated kernel.
func (r *rig) writeMetrics(rm *metricdata.ResourceMetrics, opts ...ueventsmetric.Option) []ueventstest.Record {
	r.t.Helper()
	x, err := ueventsmetric.NewExporter("myapp", append(opts, ueventsmetric.WithProvider(r.provider))...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, x.Shutdown(context.Background())) })
	r.attach()
	require.NoError(r.t, x.Export(context.Background(), rm))
	return r.tool.Records()
}

// TestMetrics: a point of each type is read back. The tests of package ueventsmetric do the same with random points.
func TestMetrics(t *testing.T) {
	start, end := metricStart.UTC(), metricEnd.UTC()
	want := map[string]record.Point{
		"gauge": {Type: record.PointGauge, Unit: "Cel", StartTime: start, Value: record.Float64Value(0.5)},
		"sum":   {Type: record.PointSum, StartTime: start, Temporality: record.TemporalityCumulative, Monotonic: true, Value: record.Int64Value(-1 << 63)},
		"histogram": {
			Type: record.PointHistogram, StartTime: start, Temporality: record.TemporalityDelta, Count: 3, Sum: record.Float64Value(1.5), Max: record.Int64Value(1),
			Bounds: []float64{0.1, 1e9}, BucketCounts: []uint64{1, 1 << 63, 2},
		},
		"exp": {
			Type: record.PointExponentialHistogram, StartTime: start, Temporality: record.TemporalityDelta, Count: 4, Sum: record.Int64Value(7), Min: record.Int64Value(-2),
			Scale: -3, ZeroCount: 9, ZeroThreshold: 0.25, Positive: record.Buckets{Offset: -4, Counts: []uint64{5, 6}}, Negative: record.Buckets{Offset: 8, Counts: []uint64{7}},
		},
		"summary": {
			Type: record.PointSummary, StartTime: start, Count: 2, Sum: record.Int64Value(3),
			Quantiles: []record.Quantile{{Quantile: 0.5, Value: 1}, {Quantile: 1, Value: 2}},
		},
		"exemplar of sum": {Type: record.PointExemplar, Value: record.Int64Value(-3), FilteredAttributes: []record.Field{{Name: "cached", Value: record.BoolValue(true)}}},
	}
	r := newRig(t)
	records := r.writeMetrics(onePointOfEach())
	require.Len(t, records, len(want))
	ev := new(record.Record)
	for range 2 { // the point of the event is used again
		for _, rec := range records {
			require.NoError(t, r.decoder(rec).DecodeReuse(raw(rec), ev))
			assert.Equal(t, record.KindMetric, ev.Kind)
			name := ev.Message
			if ev.Point.Type == record.PointExemplar {
				name = "exemplar of " + name
				assert.Equal(t, [16]byte{15: 1}, ev.TraceID)
				assert.Equal(t, [8]byte{7: 2}, ev.SpanID)
				assert.Equal(t, start, ev.Timestamp)
			} else {
				assert.Equal(t, end, ev.Timestamp)
				assert.Zero(t, ev.TraceID)
			}
			got := *ev.Point
			if len(got.Bounds) == 0 {
				got.Bounds, got.BucketCounts = nil, nil
			}
			if len(got.Positive.Counts) == 0 {
				got.Positive, got.Negative = record.Buckets{}, record.Buckets{}
			}
			if len(got.Quantiles) == 0 {
				got.Quantiles = nil
			}
			if len(got.FilteredAttributes) == 0 {
				got.FilteredAttributes = nil
			}
			assert.Equal(t, want[name], got, name)
			assert.Equal(t, []string{"meter", "v1", "users \n"}, []string{ev.ScopeName, ev.ScopeVersion, ev.ServiceName})
			recordtest.AssertFields(t, []record.Field{{Name: "route", Value: record.StringValue("/")}}, ev.Fields())
		}
	}
}

// TestTruncatedBuckets: truncated lists have the remaining numbers.
func TestTruncatedBuckets(t *testing.T) {
	rm := onePointOfEach()
	long := make([]uint64, 1000)
	bounds := make([]float64, 1000)
	for i := range long {
		long[i], bounds[i] = uint64(i)+1e18, float64(i)+0.5
	}
	rm.ScopeMetrics[0].Metrics = []metricdata.Metrics{{Name: "histogram", Data: metricdata.Histogram[int64]{DataPoints: []metricdata.HistogramDataPoint[int64]{{Bounds: bounds, BucketCounts: long}}}}}
	r := newRig(t)
	records := r.writeMetrics(rm)
	require.Len(t, records, 1)
	var ev record.Record
	require.NoError(t, r.decoder(records[0]).DecodeReuse(raw(records[0]), &ev))
	assert.Equal(t, 2, ev.Truncated)
	require.NotEmpty(t, ev.Point.Bounds)
	require.NotEmpty(t, ev.Point.BucketCounts)
	assert.Equal(t, bounds[:len(ev.Point.Bounds)], ev.Point.Bounds)
	assert.Equal(t, long[:len(ev.Point.BucketCounts)], ev.Point.BucketCounts)
	assert.Empty(t, ev.Fields())
}

// TestNonsenseInPoints: an invalid number stays a field, and a list ends before it.
func TestNonsenseInPoints(t *testing.T) {
	r := newRig(t)
	for _, rec := range r.writeMetrics(onePointOfEach()) {
		var ev record.Record
		patched := raw(rec)
		for old, nonsense := range map[string]string{
			"0.5\x00": "0,5\x00", "-3\x00": "-x\x00", "delta\x00": "gamma\x00", "1.5\x00": "1..\x00", "0.1,1000000000\x00": "0.1,100000000x\x00",
			"1,9223372036854775808,2\x00": "1,922337203685477580.,2\x00", "-4:5,6\x00": "-4:5,-\x00", "0.5=1,1=2\x00": "0.5=1,1:2\x00", "-9223372036854775808\x00": "-922337203685477580y\x00",
		} {
			patched = bytes.Replace(patched, []byte(old), []byte(nonsense), 1)
		}
		require.NoError(t, r.decoder(rec).DecodeReuse(patched, &ev))
		p, name := ev.Point, ev.Message
		_, kept := ev.Lookup("value")
		switch p.Type {
		case record.PointGauge, record.PointExemplar, record.PointSum:
			assert.Equal(t, record.TypeNull, p.Value.Type(), name)
			assert.True(t, kept, name)
		case record.PointHistogram:
			assert.Equal(t, []float64{0.1}, p.Bounds)
			assert.Equal(t, []uint64{1}, p.BucketCounts)
			temporality, _ := ev.Lookup("temporality")
			assert.Equal(t, "gamma", temporality.Text())
			sum, _ := ev.Lookup("sum")
			assert.Equal(t, "1..", sum.Text())
		case record.PointExponentialHistogram:
			assert.Equal(t, record.Buckets{Offset: -4, Counts: []uint64{5}}, p.Positive)
		default:
			assert.Equal(t, []record.Quantile{{Quantile: 0.5, Value: 1}}, p.Quantiles)
		}
	}
}
