package ueventsmetric_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// large returns points that are larger than any limit, in every text.
func large(counts int) []*metricdata.ResourceMetrics {
	long := strings.Repeat("größe ", 1000)
	var kvs []attribute.KeyValue
	for i := range 200 {
		kvs = append(kvs, attribute.String(strings.Repeat("k", i%7)+string(rune('A'+i%26))+strings.Repeat("z", i/26), long))
	}
	set := attribute.NewSet(kvs...)
	bucket := metricdata.ExponentialBucket{Offset: -123456789, Counts: slices.Repeat([]uint64{1234567}, counts)}
	bounds := make([]float64, counts)
	for i := range bounds {
		bounds[i] = float64(i) + 0.123456789
	}
	exemplars := []metricdata.Exemplar[int64]{{FilteredAttributes: kvs, Value: 1}}
	all := []*metricdata.ResourceMetrics{
		data(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: set, Exemplars: exemplars}}}),
		data(metricdata.Sum[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: set}}}),
		data(metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
			Attributes: set, QuantileValues: slices.Repeat([]metricdata.QuantileValue{{Quantile: 0.123, Value: 4.56}}, counts),
		}}}),
	}
	for _, t := range []metricdata.Temporality{metricdata.DeltaTemporality, metricdata.CumulativeTemporality} {
		all = append(all,
			data(metricdata.Sum[int64]{Temporality: t, IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{{Attributes: set}}}),
			data(metricdata.Histogram[int64]{Temporality: t, DataPoints: []metricdata.HistogramDataPoint[int64]{{Attributes: set, Bounds: bounds, BucketCounts: bucket.Counts}}}),
			data(metricdata.ExponentialHistogram[int64]{Temporality: t, DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{
				Attributes: set, PositiveBucket: bucket, NegativeBucket: bucket,
			}}}))
	}
	for _, rm := range all {
		sm := &rm.ScopeMetrics[0]
		sm.Scope.Name, sm.Scope.Version, sm.Scope.SchemaURL, sm.Scope.Attributes = long, long, long, set
		sm.Metrics[0].Name, sm.Metrics[0].Unit = long, long
	}
	return all
}

// TestLimit: whatever the data holds, an event keeps the limit, shows its cuts and is counted.
func TestLimit(t *testing.T) {
	testscale.HostOnly(t)
	for _, limit := range []int{216, 240, 300, 500, 1000, 4064} {
		r := newRig(t, ueventsmetric.WithMaxPayload(limit))
		tr := r.attach(t)
		for _, rm := range large(500) {
			require.NoError(t, r.Export(t.Context(), rm))
		}
		for _, rec := range tr.Records() {
			assert.LessOrEqual(t, len(rec.Payload), limit, rec.Event)
			assert.Greater(t, len(rec.Payload), limit*8/10, rec.Event)
		}
		for _, rm := range large(500) {
			require.NoError(t, r.Export(t.Context(), rm))
		}
		list := decode(t, tr)
		require.Len(t, list, len(kinds))
		for _, m := range list {
			assert.NotEqual(t, "0", m["truncated"], m[""])
			object(t, m["attributes"])
			for name, text := range m {
				assert.True(t, utf8.ValidString(text), name)
			}
		}
		for name, s := range r.Stats() {
			assert.Equal(t, uevents.EventStats{Written: 2, Truncated: 2}, s, name)
		}
	}
}

// TestOversized: whatever is long, ids, numbers and short texts survive.
func TestOversized(t *testing.T) {
	long := strings.Repeat("SELECT ä ", 700)
	exemplars := []metricdata.Exemplar[int64]{{TraceID: traceID[:], SpanID: spanID[:], Value: 42, FilteredAttributes: []attribute.KeyValue{
		attribute.String("db.query.text", long), attribute.Int("filtered", 1),
	}}}
	bucket := metricdata.ExponentialBucket{Offset: -3, Counts: slices.Repeat([]uint64{1234567}, 3000)}
	short := metricdata.ExponentialBucket{Offset: 7, Counts: []uint64{1, 2, 3}}
	for name, query := range map[string]string{"attributes are short": "", "an attribute is long": long} {
		for _, limit := range []int{4064, 1000} {
			r := newRig(t, ueventsmetric.WithMaxPayload(limit))
			tr := r.attach(t)
			set := attribute.NewSet(attribute.String("db.query.text", query), attribute.String("error.type", "timeout"), attribute.Int("http.response.status_code", 500))
			lo, hi := metricdata.NewExtrema[int64](-7), metricdata.NewExtrema[int64](9)
			for _, a := range []metricdata.Aggregation{
				metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{{Attributes: set, Value: 42, Exemplars: exemplars}}},
				metricdata.Histogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[int64]{{
					Attributes: set, Sum: 42, Min: lo, Max: hi, Bounds: make([]float64, 3000), BucketCounts: bucket.Counts,
				}}},
				metricdata.ExponentialHistogram[int64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{
					Attributes: set, Sum: 42, Min: lo, Max: hi, PositiveBucket: bucket, NegativeBucket: short,
				}}},
			} {
				rm := data(a)
				rm.ScopeMetrics[0].Scope.Name, rm.ScopeMetrics[0].Scope.Version = "my/package", "v1.2.3"
				require.NoError(t, r.Export(t.Context(), rm))
			}
			list := decode(t, tr)
			require.Len(t, list, 4)
			for _, got := range list {
				event := got[""]
				assert.Equal(t, event == "app_metric_sum" && query == "", got["truncated"] == "0", "%s, %s", event, name)
				m := object(t, got["attributes"])
				assert.Equal(t, "timeout", m["error.type"], event)
				assert.Equal(t, 500.0, m["http.response.status_code"], event)
				assert.Equal(t, "m", got["name"])
				assert.Equal(t, "my/package", got["scope_name"])
				assert.Equal(t, "shop", got["service_name"])
				switch event {
				case "app_metric_cumulative_exp_histogram":
					assert.Equal(t, "v1.2.3", m["otel.scope.version"])
					assert.Equal(t, "cumulative", got["temporality"])
					assert.Equal(t, "7:1,2,3", got["negative"])
					assert.True(t, strings.HasPrefix(got["positive"], "-3:1234567,1234567,"))
					fallthrough
				case "app_metric_histogram":
					assert.Equal(t, []string{"42", "-7", "9"}, []string{got["sum"], got["min"], got["max"]})
				default:
					assert.Equal(t, "42", got["value"])
				}
				if event != "app_metric_cumulative_exp_histogram" {
					assert.Equal(t, "v1.2.3", got["scope_version"])
				}
				if event == "app_metric_exemplar" {
					assert.Equal(t, traceID.String(), got["trace_id"])
					assert.Equal(t, spanID.String(), got["span_id"])
					assert.Equal(t, 1.0, object(t, got["filtered_attributes"])["filtered"])
				}
			}
		}
	}
}

// TestLists: lists are cut between numbers, and share the room with attributes.
func TestLists(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	counts := slices.Repeat([]uint64{1234567}, 10)
	for _, c := range []struct {
		name           string
		pos, neg       int
		wantPos, whole string // the first is cut, or not
	}{
		{"all fits", 10, 10, "", ""},
		{"negative ones are cut", 10, 600, "", "negative"},
		{"positive ones are cut", 600, 10, "", "positive"},
		{"both are cut", 600, 600, "", "both"},
	} {
		p := metricdata.ExponentialHistogramDataPoint[int64]{
			Attributes:     attrs,
			PositiveBucket: metricdata.ExponentialBucket{Offset: -3, Counts: slices.Repeat(counts, c.pos/10)},
			NegativeBucket: metricdata.ExponentialBucket{Offset: 7, Counts: slices.Repeat(counts, c.neg/10)},
		}
		require.NoError(t, r.Export(t.Context(), data(metricdata.ExponentialHistogram[int64]{DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{p}})))
		got := one(t, tr)
		assert.Equal(t, `{"route":"/users","status":200}`, got["attributes"], "%s: attributes are whole", c.name)
		for field, b := range map[string]metricdata.ExponentialBucket{"positive": p.PositiveBucket, "negative": p.NegativeBucket} {
			if c.whole == field || c.whole == "both" {
				kept, isCut := strings.CutSuffix(got[field], ",...")
				assert.True(t, isCut, "%s: %s", c.name, field)
				assert.True(t, strings.HasPrefix(bucketText(b), kept+","), "%s: %s", c.name, field)
				assert.Greater(t, len(kept), 1500)
			} else {
				assert.Equal(t, bucketText(b), got[field], "%s: %s", c.name, field)
			}
		}
		assert.Equal(t, c.whole == "", got["truncated"] == "0")
	}
}

// TestTooSmall: a limit that an event's fixed fields do not fit in disables that event.
func TestTooSmall(t *testing.T) {
	r := newRig(t) // for its kernel
	p := r.kernel.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	e, err := ueventsmetric.NewExporter("small", ueventsmetric.WithProvider(p), ueventsmetric.WithMaxPayload(150))
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.ErrorContains(t, err, "small_metric_histogram: ")
	require.ErrorContains(t, err, "a limit of 150 bytes is too small: the event takes at least 212")
	assert.NotContains(t, err.Error(), "small_metric_gauge")
	tr, err := r.kernel.Attach(0, "small_metric_*")
	require.NoError(t, err)
	require.NoError(t, e.Export(t.Context(), data(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{}}})))
	require.NoError(t, e.Export(t.Context(), data(metricdata.Histogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[int64]{{}}})))
	assert.Len(t, tr.Records(), 1)
}

// TestLongestName: the name in the documentation is the longest that all events can have.
func TestLongestName(t *testing.T) {
	r := newRig(t)
	p := r.kernel.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	name := strings.Repeat("n", 52)
	_, err := ueventsmetric.NewExporter(name, ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	e, err := ueventsmetric.NewExporter(name+"n", ueventsmetric.WithProvider(p))
	require.Error(t, err)
	assert.NotErrorIs(t, err, uevents.ErrNotSupported)
	_, err = r.kernel.Attach(0, name+"n_metric_exp_histogram") // the others are there
	require.NoError(t, err)
	require.NoError(t, e.Export(t.Context(), large(1)[5]))
}

// TestAllocations: an export does not allocate, disabled or enabled.
func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	k := ueventstest.New(t, &ueventstest.Options{BufferSize: 1}) // whose tools keep no record, which takes no memory
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	e, err := ueventsmetric.NewExporter("app", ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	ctx := t.Context()
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	tr := recordtest.Attach(t, k, ueventstest.Perf, "app_metric_*")
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	assert.Equal(t, uint64(2*101*100), tr.Lost())
}
