package otlpmetrics

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestEvent: name, fields and bytes are those that exporters for other languages write.
func TestEvent(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	require.Len(t, r.kernel.Events(), 1)
	assert.Equal(t, "otlp_metrics u32 protocol; char[8] version; __rel_loc u8[] buffer", r.kernel.Events()[0].Declaration.String())
	require.NoError(t, r.Export(t.Context(), series(1)))
	payload := tr.Records()[0].Payload
	assert.Equal(t, []byte{0, 0, 0, 0, 'v', '0', '.', '1', '9', '.', '0', '0'}, payload[:12])
	assert.Equal(t, uint32(len(payload)-16)<<16, binary.NativeEndian.Uint32(payload[12:]), "a length, and the offset 0")
	want, err := proto.Marshal(&collectorpb.ExportMetricsServiceRequest{ResourceMetrics: []*metricspb.ResourceMetrics{witness(t, series(1))}})
	require.NoError(t, err)
	got := new(requestOf)
	require.NoError(t, proto.Unmarshal(payload[16:], got))
	assert.Len(t, payload[16:], len(want))
}

// TestEverything: all aggregations are as OpenTelemetry's own exporter sends them.
func TestEverything(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	rm := every()
	require.NoError(t, r.Export(t.Context(), rm))
	list := requests(t, tr)
	require.Len(t, list, 1, "in one event")
	assertEqual(t, witness(t, rm), list[0].GetResourceMetrics()[0])
	metricdatatest.AssertEqual(t, *every(), *rm, metricdatatest.IgnoreTimestamp())
	assert.Equal(t, uevents.EventStats{Written: 10}, r.stats())
}

// TestCollected: events say the same of what the SDK collected as OpenTelemetry's own exporter.
func TestCollected(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	rm, err := testmetrics.Collected(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Export(t.Context(), rm))
	assertEqual(t, witness(t, rm), merge(t, requests(t, tr)))
}

// TestRandom: whatever data is, events say the same as OpenTelemetry's own exporter.
func TestRandom(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(testscale.Count(2000, 60)) {
		rm := testmetrics.Random(rand.New(rand.NewPCG(seed, 0)))
		want := witness(t, rm)
		n := 0
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				kinds[fmt.Sprintf("%T", m.Data)]++
			}
		}
		for _, sm := range want.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				n += points(m)
			}
		}
		r := newRig(t)
		tr := r.attach(t)
		require.NoError(t, r.Export(t.Context(), rm))
		require.Equal(t, uevents.EventStats{Written: uint64(n)}, r.stats(), "seed %d", seed)
		if n > 0 {
			require.True(t, proto.Equal(want, merge(t, requests(t, tr))), "seed %d", seed)
		}
	}
	assert.Len(t, kinds, testmetrics.Kinds)
}

// TestInvalid: what OTLP cannot say is reported, and the rest is written.
func TestInvalid(t *testing.T) {
	for want, bad := range map[string]metricdata.Aggregation{
		`2 points were not written: metric "bad": unknown temporality 0`:     metricdata.Sum[int64]{DataPoints: make([]metricdata.DataPoint[int64], 2)},
		`1 points were not written: metric "bad": unknown aggregation <nil>`: nil,
	} {
		r := newRig(t)
		tr := r.attach(t)
		rm := series(2)
		ms := &rm.ScopeMetrics[0].Metrics
		*ms = append(*ms, metricdata.Metrics{Name: "bad", Data: bad}, metricdata.Metrics{Name: "empty", Data: metricdata.Sum[int64]{}}, metricdata.Metrics{Name: "after", Data: (*ms)[0].Data})
		require.EqualError(t, r.Export(t.Context(), rm), "ueventsmetric/otlp: "+want)
		stats := r.stats()
		assert.Equal(t, uint64(4), stats.Written)
		assert.NotZero(t, stats.Refused)
		var names []string
		for _, m := range merge(t, requests(t, tr)).GetScopeMetrics()[0].GetMetrics() {
			names = append(names, m.GetName())
		}
		assert.Equal(t, []string{"http.server.requests", "after"}, names)
		require.NoError(t, r.Export(t.Context(), rm), "an error is reported once in a while")
		assert.Equal(t, 2*stats.Refused, r.stats().Refused, "and counted each time")
	}
}

// TestNotUTF8: a decoder refuses a request with a text that is not UTF-8, and all points in it. Values become bytes, as
// OpenTelemetry maps them; other texts have no such form.
func TestNotUTF8(t *testing.T) {
	const bad, fixed = "a\xff\xfeb", "a\ufffdb"
	r := newRig(t)
	tr := r.attach(t)
	set := attribute.NewSet(attribute.String(bad, bad), attribute.StringSlice("list", []string{bad, "ok"}))
	rm := one(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: set}}})
	rm.Resource = resource.NewWithAttributes(bad, attribute.String("k", bad))
	rm.ScopeMetrics[0].Scope = instrumentation.Scope{Name: bad, Version: bad, SchemaURL: bad, Attributes: set}
	m := &rm.ScopeMetrics[0].Metrics[0]
	m.Name, m.Description, m.Unit = bad, bad, bad
	require.NoError(t, r.Export(t.Context(), rm))
	got := requests(t, tr)[0].GetResourceMetrics()[0]
	assert.Equal(t, []byte(bad), got.GetResource().GetAttributes()[0].GetValue().GetBytesValue())
	assert.Equal(t, fixed, got.GetSchemaUrl())
	sm := got.GetScopeMetrics()[0]
	assert.Equal(t, []string{fixed, fixed, fixed}, []string{sm.GetScope().GetName(), sm.GetScope().GetVersion(), sm.GetSchemaUrl()})
	metric := sm.GetMetrics()[0]
	assert.Equal(t, []string{fixed, fixed, fixed}, []string{metric.GetName(), metric.GetDescription(), metric.GetUnit()})
	for _, attrs := range [][]*commonpb.KeyValue{sm.GetScope().GetAttributes(), metric.GetGauge().GetDataPoints()[0].GetAttributes()} {
		require.Len(t, attrs, 2)
		assert.Equal(t, fixed, attrs[0].GetKey())
		assert.Equal(t, []byte(bad), attrs[0].GetValue().GetBytesValue())
		list := attrs[1].GetValue().GetArrayValue().GetValues()
		assert.Equal(t, []byte(bad), list[0].GetBytesValue())
		assert.Equal(t, "ok", list[1].GetStringValue())
	}
}

// TestTimes: times before 1970 are left out, and those after July 2554 have the largest number, in points of all kinds and
// in exemplars.
func TestTimes(t *testing.T) {
	for at, want := range map[time.Time]uint64{
		time.Unix(-1, 0): 0,
		{}:               0,
		time.Unix(0, 1):  1,
		time.Date(2262, 4, 12, 0, 0, 0, 5, time.UTC):         9223372800000000005, // above what time.Time.UnixNano returns
		time.Date(2554, 7, 21, 0, 0, 0, 0, time.UTC):         18446659200000000000,
		time.Date(2554, 7, 23, 0, 0, 0, 0, time.UTC):         math.MaxUint64,
		time.Date(math.MaxInt32, 1, 1, 0, 0, 0, 0, time.UTC): math.MaxUint64,
	} {
		r := newRig(t)
		tr := r.attach(t)
		rm := series(0)
		rm.ScopeMetrics[0].Metrics = nil
		for _, data := range []metricdata.Aggregation{
			metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{StartTime: at, Time: at, Exemplars: []metricdata.Exemplar[int64]{{Time: at}}}}},
			metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{{StartTime: at, Time: at}}},
			metricdata.ExponentialHistogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{StartTime: at, Time: at}}},
			metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{StartTime: at, Time: at}}},
		} {
			rm.ScopeMetrics[0].Metrics = append(rm.ScopeMetrics[0].Metrics, metricdata.Metrics{Name: "m", Data: data})
		}
		require.NoError(t, r.Export(t.Context(), rm))
		metrics := requests(t, tr)[0].GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()
		require.Len(t, metrics, 4)
		gauge, histogram := metrics[0].GetGauge().GetDataPoints()[0], metrics[1].GetHistogram().GetDataPoints()[0]
		exponential, summary := metrics[2].GetExponentialHistogram().GetDataPoints()[0], metrics[3].GetSummary().GetDataPoints()[0]
		for _, p := range []interface {
			GetStartTimeUnixNano() uint64
			GetTimeUnixNano() uint64
		}{gauge, histogram, exponential, summary} {
			assert.Equal(t, want, p.GetStartTimeUnixNano(), "%T at %v", p, at)
			assert.Equal(t, want, p.GetTimeUnixNano(), "%T at %v", p, at)
		}
		assert.Equal(t, want, gauge.GetExemplars()[0].GetTimeUnixNano(), at)
	}
}

// TestIDs: a decoder refuses a request with an id of a wrong length, and all points in it.
func TestIDs(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	require.NoError(t, r.Export(t.Context(), one(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Exemplars: []metricdata.Exemplar[int64]{
		{Value: 1, TraceID: make([]byte, 15), SpanID: make([]byte, 8)}, {Value: 2, TraceID: make([]byte, 16), SpanID: make([]byte, 9)},
	}}}})))
	list := requests(t, tr)[0].GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0].GetGauge().GetDataPoints()[0].GetExemplars()
	require.Len(t, list, 2)
	for i, want := range [][2]int{{0, 8}, {16, 0}} {
		assert.Len(t, list[i].GetTraceId(), want[0])
		assert.Len(t, list[i].GetSpanId(), want[1])
	}
}
