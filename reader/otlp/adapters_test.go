package otlp

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// converted converts the records that a program writes on a simulated kernel.
func converted(t *testing.T, run func(p *uevents.Provider) (write func())) *Converter {
	t.Helper()
	return convert(t, recordtest.Samples(t, func(_ testing.TB, p *uevents.Provider) func() { return run(p) }), nil)
}

func TestSlog(t *testing.T) {
	before := time.Now()
	c := converted(t, func(p *uevents.Provider) func() {
		h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p, AddSource: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		return func() { slog.New(h).Warn("cache miss", "key", "user:41", slog.Group("g", "n", 3)) }
	})
	lr := c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	assert.Equal(t, "cache miss", lr.Body().Str())
	assert.EqualValues(t, 13, lr.SeverityNumber())
	assert.Equal(t, "WARN", lr.SeverityText())
	assert.WithinRange(t, lr.Timestamp().AsTime(), before, time.Now())
	attributes := lr.Attributes().AsRaw()
	assert.Equal(t, "user:41", attributes["key"])
	assert.Equal(t, map[string]any{"n": int64(3)}, attributes["g"])
	assert.Equal(t, "myapp_warn", attributes["user_events.name"])
	assert.Contains(t, attributes["code.function.name"], "TestSlog")
	assert.Contains(t, attributes["code.file.path"], "adapters_test.go")
	assert.Positive(t, attributes["code.line.number"])
}

// A span is the same in both encodings of a program.
func TestSpanOfAdapters(t *testing.T) {
	state, err := trace.ParseTraceState("a=b")
	require.NoError(t, err)
	context1 := trace.NewSpanContext(trace.SpanContextConfig{TraceID: testTrace, SpanID: testSpan, TraceFlags: trace.FlagsSampled, TraceState: state})
	span := tracetest.SpanStub{
		Name: "GET /", SpanContext: context1, SpanKind: trace.SpanKindServer, StartTime: happened, EndTime: happened.Add(1500 * time.Millisecond),
		Parent: trace.NewSpanContext(trace.SpanContextConfig{TraceID: testTrace, SpanID: trace.SpanID{1}, Remote: true}),
		Status: sdktrace.Status{Code: codes.Error, Description: "boom"}, Attributes: []attribute.KeyValue{attribute.String("http.route", "/"), attribute.Int("n", 3)},
		Events: []sdktrace.Event{{Name: "retry", Time: happened.Add(time.Second), Attributes: []attribute.KeyValue{attribute.Bool("last", true)}, DroppedAttributeCount: 1}},
		Links: []sdktrace.Link{{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{3}, SpanID: trace.SpanID{4}, TraceFlags: trace.FlagsSampled}),
			Attributes:  []attribute.KeyValue{attribute.String("why", "batch")},
		}},
		DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3, Resource: sdkresource.NewSchemaless(attribute.String("service.name", "shop")),
		InstrumentationScope: instrumentation.Scope{Name: "my/package", Version: "1"},
	}
	var texts []string
	for _, encoding := range []ueventstrace.Option{nil, ueventstrace.WithCommonSchema4()} {
		c := converted(t, func(p *uevents.Provider) func() {
			x, err := ueventstrace.NewExporter("myapp", ueventstrace.WithProvider(p), encoding)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
			return func() { require.NoError(t, x.ExportSpans(context.Background(), tracetest.SpanStubs{span}.Snapshots())) }
		})
		assert.Equal(t, Pending{Spans: 1, SpanBytes: c.traces.bytes, Bytes: c.traces.bytes}, c.Pending())
		assert.Equal(t, Stats{Spans: 1}, c.Stats())
		traces := c.TakeTraces()
		s := traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		for _, name := range []string{keyThread, keyName} {
			assert.True(t, s.Attributes().Remove(name))
		}
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	assert.JSONEq(t, `{"resourceSpans":[{`+resourceJSON+`,"scopeSpans":[{"scope":{"name":"my/package","version":"1"},"spans":[{
		"traceId":`+testTraceJSON+`,"spanId":`+testSpanJSON+`,"parentSpanId":`+testParentJSON+`,"flags":769,"traceState":"a=b","name":"GET /","kind":2,
		"startTimeUnixNano":`+happenedJSON+`,"endTimeUnixNano":"1700000001500000007","status":{"code":2,"message":"boom"},
		"droppedAttributesCount":1,"droppedEventsCount":2,"droppedLinksCount":3,
		"attributes":[{"key":"http.route","value":{"stringValue":"/"}},{"key":"n","value":{"intValue":"3"}}],
		"events":[{"name":"retry","timeUnixNano":"1700000001000000007","droppedAttributesCount":1,"attributes":[{"key":"last","value":{"boolValue":true}}]}],
		"links":[{"traceId":"03000000000000000000000000000000","spanId":"0400000000000000","flags":1,"attributes":[{"key":"why","value":{"stringValue":"batch"}}]}]
		}]}]}]}`, texts[0])
	assert.JSONEq(t, texts[0], texts[1])
}

func TestMetricOfAdapters(t *testing.T) {
	set := attribute.NewSet(attribute.String("route", "/"))
	c := converted(t, func(p *uevents.Provider) func() {
		x, err := ueventsmetric.NewExporter("myapp", ueventsmetric.WithProvider(p))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
		return func() {
			require.NoError(t, x.Export(context.Background(), &metricdata.ResourceMetrics{
				Resource: sdkresource.NewSchemaless(attribute.String("service.name", "shop")),
				ScopeMetrics: []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: "my/package"}, Metrics: []metricdata.Metrics{{
					Name: "requests", Unit: "{request}", Data: metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: []metricdata.DataPoint[int64]{{
						Attributes: set, StartTime: happened.Add(-time.Minute), Time: happened, Value: 7, Exemplars: []metricdata.Exemplar[int64]{{
							FilteredAttributes: []attribute.KeyValue{attribute.String("user", "u")}, Time: happened, Value: 3, TraceID: testTrace[:], SpanID: testSpan[:],
						}},
					}}},
				}}}},
			}))
		}
	})
	_, _, metrics := takeJSON(t, c)
	assert.JSONEq(t, metricsJSON(`{"name":"requests","unit":"{request}","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"asDouble":7,`+pointJSON+`,
		"exemplars":[{"timeUnixNano":`+happenedJSON+`,"asDouble":3,"traceId":`+testTraceJSON+`,"spanId":`+testSpanJSON+`,
		"filteredAttributes":[{"key":"user","value":{"stringValue":"u"}}]}]}]}}`), metrics)
}
