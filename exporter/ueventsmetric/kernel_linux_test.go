package ueventsmetric_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
)

// onKernel returns an exporter on the machine's kernel, and the name that it has there.
func onKernel(tb testing.TB) (*ueventsmetric.Exporter, string) {
	name := fmt.Sprintf("metrictest_%d", time.Now().UnixNano())
	e, err := ueventsmetric.NewExporter(name)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Shutdown(context.Background())) })
	return e, name
}

// TestKernel: every kind of point, through the SDK, in the kernel's raw buffers.
func TestKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	e, name := onKernel(t)
	reader := sdkmetric.NewPeriodicReader(e, sdkmetric.WithInterval(time.Hour))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res), sdkmetric.WithView(
		sdkmetric.NewView(sdkmetric.Instrument{Name: "size"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 20, MaxScale: 2}})))
	meter := provider.Meter("my/package")
	requests, err := meter.Int64Counter("requests")
	require.NoError(t, err)
	requests.Add(t.Context(), 1)
	require.NoError(t, provider.ForceFlush(t.Context())) // no tool is attached

	instance := kerneltest.NewInstance(t, fs, 64)
	decoders := attachAll(t, fs, instance, name)
	requests.Add(inSpan(t.Context()), 2, metric.WithAttributes(attribute.String("route", "/users")))
	temperature, err := meter.Float64Gauge("temperature", metric.WithUnit("Cel"))
	require.NoError(t, err)
	temperature.Record(t.Context(), 36.6)
	latency, err := meter.Float64Histogram("latency", metric.WithExplicitBucketBoundaries(0.1, 1))
	require.NoError(t, err)
	latency.Record(t.Context(), 0.25)
	size, err := meter.Int64Histogram("size")
	require.NoError(t, err)
	size.Record(t.Context(), 1000)
	require.NoError(t, provider.ForceFlush(t.Context()))
	require.NoError(t, e.Export(t.Context(), data(metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{Sum: 1.5}}})))
	instance.Detach()
	require.NoError(t, provider.Shutdown(t.Context()))

	want := map[string]map[string]string{
		"gauge":         {"name": "temperature", "value": "36.6", "value_int": "37", "value_micro": "36600000", "unit": "Cel", "service_name": "shop"},
		"sum":           {"name": "requests", "value": "2", "attributes": `{"route":"/users"}`, "temporality": "delta", "monotonic": "1"},
		"histogram":     {"name": "latency", "explicit_bounds": "0.1,1", "bucket_counts": "0,1,0", "sum_micro": "250000"},
		"exp_histogram": {"name": "size", "count": "1", "scale": "2", "positive": "39:1", "max": "1000", "temporality": "delta"},
		"summary":       {"name": "m", "sum": "1.5"},
		"exemplar":      {"name": "requests", "value": "2", "trace_id": traceID.String(), "span_id": spanID.String()},
	}
	for _, raw := range instance.Records() {
		record, err := decoders[raw.Event].Decode(raw.Payload)
		require.NoError(t, err)
		kind := strings.TrimPrefix(raw.Event, name+"_metric_")
		if v, _ := record.Lookup("attributes"); kind == "sum" && v.Text() == "{}" {
			continue // of the addition before a tool was attached: the series goes on
		}
		for field, text := range want[kind] {
			v, ok := record.Lookup(field)
			assert.True(t, ok, field)
			assert.Equal(t, text, v.String(), "%s: %s", raw.Event, field)
		}
		delete(want, kind)
	}
	assert.Empty(t, want, "not recorded")
}

// TestKernelFields: each field of each kind of point, of what the SDK collected and of random data, arrives in the
// kernel's raw buffers.
func TestKernelFields(t *testing.T) {
	fs := kerneltest.Require(t)
	e, name := onKernel(t)
	instance := kerneltest.NewInstance(t, fs, 1024)
	decoders := attachAll(t, fs, instance, name)
	rm, err := testmetrics.Collected(t.Context())
	require.NoError(t, err)
	list := []*metricdata.ResourceMetrics{rm}
	for seed := range uint64(50) {
		list = append(list, testmetrics.Random(rand.New(rand.NewPCG(seed, 0))))
	}
	for i, rm := range list {
		require.NoError(t, e.Export(t.Context(), rm))
		var got []fields
		for _, raw := range instance.Records() {
			got = append(got, parse(t, decoders[raw.Event], raw.Payload))
		}
		require.Equal(t, records(name, rm), got, i)
	}
}

// attachAll attaches an instance to all events of an exporter, and returns their decoders by their names.
func attachAll(t *testing.T, fs *tracefs.Dir, instance *kerneltest.Instance, name string) map[string]*typed.Decoder {
	decoders := map[string]*typed.Decoder{}
	for _, kind := range kinds {
		event := name + "_metric_" + kind
		instance.Attach(event)
		format, err := fs.Event(event).Format()
		require.NoError(t, err)
		d, err := format.Declaration()
		require.NoError(t, err)
		decoders[event], err = typed.NewDecoder(d, nil)
		require.NoError(t, err)
	}
	return decoders
}

// TestHistogramTrigger: the kernel sums the points of each route, with no collector at all.
func TestHistogramTrigger(t *testing.T) {
	fs := kerneltest.Require(t)
	e, name := onKernel(t)
	instance := kerneltest.NewInstance(t, fs, 64)
	sum := instance.Event(name + "_metric_sum")
	if uevents.Probe(nil).ABI != uevents.ABIEnableAddress {
		t.Skip("not on this kernel: texts of user events are neither filtered nor keys of histograms")
	}
	const hist = `hist:keys=attributes:vals=value_int,value_micro if name == "requests" && value_int > 2`
	require.NoError(t, sum.AddTrigger(hist))
	defer func() { assert.NoError(t, sum.RemoveTrigger(hist)) }()
	s := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	for i := range 4 {
		s.DataPoints = append(s.DataPoints, metricdata.DataPoint[int64]{
			Attributes: attribute.NewSet(attribute.String("route", "/"+string(rune('a'+i%2)))), Value: int64(10*i + 1),
		})
	}
	rm := data(s)
	rm.ScopeMetrics[0].Metrics[0].Name = "requests"
	for range 2 {
		require.NoError(t, e.Export(t.Context(), rm))
	}
	text, err := sum.Hist()
	require.NoError(t, err)
	assert.Regexp(t, `attributes: \{"route":"/a"\} +\} hitcount: +2 +value_int: +42 +value_micro: +42000000`, text)
	assert.Regexp(t, `attributes: \{"route":"/b"\} +\} hitcount: +4 +value_int: +84 `, text)
}

// TestPerf: what people read.
func TestPerf(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	e, name := onKernel(t)
	recorded := filepath.Join(t.TempDir(), "perf.data")
	kerneltest.WhileRecording(t, func() {
		require.NoError(t, e.Export(t.Context(), testmetrics.Series(1)["histogram"]))
	}, "perf", "record", "-a", "-o", recorded, "-e", "user_events:"+name+"_metric_histogram", "--")
	out, err := exec.Command("perf", "script", "-i", recorded).CombinedOutput()
	require.NoError(t, err, "%s", out)
	line, _, _ := strings.Cut(string(out), "\n")
	assert.Regexp(t, name+`_metric_histogram: .*temporality=delta truncated=0 count=100 sum=1234\.5 sum_micro=1234500000 min=0\.125 max=987\.5 max_micro=987500000 `+
		`explicit_bounds=0,5,.*,10000 bucket_counts=0,10,.*,0 name=http\.server\.requests unit=\{request\} .*service_name=shop attributes=\{"route":"/users","status":200\}`, line)
}
