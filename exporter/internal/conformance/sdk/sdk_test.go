package sdk

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents"
)

// span returns a random span, and the trace states of its links.
func (in inputs) span() (s tracetest.SpanStub, states []string) {
	s = tracetest.SpanStub{
		Name: in.one("GET /", "größe 😀", "a\nb"), SpanContext: in.spanContext(), SpanKind: trace.SpanKind(1 + in.IntN(5)), StartTime: in.time(), Attributes: in.attributes(),
		DroppedAttributes: in.IntN(2), DroppedEvents: in.IntN(2), DroppedLinks: in.IntN(2), Resource: resource,
		InstrumentationScope: instrumentation.Scope{
			Name: in.one("my/package", "other"), Version: in.one("", "1.2"), SchemaURL: in.one("", "https://example/1"), Attributes: attribute.NewSet(attribute.Bool("s", in.IntN(2) == 0)),
		},
	}
	s.EndTime = s.StartTime.Add(in.time().Sub(started))
	if in.IntN(2) == 0 {
		s.Parent = in.spanContext()
	}
	switch in.IntN(3) {
	case 0:
		s.Status = sdktrace.Status{Code: codes.Error, Description: in.text()}
	case 1:
		s.Status.Code = codes.Ok
	}
	for i := range in.IntN(4) {
		s.Events = append(s.Events, sdktrace.Event{Name: "event" + strconv.Itoa(i), Time: in.time(), Attributes: in.attributes(), DroppedAttributeCount: in.IntN(2)})
	}
	for range in.IntN(3) {
		l := sdktrace.Link{SpanContext: in.spanContext(), Attributes: in.attributes(), DroppedAttributeCount: in.IntN(2)}
		s.Links = append(s.Links, l)
		states = append(states, l.SpanContext.TraceState().String())
	}
	return s, states
}

func spanItems(t *testing.T, texts [][]byte) []item {
	t.Helper()
	return items(t, texts, "resourceSpans", "scopeSpans", "spans")
}

// TestSpans: spans are those that the SDK sends.
func TestSpans(t *testing.T) {
	ctx := context.Background()
	for seed := range seeds() {
		in := newInputs(seed)
		stub, states := in.span()
		spans := tracetest.SpanStubs{stub}.Snapshots()
		var sent capture
		x, err := otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(sent.client()))
		require.NoError(t, err)
		require.NoError(t, x.ExportSpans(ctx, spans))
		require.NoError(t, x.Shutdown(ctx))
		sdk := spanItems(t, requests(t, &sent, (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces, (&ptrace.JSONMarshaler{}).MarshalTraces))
		require.Len(t, sdk, 1)
		withLinks(sdk[0]["item"], states)

		for _, encoding := range []ueventstrace.Option{nil, ueventstrace.WithCommonSchema4()} {
			keys := resourceKeys
			if encoding != nil {
				keys = schemaKeys
			}
			c := converted(t, func(t testing.TB, p *uevents.Provider) func() {
				x, err := ueventstrace.NewExporter("myapp", ueventstrace.WithProvider(p), encoding,
					ueventstrace.WithResourceAttributes(keys...), ueventstrace.WithMaxPayload(32<<10))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, x.Shutdown(ctx)) })
				return func() { require.NoError(t, x.ExportSpans(ctx, spans)) }
			})
			text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(c.TakeTraces())
			require.NoError(t, err)
			ours, want := spanItems(t, [][]byte{text}), clone(sdk)
			if encoding == nil {
				asTyped(map[string]any(want[0]))
			} else {
				asSchema(map[string]any(want[0]))
				resourceInRecord(want[0])
			}
			compare(t, want, ours)
			if t.Failed() {
				t.Fatalf("seed %d, encoding %v", seed, encoding)
			}
		}
	}
}

// record returns a random log record.
func (in inputs) record() (r log.Record) {
	if in.IntN(4) > 0 {
		r.SetTimestamp(in.time())
	}
	r.SetObservedTimestamp(in.time())
	r.SetSeverity(log.Severity(in.IntN(25)))
	r.SetSeverityText(in.one("", "WARNING", "größe"))
	r.SetEventName(in.one("", "cache.miss"))
	switch in.IntN(4) {
	case 0:
		r.SetBody(in.value(2))
	case 1:
	default:
		r.SetBody(attribute.StringValue(in.text()))
	}
	r.AddAttributes(in.attributes()...)
	if in.IntN(4) == 0 {
		r.SetErr(errors.New(in.text()))
	}
	return r
}

func logItems(t *testing.T, texts [][]byte) []item {
	t.Helper()
	return items(t, texts, "resourceLogs", "scopeLogs", "logRecords")
}

// TestLogs: log records are those that the SDK sends.
func TestLogs(t *testing.T) {
	for seed := range seeds() {
		for _, encoding := range []ueventslog.Option{nil, ueventslog.WithCommonSchema4()} {
			keys := resourceKeys
			if encoding != nil {
				keys = schemaKeys
			}
			in := newInputs(seed)
			record := in.record()
			ctx := context.Background()
			if in.IntN(2) == 0 {
				ctx = trace.ContextWithSpanContext(ctx, in.spanContext())
			}
			var sent capture
			x, err := otlploghttp.New(ctx, otlploghttp.WithHTTPClient(sent.client()))
			require.NoError(t, err)
			c := converted(t, func(t testing.TB, p *uevents.Provider) func() {
				own, err := ueventslog.NewProcessor("myapp", ueventslog.WithProvider(p), encoding,
					ueventslog.WithResourceAttributes(keys...), ueventslog.WithMaxPayload(32<<10))
				require.NoError(t, err)
				provider := sdklog.NewLoggerProvider(sdklog.WithResource(resource), sdklog.WithProcessor(own), sdklog.WithProcessor(sdklog.NewSimpleProcessor(x)))
				t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
				logger := provider.Logger(in.one("my/package", ""), log.WithInstrumentationVersion(in.one("", "1.2")), log.WithSchemaURL(in.one("", "https://example/1")),
					log.WithInstrumentationAttributes(attribute.Bool("s", true)))
				return func() { logger.Emit(ctx, record) }
			})
			want := logItems(t, requests(t, &sent, (&plog.ProtoUnmarshaler{}).UnmarshalLogs, (&plog.JSONMarshaler{}).MarshalLogs))
			text, err := (&plog.JSONMarshaler{}).MarshalLogs(c.TakeLogs())
			require.NoError(t, err)
			ours := logItems(t, [][]byte{text})
			require.Len(t, want, 1)
			body := record.Body()
			if encoding == nil {
				asTextBody(want[0]["item"], body.String())
				asTyped(map[string]any(want[0]))
			} else {
				if !isScalar(body.Type()) {
					asTextBody(want[0]["item"], body.String())
				}
				asSchema(map[string]any(want[0]))
				resourceInRecord(want[0])
				withoutObserved(want[0]["item"], ours[0]["item"])
			}
			compare(t, want, ours)
			if t.Failed() {
				t.Fatalf("seed %d, encoding %v", seed, encoding)
			}
		}
	}
}

func isScalar(t attribute.Type) bool {
	return t == attribute.EMPTY || t == attribute.BOOL || t == attribute.INT64 || t == attribute.FLOAT64 || t == attribute.STRING
}

// withoutObserved applies that the Common Schema has one time: that of the record, or else the observed one. The observed
// time is then that of the kernel.
func withoutObserved(sdk, ours any) {
	want, got := sdk.(map[string]any), ours.(map[string]any)
	if want["timeUnixNano"] == nil {
		want["timeUnixNano"] = want["observedTimeUnixNano"]
	}
	want["observedTimeUnixNano"] = got["observedTimeUnixNano"]
}

// exemplars returns up to two exemplars.
func exemplars[N int64 | float64](in inputs, value func() N) (list []metricdata.Exemplar[N]) {
	for range in.IntN(3) {
		trace, span := in.traceID(), in.spanID()
		list = append(list, metricdata.Exemplar[N]{FilteredAttributes: in.attributes(), Time: in.time(), Value: value(), TraceID: trace[:], SpanID: span[:]})
	}
	return list
}

func points[N int64 | float64](in inputs, value func() N) (list []metricdata.DataPoint[N]) {
	for range 1 + in.IntN(3) {
		list = append(list, metricdata.DataPoint[N]{
			Attributes: attribute.NewSet(in.attributes()...), StartTime: in.time(), Time: in.time(), Value: value(), Exemplars: exemplars(in, value),
		})
	}
	return list
}

func (in inputs) temporality() metricdata.Temporality {
	return []metricdata.Temporality{metricdata.DeltaTemporality, metricdata.CumulativeTemporality}[in.IntN(2)]
}

func (in inputs) buckets() metricdata.ExponentialBucket {
	if in.IntN(3) == 0 {
		return metricdata.ExponentialBucket{}
	}
	return metricdata.ExponentialBucket{Offset: int32(in.IntN(20) - 10), Counts: []uint64{uint64(in.IntN(9)), 0, in.Uint64()}}
}

// aggregation returns a random aggregation with data points.
func (in inputs) aggregation() metricdata.Aggregation {
	set := attribute.NewSet(in.attributes()...)
	switch in.IntN(7) {
	case 0:
		return metricdata.Gauge[int64]{DataPoints: points(in, in.int)}
	case 1:
		return metricdata.Gauge[float64]{DataPoints: points(in, in.float)}
	case 2:
		return metricdata.Sum[int64]{DataPoints: points(in, in.int), Temporality: in.temporality(), IsMonotonic: in.IntN(2) == 0}
	case 3:
		return metricdata.Sum[float64]{DataPoints: points(in, in.float), Temporality: in.temporality(), IsMonotonic: in.IntN(2) == 0}
	case 4:
		p := metricdata.HistogramDataPoint[float64]{
			Attributes: set, StartTime: in.time(), Time: in.time(), Count: in.Uint64(), Sum: in.float(), Bounds: []float64{-1, 0.5, 1e9}, BucketCounts: []uint64{0, 3, in.Uint64(), 1},
			Exemplars: exemplars(in, in.float),
		}
		if in.IntN(2) == 0 {
			p.Min, p.Max = metricdata.NewExtrema(in.float()), metricdata.NewExtrema(in.float())
		}
		return metricdata.Histogram[float64]{Temporality: in.temporality(), DataPoints: []metricdata.HistogramDataPoint[float64]{p}}
	case 5:
		return metricdata.ExponentialHistogram[float64]{Temporality: in.temporality(), DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
			Attributes: set, StartTime: in.time(), Time: in.time(), Count: in.Uint64(), Sum: in.float(), Scale: int32(in.IntN(30) - 10), ZeroCount: uint64(in.IntN(3)),
			ZeroThreshold: []float64{0, 0.25}[in.IntN(2)], PositiveBucket: in.buckets(), NegativeBucket: in.buckets(), Exemplars: exemplars(in, in.float),
		}}}
	default:
		return metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
			Attributes: set, StartTime: in.time(), Time: in.time(), Count: in.Uint64(), Sum: in.float(),
			QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: in.float()}, {Quantile: 0.999, Value: in.float()}},
		}}}
	}
}

func metricItems(t *testing.T, texts [][]byte) []item {
	t.Helper()
	return items(t, texts, "resourceMetrics", "scopeMetrics", "metrics")
}

// TestMetrics: data points are those that the SDK sends.
func TestMetrics(t *testing.T) {
	ctx := context.Background()
	for seed := range seeds() {
		in := newInputs(seed)
		data := &metricdata.ResourceMetrics{Resource: sdkresource.NewSchemaless(attribute.String("service.name", "shop")), ScopeMetrics: []metricdata.ScopeMetrics{{
			Scope: instrumentation.Scope{Name: in.one("my/package", ""), Version: in.one("", "1.2"), SchemaURL: in.one("", "https://example/1"), Attributes: attribute.NewSet(attribute.Bool("s", true))},
			Metrics: []metricdata.Metrics{
				{Name: "first", Description: "Some.", Unit: in.one("", "s", "{request}"), Data: in.aggregation()},
				{Name: "second", Data: in.aggregation()},
			},
		}}}
		var sent capture
		x, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithHTTPClient(sent.client()))
		require.NoError(t, err)
		require.NoError(t, x.Export(ctx, data))
		require.NoError(t, x.Shutdown(ctx))
		c := converted(t, func(t testing.TB, p *uevents.Provider) func() {
			x, err := ueventsmetric.NewExporter("myapp", ueventsmetric.WithProvider(p), ueventsmetric.WithMaxPayload(32<<10))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, x.Shutdown(ctx)) })
			return func() { require.NoError(t, x.Export(ctx, data)) }
		})
		want := metricItems(t, requests(t, &sent, (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics, (&pmetric.JSONMarshaler{}).MarshalMetrics))
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(c.TakeMetrics())
		require.NoError(t, err)
		for _, i := range want {
			asTyped(map[string]any(i))
			asDouble(map[string]any(i))
		}
		compare(t, want, metricItems(t, [][]byte{text}))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
