package otlpmetrics

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var (
	res   = resource.NewWithAttributes("https://example.com/schema", attribute.String("service.name", "shop"), attribute.String("host.name", "node1"))
	start = time.Date(2026, 11, 21, 10, 20, 30, 123456789, time.UTC)
	end   = start.Add(time.Minute)
	attrs = attribute.NewSet(attribute.String("route", "/users"), attribute.Int("status", 200))
)

// rig is an exporter on a kernel in memory.
type rig struct {
	*otlp.Exporter
	kernel   *ueventstest.Kernel
	borrowed *uevents.Provider
}

func newRig(t testing.TB, opts ...ueventsmetric.Option) *rig {
	t.Helper()
	r := &rig{kernel: ueventstest.New(t, nil)}
	r.borrowed = r.kernel.Provider()
	t.Cleanup(func() { require.NoError(t, r.borrowed.Close()) })
	var err error
	r.Exporter, err = otlp.NewExporter(append([]ueventsmetric.Option{ueventsmetric.WithProvider(r.borrowed)}, opts...)...)
	require.NoError(t, err)
	return r
}

// stats returns the counts of points.
func (r *rig) stats() uevents.EventStats { return r.Stats()[otlp.EventName] }

func (r *rig) attach(t testing.TB) *ueventstest.Tool {
	t.Helper()
	tr := recordtest.Attach(t, r.kernel, ueventstest.Ftrace, otlp.EventName)
	return tr
}

// requests decodes the records of a tracing tool, and checks what all events have in common.
func requests(t testing.TB, tr *ueventstest.Tool) (list []*collectorpb.ExportMetricsServiceRequest) {
	t.Helper()
	for _, r := range tr.Records() {
		list = append(list, request(t, r))
	}
	require.Zero(t, tr.Oversized())
	require.Zero(t, tr.Lost())
	return list
}

func request(t testing.TB, r ueventstest.Record) *collectorpb.ExportMetricsServiceRequest {
	t.Helper()
	record := recordtest.Decode(t, r.Declaration, r.Payload)
	protocol, _ := record.Lookup("protocol")
	version, _ := record.Lookup("version")
	buffer, _ := record.Lookup("buffer")
	assert.Zero(t, protocol.Uint64())
	assert.Equal(t, "v0.19.00", version.Text())
	assert.Less(t, len(r.Payload)-16-buffer.Len(), 8, "the kernel pads records")
	req := new(collectorpb.ExportMetricsServiceRequest)
	require.NoError(t, proto.Unmarshal(buffer.Bytes(), req))
	require.Equal(t, proto.Size(req), buffer.Len(), "no length takes more bytes than it needs")
	return req
}

// merge puts requests together again: scopes and metrics that were split become one.
func merge(t testing.TB, list []*collectorpb.ExportMetricsServiceRequest) *metricspb.ResourceMetrics {
	t.Helper()
	var out *metricspb.ResourceMetrics
	for _, r := range list {
		require.Len(t, r.GetResourceMetrics(), 1)
		rm := r.GetResourceMetrics()[0]
		if out == nil {
			out = &metricspb.ResourceMetrics{Resource: rm.GetResource(), SchemaUrl: rm.GetSchemaUrl()}
		}
		require.True(t, proto.Equal(out.GetResource(), rm.GetResource()), "every event has the resource")
		for i, sm := range rm.GetScopeMetrics() {
			last := len(out.ScopeMetrics) - 1
			if i > 0 || last < 0 || !proto.Equal(out.ScopeMetrics[last].GetScope(), sm.GetScope()) {
				out.ScopeMetrics = append(out.ScopeMetrics, sm)
				continue
			}
			for j, m := range sm.GetMetrics() {
				to := out.ScopeMetrics[last]
				if before := to.Metrics[len(to.Metrics)-1]; j == 0 && before.GetName() == m.GetName() {
					before.Description = m.GetDescription() // merged, it would be twice as long
					b, err := proto.Marshal(m)
					require.NoError(t, err)
					require.NoError(t, proto.UnmarshalOptions{Merge: true}.Unmarshal(b, before)) // proto.Merge loses -0
				} else {
					to.Metrics = append(to.Metrics, m)
				}
			}
		}
	}
	return out
}

// witness returns what OpenTelemetry's own exporter sends to a collector, without what has no points.
func witness(t testing.TB, rm *metricdata.ResourceMetrics) *metricspb.ResourceMetrics {
	t.Helper()
	req := new(collectorpb.ExportMetricsServiceRequest)
	e, err := otlpmetrichttp.New(context.Background(), otlpmetrichttp.WithHTTPClient(&http.Client{Transport: collector(func(body []byte) {
		require.NoError(t, proto.Unmarshal(body, req))
	})}))
	require.NoError(t, err)
	require.NoError(t, e.Export(context.Background(), rm))
	require.NoError(t, e.Shutdown(context.Background()))
	require.Len(t, req.GetResourceMetrics(), 1)
	out := req.GetResourceMetrics()[0]
	for _, sm := range out.GetScopeMetrics() {
		sm.Metrics = slices.DeleteFunc(sm.Metrics, func(m *metricspb.Metric) bool { return points(m) == 0 })
	}
	out.ScopeMetrics = slices.DeleteFunc(out.ScopeMetrics, func(sm *metricspb.ScopeMetrics) bool { return len(sm.GetMetrics()) == 0 })
	return out
}

// collector is a transport to a collector, which takes the bodies of requests.
type collector func(body []byte)

func (c collector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c(body)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// points returns how many points a metric has.
func points(m *metricspb.Metric) int {
	return len(m.GetGauge().GetDataPoints()) + len(m.GetSum().GetDataPoints()) + len(m.GetHistogram().GetDataPoints()) +
		len(m.GetExponentialHistogram().GetDataPoints()) + len(m.GetSummary().GetDataPoints())
}

func assertEqual(t testing.TB, want, got proto.Message) {
	t.Helper()
	if !proto.Equal(want, got) {
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
		assert.Fail(t, "not equal")
	}
}

// every returns data with all aggregations, of both kinds of numbers, in two scopes.
func every() *metricdata.ResourceMetrics {
	exemplars := []metricdata.Exemplar[int64]{{
		FilteredAttributes: []attribute.KeyValue{attribute.String("user", "alice")}, Time: end, Value: 3,
		TraceID: make([]byte, 16), SpanID: make([]byte, 8),
	}}
	bucket := metricdata.ExponentialBucket{Offset: -3, Counts: []uint64{1, 0, 1 << 40}}
	rm := &metricdata.ResourceMetrics{Resource: res}
	rm.ScopeMetrics = make([]metricdata.ScopeMetrics, 2)
	rm.ScopeMetrics[0].Scope.Name, rm.ScopeMetrics[0].Scope.Version = "a", "v1"
	rm.ScopeMetrics[1].Scope.Name, rm.ScopeMetrics[1].Scope.SchemaURL = "b", "https://example.com/b"
	rm.ScopeMetrics[1].Scope.Attributes = attribute.NewSet(attribute.Bool("beta", true))
	const delta, cumulative = metricdata.DeltaTemporality, metricdata.CumulativeTemporality
	for i, list := range [][]metricdata.Aggregation{
		{
			metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attrs, Time: end, Value: -1, Exemplars: exemplars}, {}}},
			metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{{Attributes: attrs, StartTime: start, Time: end, Value: 0.25}}},
			metricdata.Sum[int64]{Temporality: delta, IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{{Attributes: attrs, Value: 1}}},
			metricdata.Sum[float64]{Temporality: cumulative, DataPoints: []metricdata.DataPoint[float64]{{Value: 1e300}}},
			metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
				Attributes: attrs, Count: 2, Sum: 3, QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: 1}},
			}}},
		},
		{
			metricdata.Histogram[int64]{Temporality: delta, DataPoints: []metricdata.HistogramDataPoint[int64]{{
				Attributes: attrs, StartTime: start, Time: end, Count: 3, Sum: 6, Min: metricdata.NewExtrema[int64](1), Max: metricdata.NewExtrema[int64](3),
				Bounds: []float64{1, 2}, BucketCounts: []uint64{1, 1, 1}, Exemplars: exemplars,
			}}},
			metricdata.Histogram[float64]{Temporality: cumulative, DataPoints: []metricdata.HistogramDataPoint[float64]{{Count: 1}}},
			metricdata.ExponentialHistogram[int64]{Temporality: delta, DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{
				Attributes: attrs, Count: 9, Sum: 7, Scale: -2, ZeroCount: 1, ZeroThreshold: 0.5, PositiveBucket: bucket, NegativeBucket: bucket, Exemplars: exemplars,
			}}},
			metricdata.ExponentialHistogram[float64]{Temporality: cumulative, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{Count: 1}}},
		},
	} {
		for j, a := range list {
			rm.ScopeMetrics[i].Metrics = append(rm.ScopeMetrics[i].Metrics, metricdata.Metrics{
				Name: fmt.Sprintf("m%d", j), Description: "what it means", Unit: "By", Data: a,
			})
		}
	}
	return rm
}

// series returns one metric with n series.
func series(n int) *metricdata.ResourceMetrics {
	s := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	for i := range n {
		s.DataPoints = append(s.DataPoints, metricdata.DataPoint[int64]{
			Attributes: attribute.NewSet(
				attribute.String("http.request.method", "GET"), attribute.String("http.route", fmt.Sprintf("/api/v1/items/%d", i)),
				attribute.Int("http.response.status_code", 200),
			),
			StartTime: start, Time: end, Value: int64(i),
		})
	}
	rm := &metricdata.ResourceMetrics{Resource: res, ScopeMetrics: make([]metricdata.ScopeMetrics, 1)}
	rm.ScopeMetrics[0].Scope.Name = "my/package"
	rm.ScopeMetrics[0].Metrics = []metricdata.Metrics{{Name: "http.server.requests", Description: "Number of requests.", Unit: "{request}", Data: s}}
	return rm
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
