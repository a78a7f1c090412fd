package ueventsmetric_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
)

// nanos returns a time as the fields have it.
func nanos(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

// common are the fields that all points have which the rig's meter made.
func common(name, unit, event string, at time.Time) map[string]string {
	return map[string]string{
		"": "app_metric_" + event, "name": name, "unit": unit, "scope_name": "my/package", "scope_version": "v1.2.3",
		"service_name": "shop", "attributes": `{"route":"/users","status":200}`, "truncated": "0", "time_unix_nano": nanos(at),
	}
}

func with(m, more map[string]string) map[string]string {
	maps.Copy(m, more)
	return m
}

var attrs = attribute.NewSet(attribute.String("route", "/users"), attribute.Int("status", 200))

// TestInstruments: every kind of instrument arrives, through the SDK, in the event of its
// aggregation, with what the SDK says of it.
func TestInstruments(t *testing.T) {
	at := metric.WithAttributeSet(attrs)
	for _, c := range []struct {
		name   string
		record func(context.Context, metric.Meter) error
		event  string
		want   map[string]string
	}{
		{"int counter", func(ctx context.Context, m metric.Meter) error {
			i, err := m.Int64Counter("n", metric.WithUnit("u"), metric.WithDescription("d"))
			i.Add(ctx, 3, at)
			i.Add(ctx, 4, at)
			return err
		}, "sum", map[string]string{"value": "7", "value_int": "7", "value_micro": "7000000", "temporality": "delta", "monotonic": "1"}},
		{"float counter", func(ctx context.Context, m metric.Meter) error {
			i, err := m.Float64Counter("n", metric.WithUnit("u"))
			i.Add(ctx, 0.75, at)
			return err
		}, "sum", map[string]string{"value": "0.75", "value_int": "1", "value_micro": "750000", "temporality": "delta", "monotonic": "1"}},
		{"up-down counter", func(ctx context.Context, m metric.Meter) error {
			i, err := m.Int64UpDownCounter("n", metric.WithUnit("u"))
			i.Add(ctx, -5, at)
			return err
		}, "updown_sum", map[string]string{"value": "-5", "value_int": "-5", "value_micro": "-5000000", "temporality": "cumulative", "monotonic": "0"}},
		{"float up-down counter", func(ctx context.Context, m metric.Meter) error {
			i, err := m.Float64UpDownCounter("n", metric.WithUnit("u"))
			i.Add(ctx, -0.25, at)
			return err
		}, "updown_sum", map[string]string{"value": "-0.25", "value_int": "0", "value_micro": "-250000", "temporality": "cumulative", "monotonic": "0"}},
		{"observable counter", func(_ context.Context, m metric.Meter) error {
			_, err := m.Int64ObservableCounter("n", metric.WithUnit("u"), metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(9, at)
				return nil
			}))
			return err
		}, "sum", map[string]string{"value": "9", "value_int": "9", "value_micro": "9000000", "temporality": "delta", "monotonic": "1"}},
		{"observable up-down counter", func(_ context.Context, m metric.Meter) error {
			_, err := m.Float64ObservableUpDownCounter("n", metric.WithUnit("u"), metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
				o.Observe(1e21, at)
				return nil
			}))
			return err
		}, "updown_sum", map[string]string{
			"value": "1e+21", "value_int": strconv.FormatInt(math.MaxInt64, 10), "value_micro": strconv.FormatInt(math.MaxInt64, 10), "temporality": "cumulative", "monotonic": "0",
		}},
		{"gauge", func(ctx context.Context, m metric.Meter) error {
			i, err := m.Int64Gauge("n", metric.WithUnit("u"))
			i.Record(ctx, math.MinInt64, at)
			return err
		}, "gauge", map[string]string{"value": "-9223372036854775808", "value_int": "-9223372036854775808", "value_micro": "-9223372036854775808"}},
		{"observable gauge", func(_ context.Context, m metric.Meter) error {
			_, err := m.Float64ObservableGauge("n", metric.WithUnit("u"), metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
				o.Observe(1.5e-7, at)
				return nil
			}))
			return err
		}, "gauge", map[string]string{"value": "1.5e-7", "value_int": "0", "value_micro": "0"}},
		{"int histogram", func(ctx context.Context, m metric.Meter) error {
			i, err := m.Int64Histogram("n", metric.WithUnit("u"), metric.WithExplicitBucketBoundaries(1, 2.5, 10))
			for _, v := range []int64{1, 2, 100} {
				i.Record(ctx, v, at)
			}
			return err
		}, "histogram", map[string]string{
			"count": "3", "sum": "103", "sum_micro": "103000000", "min": "1", "max": "100", "max_micro": "100000000", "temporality": "delta",
			"explicit_bounds": "1,2.5,10", "bucket_counts": "1,1,0,1",
		}},
		{"float histogram", func(ctx context.Context, m metric.Meter) error {
			i, err := m.Float64Histogram("n", metric.WithUnit("u"), metric.WithExplicitBucketBoundaries(0.1))
			i.Record(ctx, 0.125, at)
			return err
		}, "histogram", map[string]string{
			"count": "1", "sum": "0.125", "sum_micro": "125000", "min": "0.125", "max": "0.125", "max_micro": "125000", "temporality": "delta",
			"explicit_bounds": "0.1", "bucket_counts": "0,1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			tr := r.attach(t)
			require.NoError(t, c.record(t.Context(), r.meter))
			rm := r.collect(t)
			got := one(t, tr)
			begin, at := pointTimes(t, rm.ScopeMetrics[0].Metrics[0].Data)
			want := with(common("n", "u", c.event, at), c.want)
			want["start_time_unix_nano"] = nanos(begin)
			assert.Equal(t, want, got)
			assert.Equal(t, uint64(1), r.Stats()["app_metric_"+c.event].Written)
		})
	}
}

// pointTimes returns the times of the first point.
func pointTimes(t *testing.T, a metricdata.Aggregation) (begin, at time.Time) {
	t.Helper()
	switch a := a.(type) {
	case metricdata.Sum[int64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	case metricdata.Sum[float64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	case metricdata.Gauge[int64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	case metricdata.Gauge[float64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	case metricdata.Histogram[int64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	case metricdata.Histogram[float64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	case metricdata.ExponentialHistogram[int64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	case metricdata.ExponentialHistogram[float64]:
		return a.DataPoints[0].StartTime, a.DataPoints[0].Time
	}
	require.Fail(t, "unexpected aggregation", "%T", a)
	return begin, at
}

func exponential(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	if k == sdkmetric.InstrumentKindHistogram {
		return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
	}
	return sdkmetric.DefaultAggregationSelector(k)
}

func bucketText(b metricdata.ExponentialBucket) (s string) {
	for i, c := range b.Counts {
		if i == 0 {
			s = fmt.Sprintf("%d:%d", b.Offset, c)
		} else {
			s += fmt.Sprintf(",%d", c)
		}
	}
	return s
}

// TestExponentialHistogram compares with what the SDK aggregated.
func TestExponentialHistogram(t *testing.T) {
	r := newRig(t, ueventsmetric.WithAggregationSelector(exponential))
	tr := r.attach(t)
	i, err := r.meter.Float64Histogram("n", metric.WithUnit("u"))
	require.NoError(t, err)
	for _, v := range []float64{0, 0, 1, 1.5, 2, 1000, -3, -3.5} {
		i.Record(t.Context(), v, metric.WithAttributeSet(attrs))
	}
	rm := r.collect(t)
	p := first[metricdata.ExponentialHistogram[float64]](t, rm).DataPoints[0]
	require.NotEmpty(t, p.NegativeBucket.Counts)
	want := with(common("n", "u", "exp_histogram", p.Time), map[string]string{
		"start_time_unix_nano": nanos(p.StartTime), "temporality": "delta",
		"count": "8", "sum": "998", "sum_micro": "998000000", "min": "-3.5", "max": "1000", "max_micro": "1000000000",
		"scale": strconv.Itoa(int(p.Scale)), "zero_count": "2",
		"positive": bucketText(p.PositiveBucket), "negative": bucketText(p.NegativeBucket),
		"attributes": `{"route":"/users","status":200,"otel.scope.version":"v1.2.3"}`,
	})
	delete(want, "scope_version")
	assert.Equal(t, want, one(t, tr))

	// Integers, and no negative values.
	n, err := r.meter.Int64Histogram("n", metric.WithUnit("u"))
	require.NoError(t, err)
	n.Record(t.Context(), 42)
	r.collect(t)
	got := one(t, tr)
	assert.Equal(t, "42", got["sum"])
	assert.Empty(t, got["negative"])
	assert.Equal(t, `{"otel.scope.version":"v1.2.3"}`, got["attributes"])

	// The SDK has no other threshold than 0; bridges have.
	require.NoError(t, r.Export(t.Context(), data(metricdata.ExponentialHistogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
		Count: 1, ZeroCount: 1, ZeroThreshold: 0.25,
	}}})))
	assert.JSONEq(t, `{"user_events.zero_threshold":0.25}`, one(t, tr)["attributes"])
}

// TestSummary: summaries come from bridges only.
func TestSummary(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	require.NoError(t, r.Export(t.Context(), data(metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
		Attributes: attrs, StartTime: start, Time: end, Count: 5, Sum: 1.25,
		QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: 0.1}, {Quantile: 0.99, Value: 12}},
	}}})))
	assert.Equal(t, map[string]string{
		"": "app_metric_summary", "name": "m", "unit": "1", "scope_name": "", "scope_version": "", "service_name": "shop",
		"attributes": `{"route":"/users","status":200}`, "truncated": "0",
		"time_unix_nano": nanos(end), "start_time_unix_nano": nanos(start),
		"count": "5", "sum": "1.25", "sum_micro": "1250000", "quantiles": "0.5=0.1,0.99=12",
	}, one(t, tr))
}

// TestExemplars: they have an event of their own, which can be traced alone.
func TestExemplars(t *testing.T) {
	view := sdkmetric.NewView(sdkmetric.Instrument{Name: "n"}, sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter("route")})
	r := newRigWith(t, view)
	tr := r.attach(t, "exemplar")
	i, err := r.meter.Float64Histogram("n", metric.WithUnit("s"))
	require.NoError(t, err)
	i.Record(inSpan(t.Context()), 0.25, metric.WithAttributes(attribute.String("route", "/users"), attribute.String("user", "alice")))
	i.Record(t.Context(), 7)
	rm := r.collect(t)
	h := first[metricdata.Histogram[float64]](t, rm)
	var x metricdata.Exemplar[float64]
	for _, p := range h.DataPoints {
		if len(p.Exemplars) > 0 {
			x = p.Exemplars[0]
		}
	}
	assert.Equal(t, map[string]string{
		"": "app_metric_exemplar", "name": "n", "unit": "s", "scope_name": "my/package", "scope_version": "v1.2.3", "service_name": "shop",
		"attributes": `{"route":"/users"}`, "filtered_attributes": `{"user":"alice"}`, "truncated": "0",
		"time_unix_nano": nanos(x.Time), "trace_id": traceID.String(), "span_id": spanID.String(),
		"value": "0.25", "value_int": "0", "value_micro": "250000",
	}, one(t, tr))
	assert.Zero(t, r.Stats()["app_metric_histogram"].Written)

	// One without a trace, of a kind of data without one either.
	require.NoError(t, r.Export(t.Context(), data(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{
		Exemplars: []metricdata.Exemplar[int64]{{Time: end, Value: -1, TraceID: []byte{1}}},
	}}})))
	got := one(t, tr)
	assert.Empty(t, got["trace_id"])
	assert.Empty(t, got["filtered_attributes"])
	assert.Equal(t, "-1", got["value_int"])
}

// TestUnset: what the data does not say stays empty.
func TestUnset(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	require.NoError(t, r.Export(t.Context(), &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Data: metricdata.Histogram[int64]{DataPoints: []metricdata.HistogramDataPoint[int64]{{Count: 2}}}},
	}}}}))
	assert.Equal(t, map[string]string{
		"": "app_metric_cumulative_histogram", "name": "", "unit": "", "scope_name": "", "service_name": "", "attributes": "{}",
		"truncated": "0", "time_unix_nano": "0", "start_time_unix_nano": "0", "temporality": "", "count": "2", "sum": "0", "sum_micro": "0",
		"min": "", "max": "", "max_micro": "0", "explicit_bounds": "", "bucket_counts": "",
	}, one(t, tr))
}

// TestNumbers: texts are exact and fill their field at most; integers stop at the ends of their
// range.
func TestNumbers(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	const lowest, highest = "-9223372036854775808", "9223372036854775807"
	for _, c := range []struct {
		v                 float64
		text, whole, tiny string
	}{
		{0.5, "0.5", "1", "500000"},
		{-2.5, "-2.5", "-3", "-2500000"},
		{1e9, "1000000000", "1000000000", "1000000000000000"},
		{-0.0000012345678901234567, "-0.0000012345678901234567", "0", "-1"},
		{-math.MaxFloat64, "-1.7976931348623157e+308", lowest, lowest},
		{-math.SmallestNonzeroFloat64, "-5e-324", "0", "0"},
		{-999999999999999868928, "-999999999999999900000", lowest, lowest},
		{math.NaN(), "NaN", lowest, lowest},
		{math.Inf(1), "Infinity", highest, highest},
		{math.Inf(-1), "-Infinity", lowest, lowest},
	} {
		require.NoError(t, r.Export(t.Context(), data(metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{{Value: c.v}}})))
		got := one(t, tr)
		assert.Equal(t, c.text, got["value"])
		assert.Equal(t, c.whole, got["value_int"], c.v)
		assert.Equal(t, c.tiny, got["value_micro"], c.v)
		back, err := strconv.ParseFloat(got["value"], 64)
		require.NoError(t, err)
		assert.True(t, back == c.v || math.IsNaN(c.v), "%v", back)
	}
	for v, tiny := range map[int64]string{math.MaxInt64: highest, math.MinInt64: lowest, -9223372036854: "-9223372036854000000", 9223372036855: highest} {
		require.NoError(t, r.Export(t.Context(), data(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: v}}})))
		got := one(t, tr)
		assert.Equal(t, strconv.FormatInt(v, 10), got["value"])
		assert.Equal(t, strconv.FormatInt(v, 10), got["value_int"])
		assert.Equal(t, tiny, got["value_micro"])
	}
}

// TestAttributes: every kind of value, and what the scope has.
func TestAttributes(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	set := attribute.NewSet(
		attribute.Bool("b", true), attribute.Int64("i", -1), attribute.Float64("f", 0.5), attribute.String("s", "x\ny"),
		attribute.BoolSlice("bs", []bool{true, false}), attribute.Int64Slice("is", []int64{1, 2}),
		attribute.Float64Slice("fs", []float64{0.5}), attribute.StringSlice("ss", []string{"a", "b"}),
		attribute.ByteSlice("by", []byte("hi")), attribute.KeyValue{Key: "e"},
		attribute.Slice("l", attribute.IntValue(1), attribute.StringValue("two")),
		attribute.Map("m", attribute.Int("k", 1), attribute.Map("n", attribute.Bool("z", false))),
	)
	rm := data(metricdata.Sum[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: set}}})
	rm.ScopeMetrics[0].Scope.SchemaURL = "https://example.com/1"
	rm.ScopeMetrics[0].Scope.Attributes = attribute.NewSet(attribute.String("team", "a"))
	require.NoError(t, r.Export(t.Context(), rm))
	assert.JSONEq(t, `{"b":true,"i":-1,"f":0.5,"s":"x\ny","bs":[true,false],"is":[1,2],"fs":[0.5],"ss":["a","b"],"by":"aGk=","e":null,
		"l":[1,"two"],"m":{"k":1,"n":{"z":false}},"otel.scope.schema_url":"https://example.com/1","user_events.scope.attributes":{"team":"a"}}`, one(t, tr)["attributes"])
}

// TestAttributesNamedAsFields: an attribute whose key is one that points write themselves is there once.
func TestAttributesNamedAsFields(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t, "exp_histogram")
	forged := attribute.NewSet(attribute.String("user_events.zero_threshold", "forged"), attribute.String("otel.scope.version", "forged"))
	rm := data(metricdata.ExponentialHistogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{Attributes: forged, ZeroThreshold: 0.5}}})
	rm.ScopeMetrics[0].Scope.Version = "v1.2.3"
	require.NoError(t, r.Export(t.Context(), rm))
	assert.Equal(t, `{"user_events.zero_threshold":0.5,"otel.scope.version":"v1.2.3"}`, one(t, tr)["attributes"])

	rm = data(metricdata.ExponentialHistogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{Attributes: forged}}})
	require.NoError(t, r.Export(t.Context(), rm))
	assert.JSONEq(t, `{"user_events.zero_threshold":"forged","otel.scope.version":"forged"}`, one(t, tr)["attributes"], "a point without these")
}
