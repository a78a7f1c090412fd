package ueventsmetric_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
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
)

// parse returns what a record says.
func parse(t testing.TB, decoder *typed.Decoder, payload []byte) fields {
	t.Helper()
	record, err := decoder.Decode(payload)
	require.NoError(t, err)
	f := fields{"": record.Event()}
	for name, v := range record.All() {
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

// TestRandom: whatever metric data is, events say what is in it.
func TestRandom(t *testing.T) {
	events := map[any]bool{}
	for seed := range uint64(testscale.Count(1000, 30)) {
		rm := testmetrics.Random(rand.New(rand.NewPCG(seed, 0)))
		r := newRig(t)
		tr := r.attach(t)
		require.NoError(t, r.Export(t.Context(), rm))
		want := records("app", rm)
		got := tr.Records()
		require.Len(t, got, len(want), "seed %d", seed)
		for i, raw := range got {
			decoder, err := typed.NewDecoder(raw.Declaration, nil)
			require.NoError(t, err)
			require.Equal(t, want[i], parse(t, decoder, raw.Payload), "seed %d", seed)
			events[want[i][""]] = true
		}
	}
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
