package ueventsmetric_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// parse returns what a record says.
func parse(t testing.TB, decoder *typed.Decoder, payload []byte) fields {
	t.Helper()
	logged, err := decoder.Decode(payload)
	require.NoError(t, err)
	f := fields{"": logged.Event()}
	for name, v := range logged.All() {
		s := v.String()
		f[name] = text.Unescape(s)
		if strings.HasSuffix(name, "attributes") && s != "" {
			var object map[string]any
			d := json.NewDecoder(bytes.NewReader([]byte(s)))
			d.UseNumber()
			require.NoError(t, d.Decode(&object), s)
			f[name] = normal(object)
		}
	}
	return f
}

func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			v[key] = normal(e)
		}
	case []any:
		for i, e := range v {
			v[i] = normal(e)
		}
	case json.Number:
		return numberOf(v)
	}
	return v
}

// TestCollected: events say what the SDK collected, all of it.
func TestCollected(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	rm, err := testmetrics.Collected(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Export(t.Context(), rm))
	var got []fields
	events := map[any]bool{}
	for _, raw := range tr.Records() {
		decoder, err := typed.NewDecoder(raw.Declaration, nil)
		require.NoError(t, err)
		got = append(got, parse(t, decoder, raw.Payload))
		events[raw.Event] = true
	}
	assert.Equal(t, records("app", rm), got)
	assert.Len(t, events, 6, "all but summaries, which bridges make, and cumulative ones")
}

// eachRandom calls check for each record of random metric data, with the fields that it should have.
func eachRandom(t *testing.T, check func(seed uint64, r *rig, raw ueventstest.Record, want fields)) {
	for seed := range uint64(testscale.Count(1000, 30)) {
		rm := testmetrics.Random(rand.New(rand.NewPCG(seed, 0)))
		r := newRig(t)
		tr := r.attach(t)
		require.NoError(t, r.Export(t.Context(), rm))
		want := records("app", rm)
		got := tr.Records()
		require.Len(t, got, len(want), "seed %d", seed)
		for i, raw := range got {
			check(seed, r, raw, want[i])
		}
	}
}

// TestRandom: whatever metric data is, events say what is in it.
func TestRandom(t *testing.T) {
	events := map[any]bool{}
	eachRandom(t, func(seed uint64, _ *rig, raw ueventstest.Record, want fields) {
		decoder, err := typed.NewDecoder(raw.Declaration, nil)
		require.NoError(t, err)
		require.Equal(t, want, parse(t, decoder, raw.Payload), "seed %d", seed)
		events[want[""]] = true
	})
	assert.Len(t, events, len(kinds))
}

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

// TestReader: package reader reads back whatever metric data is written.
func TestReader(t *testing.T) {
	points := map[record.PointType]bool{}
	var ev record.Record
	eachRandom(t, func(seed uint64, r *rig, raw ueventstest.Record, want fields) {
		r.decode(t, raw, &ev)
		points[ev.Point.Type] = true
		for _, name := range []string{"value_int", "value_micro", "sum_micro", "max_micro"} { // for the kernel
			delete(want, name)
		}
		require.Equal(t, want, said(&ev), "seed %d", seed)
	})
	assert.Len(t, points, 6)
}

// decode decodes a record as perf hands it out: behind common fields.
func (r *rig) decode(t testing.TB, rec ueventstest.Record, ev *record.Record) {
	t.Helper()
	text, err := r.kernel.Format(rec.Event)
	require.NoError(t, err)
	f, err := tracepoint.ParseFormat(text)
	require.NoError(t, err)
	d, err := record.NewDecoder(tracepoint.System, f)
	require.NoError(t, err)
	require.NoError(t, d.Decode(append(make([]byte, tracepoint.CommonSize), rec.Payload...), ev))
	require.Equal(t, record.KindMetric, ev.Kind)
}

// said returns an event in the form of records.
func said(ev *record.Record) fields {
	p := ev.Point
	attributes := objectOf(ev.Fields())
	if ev.ScopeSchemaURL != "" {
		attributes["otel.scope.schema_url"] = ev.ScopeSchemaURL
	}
	if len(ev.ScopeAttributes) > 0 {
		attributes["user_events.scope.attributes"] = objectOf(ev.ScopeAttributes)
	}
	f := fields{
		"": ev.Name, "name": ev.Message, "unit": p.Unit, "scope_name": ev.ScopeName, "service_name": ev.ServiceName,
		"attributes": attributes, "truncated": strconv.Itoa(ev.Truncated), "time_unix_nano": nano(ev.Timestamp),
	}
	if _, event, _ := strings.Cut(ev.Name, "_metric_"); !withoutVersion[event] {
		f["scope_version"] = ev.ScopeVersion
	} else if ev.ScopeVersion != "" {
		attributes["otel.scope.version"] = ev.ScopeVersion
	}
	if p.Type != record.PointExemplar {
		f["start_time_unix_nano"] = nano(p.StartTime)
	}
	if slices.Contains([]record.PointType{record.PointSum, record.PointHistogram, record.PointExponentialHistogram}, p.Type) {
		f["temporality"] = temporality(map[record.Temporality]metricdata.Temporality{
			record.TemporalityDelta: metricdata.DeltaTemporality, record.TemporalityCumulative: metricdata.CumulativeTemporality,
		}[p.Temporality])
	}
	switch p.Type {
	case record.PointSum:
		f["monotonic"] = map[bool]string{false: "0", true: "1"}[p.Monotonic]
		f["value"] = numberOfValue(p.Value)
	case record.PointGauge:
		f["value"] = numberOfValue(p.Value)
	case record.PointExemplar:
		f["value"], f["trace_id"], f["span_id"], f["filtered_attributes"] = numberOfValue(p.Value), "", "", ""
		if ev.TraceID != [16]byte{} {
			f["trace_id"], f["span_id"] = hex.EncodeToString(ev.TraceID[:]), hex.EncodeToString(ev.SpanID[:])
		}
		if len(p.FilteredAttributes) > 0 {
			f["filtered_attributes"] = objectOf(p.FilteredAttributes)
		}
	case record.PointHistogram:
		f["explicit_bounds"], f["bucket_counts"] = join(p.Bounds, float), join(p.BucketCounts, unsigned)
	case record.PointExponentialHistogram:
		f["scale"], f["zero_count"] = strconv.Itoa(int(p.Scale)), unsigned(p.ZeroCount)
		f["positive"] = bucketText(metricdata.ExponentialBucket{Offset: p.Positive.Offset, Counts: p.Positive.Counts})
		f["negative"] = bucketText(metricdata.ExponentialBucket{Offset: p.Negative.Offset, Counts: p.Negative.Counts})
		if p.ZeroThreshold != 0 {
			attributes["user_events.zero_threshold"] = normal(json.Number(float(p.ZeroThreshold)))
			if text := float(p.ZeroThreshold); text == "NaN" || text == "Infinity" {
				attributes["user_events.zero_threshold"] = text
			}
		}
	default:
		f["quantiles"] = join(p.Quantiles, func(q record.Quantile) string { return float(q.Quantile) + "=" + float(q.Value) })
	}
	if p.Type == record.PointHistogram || p.Type == record.PointExponentialHistogram {
		f["min"], f["max"] = numberOfValue(p.Min), numberOfValue(p.Max)
	}
	if p.Type >= record.PointHistogram && p.Type <= record.PointSummary {
		f["count"], f["sum"] = unsigned(p.Count), numberOfValue(p.Sum)
	}
	return f
}

// numberOfValue returns the text of a number in a record, or nothing.
func numberOfValue(v record.Value) string {
	switch v.Type() {
	case record.TypeInt64, record.TypeUint64:
		return v.String()
	case record.TypeFloat64:
		return float(v.Float64())
	default:
		return ""
	}
}

// objectOf returns fields as an object of JSON is decoded.
func objectOf(list []record.Field) map[string]any {
	m := map[string]any{}
	for _, f := range list {
		m[f.Name] = plain(f.Value)
	}
	return m
}

func plain(v record.Value) any {
	switch v.Type() {
	case record.TypeString:
		return v.Text()
	case record.TypeBool:
		return v.Bool()
	case record.TypeNull:
		return nil
	case record.TypeMap:
		return objectOf(v.Fields())
	case record.TypeList:
		list := []any{}
		for _, f := range v.Fields() {
			list = append(list, plain(f.Value))
		}
		return list
	default:
		return numberOf(json.Number(v.String()))
	}
}
