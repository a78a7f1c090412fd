package ueventsmetric_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// rig is an exporter on a simulated kernel, and the SDK's pipeline before it.
type rig struct {
	*ueventsmetric.Exporter
	kernel   *ueventstest.Kernel
	borrowed *uevents.Provider
	reader   *sdkmetric.ManualReader
	provider *sdkmetric.MeterProvider
	meter    metric.Meter
}

var res = resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("host.name", "node1"))

func newRig(t testing.TB, opts ...ueventsmetric.Option) *rig {
	t.Helper()
	return newRigWith(t, nil, opts...)
}

// newRigWith is newRig with a view, which may be nil.
func newRigWith(t testing.TB, view sdkmetric.View, opts ...ueventsmetric.Option) *rig {
	t.Helper()
	r := &rig{kernel: ueventstest.New(t, nil)}
	r.borrowed = r.kernel.Provider()
	t.Cleanup(func() { require.NoError(t, r.borrowed.Close()) })
	if view == nil {
		view = sdkmetric.NewView(sdkmetric.Instrument{Name: "none"}, sdkmetric.Stream{})
	}
	var err error
	r.Exporter, err = ueventsmetric.NewExporter("app", append([]ueventsmetric.Option{ueventsmetric.WithProvider(r.borrowed)}, opts...)...)
	require.NoError(t, err)
	r.reader = sdkmetric.NewManualReader(
		sdkmetric.WithTemporalitySelector(r.Temporality), sdkmetric.WithAggregationSelector(r.Aggregation))
	r.provider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader), sdkmetric.WithResource(res), sdkmetric.WithView(view))
	r.meter = r.provider.Meter("my/package", metric.WithInstrumentationVersion("v1.2.3"))
	return r
}

// attach attaches a tracing tool to the events of these kinds, or to all.
func (r *rig) attach(t testing.TB, kinds ...string) *ueventstest.Tool {
	t.Helper()
	names := []string{"app_metric_*"}
	if len(kinds) > 0 {
		names = nil
	}
	for _, k := range kinds {
		names = append(names, "app_metric_"+k)
	}
	tr := recordtest.Attach(t, r.kernel, ueventstest.Ftrace, names...)
	return tr
}

// collect returns what the SDK collected, and exports it.
func (r *rig) collect(t testing.TB) *metricdata.ResourceMetrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &rm))
	require.NoError(t, r.Export(t.Context(), &rm))
	return &rm
}

// first returns the aggregation of the first metric of the first scope.
func first[A metricdata.Aggregation](t testing.TB, rm *metricdata.ResourceMetrics) A {
	t.Helper()
	a, ok := rm.ScopeMetrics[0].Metrics[0].Data.(A)
	require.True(t, ok, "%T", rm.ScopeMetrics[0].Metrics[0].Data)
	return a
}

// decode returns the values of all fields of a tool's records as text, and the event's name
// under the empty key.
func decode(t testing.TB, tr *ueventstest.Tool) (list []map[string]string) {
	t.Helper()
	for _, r := range tr.Records() {
		record := recordtest.Decode(t, r.Declaration, r.Payload)
		m := map[string]string{"": record.Event()}
		for name, v := range record.All() {
			m[name] = v.String()
		}
		list = append(list, m)
	}
	require.Zero(t, tr.Oversized())
	return list
}

// one returns the only record of a tracing tool.
func one(t testing.TB, tr *ueventstest.Tool) map[string]string {
	t.Helper()
	list := decode(t, tr)
	require.Len(t, list, 1)
	return list[0]
}

func object(t testing.TB, text string) (m map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &m), text)
	return m
}

var (
	traceID = trace.TraceID{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36}
	spanID  = trace.SpanID{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}
	start   = time.Date(2026, 11, 21, 10, 20, 30, 123456789, time.UTC)
	end     = start.Add(time.Minute)
)

// inSpan returns a context in a sampled span.
func inSpan(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled,
	}))
}

// kinds end the names of the events.
var kinds = []string{
	"gauge", "sum", "histogram", "exp_histogram", "cumulative_sum", "cumulative_histogram", "cumulative_exp_histogram", "updown_sum", "summary", "exemplar",
}

// data returns metric data with one metric.
func data(a metricdata.Aggregation) *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{Resource: res, ScopeMetrics: []metricdata.ScopeMetrics{{
		Metrics: []metricdata.Metrics{{Name: "m", Unit: "1", Data: a}},
	}}}
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
