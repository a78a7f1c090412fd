package benchmarks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// series is how many data points an export has, each with two attributes.
const series = 100

// metricKinds are the instruments that the points are of: a counter, and a histogram with the SDK's buckets.
var metricKinds = []string{"sum", "histogram"}

// measured returns a reader of an instrument that has measured each series once.
func measured(tb testing.TB, kind string) *sdkmetric.ManualReader {
	reader := sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector)) // as the exporter of user events has it
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	tb.Cleanup(func() { require.NoError(tb, provider.Shutdown(context.Background())) })
	meter, ctx := provider.Meter("benchmarks"), context.Background()
	counter, err := meter.Int64Counter("requests", metric.WithUnit("1"))
	require.NoError(tb, err)
	histogram, err := meter.Float64Histogram("duration", metric.WithUnit("s"))
	require.NoError(tb, err)
	for i := range series {
		attributes := metric.WithAttributes(attribute.String("http.route", route), attribute.Int("shard", 1000+i))
		if kind == "sum" {
			counter.Add(ctx, 5120, attributes)
		} else {
			histogram.Record(ctx, latency.Seconds(), attributes)
		}
	}
	return reader
}

// collect returns the data points, as every contender exports them.
func collect(tb testing.TB, kind string) *metricdata.ResourceMetrics {
	var rm metricdata.ResourceMetrics
	require.NoError(tb, measured(tb, kind).Collect(context.Background(), &rm))
	return &rm
}

// metricParts are what a data point has to contain, one of them the number of its series.
func metricParts(kind string, i int) []string {
	if kind == "sum" {
		return []string{"requests", "http.route", route, "shard", fmt.Sprint(1000 + i), "5120"}
	}
	return []string{"duration", "http.route", route, "shard", fmt.Sprint(1000 + i), "0.0015", "7500"}
}

// exportCall exports the points with an exporter that waits until they are delivered.
func exportCall(tb testing.TB, e sdkmetric.Exporter, kind string) call {
	rm, ctx := collect(tb, kind), context.Background()
	tb.Cleanup(func() { require.NoError(tb, e.Shutdown(context.Background())) })
	return call{log: func() {
		if err := e.Export(ctx, rm); err != nil {
			tb.Error(err)
		}
	}}
}

func openStdoutmetric(tb testing.TB, w io.Writer, kind string) call {
	e, err := stdoutmetric.New(stdoutmetric.WithWriter(w))
	require.NoError(tb, err)
	return exportCall(tb, e, kind)
}

func openOTLPMetric(tb testing.TB, url, kind string) call {
	e, err := otlpmetrichttp.New(context.Background(), otlpmetrichttp.WithEndpointURL(url+"/v1/metrics"))
	require.NoError(tb, err)
	c := exportCall(tb, e, kind)
	c.flush = func() {} // the call waits for the collector
	return c
}

// metricContender is a way to export data points.
type metricContender struct {
	name string
	off  func(tb testing.TB, kind string) call // no tracing tool is attached; nil if there is no disabled export
	on   func(tb testing.TB, kind string) call // nil if this machine cannot do that
}

var metricContenders = []metricContender{
	{name: "stdoutmetric", on: func(tb testing.TB, kind string) call { return openStdoutmetric(tb, devNull(tb), kind) }},
	{name: "otlp", on: func(tb testing.TB, kind string) call { return openOTLPMetric(tb, startCollector(tb).url, kind) }},
	{name: "otlp-collector", on: func(tb testing.TB, kind string) call {
		collector := startCollector(tb)
		c := openOTLPMetric(tb, collector.url, kind)
		c.collector = collector
		return c
	}},
}

// runMetrics measures an export. Its name says how many points it has.
func runMetrics(b *testing.B, name, kind string, c call) {
	run(b, fmt.Sprintf("%s/%s=%d", name, kind, series), c)
}

// BenchmarkMetricCollect is what the SDK does before each export: it collects the points.
func BenchmarkMetricCollect(b *testing.B) {
	for _, kind := range metricKinds {
		reader, ctx := measured(b, kind), context.Background()
		var rm metricdata.ResourceMetrics
		runMetrics(b, "sdk", kind, call{log: func() {
			if err := reader.Collect(ctx, &rm); err != nil {
				b.Error(err)
			}
		}})
	}
}

// BenchmarkMetricOff is a disabled export.
func BenchmarkMetricOff(b *testing.B) {
	for _, c := range ownMetricContenders() {
		for _, kind := range metricKinds {
			runMetrics(b, c.name, kind, c.off(b, kind))
		}
	}
}

// BenchmarkMetricOn is an export to the null device, a collector on this machine or a tracing tool.
func BenchmarkMetricOn(b *testing.B) {
	for _, c := range slices.Concat(metricContenders, ownMetricContenders()) {
		for _, kind := range metricKinds {
			if c.on != nil {
				runMetrics(b, c.name, kind, c.on(b, kind))
			}
		}
	}
}

// TestMetrics: every data point arrives, whole.
func TestMetrics(t *testing.T) {
	for _, kind := range metricKinds {
		var out bytes.Buffer
		openStdoutmetric(t, &out, kind).log()
		to := newSink(t)
		openOTLPMetric(t, to.URL, kind).log()
		require.Len(t, to.bodies, 1)
		assertPoints(t, kind, to.bodies[0])
		for i := range series {
			for _, part := range metricParts(kind, i) {
				assert.Contains(t, strings.ReplaceAll(out.String(), "\n", ""), part)
			}
		}
	}
}

// assertPoints asserts that requests of OTLP have all points, each once, and whole.
func assertPoints(t *testing.T, kind string, bodies ...[]byte) {
	var texts []string
	for _, body := range bodies {
		var request metrics.ExportMetricsServiceRequest
		require.NoError(t, proto.Unmarshal(body, &request))
		for _, m := range request.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
			for _, p := range m.GetSum().GetDataPoints() {
				texts = append(texts, m.GetName()+p.String())
			}
			for _, p := range m.GetHistogram().GetDataPoints() {
				texts = append(texts, m.GetName()+p.String())
			}
		}
	}
	assertEach(t, kind, texts)
}

// assertEach asserts that texts are all points, each once, and whole.
func assertEach(t *testing.T, kind string, texts []string) {
	require.Len(t, texts, series)
	for i := range series {
		n := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, fmt.Sprint(1000+i)) })
		require.GreaterOrEqual(t, n, 0, "series %d", i)
		for _, part := range metricParts(kind, i) {
			assert.Contains(t, texts[n], part)
		}
	}
}
