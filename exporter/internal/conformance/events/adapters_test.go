package events

import (
	"context"
	"encoding/hex"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// program is the name that all adapters have.
const program = "app"

// adapter is an adapter in the pipeline that it is made for.
type adapter struct {
	emit    func()        // writes records of most kinds
	written func() uint64 // counts those that the kernel took
}

// adapters makes each adapter of this module with each encoding. Those that can declare records do.
var adapters = []struct {
	pkg, encoding string
	open          func(*testing.T, *uevents.Provider) adapter
}{
	{"sloghandler", "typed", openSlog},
	{"ueventslog", "typed", func(t *testing.T, p *uevents.Provider) adapter { return openLog(t, p, nil) }},
	{"ueventslog", "Common Schema", func(t *testing.T, p *uevents.Provider) adapter { return openLog(t, p, ueventslog.WithCommonSchema4()) }},
	{"ueventstrace", "typed", func(t *testing.T, p *uevents.Provider) adapter {
		return openTrace(t, p, ueventstrace.WithPerfettoSlices())
	}},
	{"ueventstrace", "Common Schema", func(t *testing.T, p *uevents.Provider) adapter {
		return openTrace(t, p, ueventstrace.WithCommonSchema4())
	}},
	{"ueventsmetric", "typed", openMetric},
}

// written returns how many records the kernel took.
func written(stats map[string]uevents.EventStats) (n uint64) {
	for _, s := range stats {
		n += s.Written
	}
	return n
}

func openSlog(t *testing.T, p *uevents.Provider) adapter {
	type request struct{ Status int }
	h, err := sloghandler.New(program, &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("http request", nil)},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	return adapter{
		emit: func() {
			for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				slog.New(h).Log(t.Context(), level, "http request", "status", 200)
			}
		},
		written: func() uint64 { return written(h.Stats()) },
	}
}

func openLog(t *testing.T, p *uevents.Provider, e ueventslog.Option) adapter {
	processor, err := ueventslog.NewProcessor(program, ueventslog.WithProvider(p), e,
		ueventslog.WithDeclarations(ueventslog.Declare[struct{ Status uint16 }]("http.request", nil)))
	require.NoError(t, err)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(processor))
	t.Cleanup(func() { assert.NoError(t, provider.Shutdown(context.Background())) })
	return adapter{
		emit: func() {
			for severity := log.SeverityUndefined; severity <= log.SeverityFatal4; severity++ {
				var r log.Record
				r.SetSeverity(severity)
				r.SetEventName("http.request")
				provider.Logger("names").Emit(t.Context(), r)
			}
		},
		written: func() uint64 { return written(processor.Stats()) },
	}
}

func openTrace(t *testing.T, p *uevents.Provider, o ueventstrace.Option) adapter {
	processor, err := ueventstrace.NewProcessor(program, ueventstrace.WithProvider(p), o)
	require.NoError(t, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
	t.Cleanup(func() { assert.NoError(t, provider.Shutdown(context.Background())) })
	return adapter{
		emit: func() {
			linked := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
			_, span := provider.Tracer("names").Start(t.Context(), "span", trace.WithLinks(trace.Link{SpanContext: linked}))
			span.AddEvent("event")
			span.End()
		},
		written: func() uint64 { return written(processor.Stats()) },
	}
}

func openMetric(t *testing.T, p *uevents.Provider) adapter {
	e, err := ueventsmetric.NewExporter(program, ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Shutdown(context.Background())) })
	point := metricdata.DataPoint[int64]{Time: time.Now(), Value: 1, Exemplars: []metricdata.Exemplar[int64]{{Time: time.Now(), Value: 1}}}
	points := []metricdata.DataPoint[int64]{point}
	return adapter{
		emit: func() {
			require.NoError(t, e.Export(t.Context(), &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
				{Name: "gauge", Data: metricdata.Gauge[int64]{DataPoints: points}},
				{Name: "sum", Data: metricdata.Sum[int64]{DataPoints: points, Temporality: metricdata.DeltaTemporality, IsMonotonic: true}},
				{Name: "cumulative", Data: metricdata.Sum[int64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}},
				{Name: "updown", Data: metricdata.Sum[int64]{DataPoints: points}},
			}}}}))
		},
		written: func() uint64 { return written(e.Stats()) },
	}
}

// TestSlogNameOfLog: the one pair of names with which two adapters have the same events, as their documentation says.
func TestSlogNameOfLog(t *testing.T) {
	openLog := func(p *uevents.Provider) (func() error, error) {
		l, err := ueventslog.NewLoggerProvider(program, ueventslog.WithProvider(p))
		return func() error { return l.Shutdown(context.Background()) }, err
	}
	openSlog := func(p *uevents.Provider) (func() error, error) {
		h, err := sloghandler.New(program+"_log", &sloghandler.Options{Provider: p})
		return h.Close, err
	}
	for _, order := range [][2]func(*uevents.Provider) (func() error, error){{openLog, openSlog}, {openSlog, openLog}} {
		p := ueventstest.New(t, nil).Provider()
		closeFirst, err := order[0](p)
		require.NoError(t, err)
		closeSecond, err := order[1](p)
		require.ErrorIs(t, err, uevents.ErrConflict)
		require.NoError(t, closeSecond())
		require.NoError(t, closeFirst())
		require.NoError(t, p.Close())
	}
}

// TestMetricBatches: a reader of the SDK that exports in batches, an option since 1.47, writes each data point once.
func TestMetricBatches(t *testing.T) {
	k, p := recordtest.Kernel(t)
	e, err := ueventsmetric.NewExporter(program, ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	tool := recordtest.Attach(t, k, ueventstest.Perf, program+"_metric_sum")
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e, sdkmetric.WithMaxExportBatchSize(2))))
	counter, err := provider.Meter("m").Int64Counter("n")
	require.NoError(t, err)
	for i := range 5 {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("i", i)))
	}
	require.NoError(t, provider.Shutdown(t.Context()))
	assert.Len(t, tool.Records(), 5)
}

// TestAdaptersShareAName: under one name, the adapters register different events, and a tool that is attached to an
// event of one of them enables none of another.
func TestAdaptersShareAName(t *testing.T) {
	k, p := recordtest.Kernel(t)
	opened := make([]adapter, len(adapters))
	owners := map[string]int{} // of events, by name
	for i, a := range adapters {
		opened[i] = a.open(t, p) // which fails the test if there is a conflict
		for _, e := range k.Events() {
			if _, known := owners[e.Declaration.Name]; !known {
				owners[e.Declaration.Name] = i
			}
		}
	}
	written := func() (counts []uint64) {
		for _, a := range opened {
			a.emit()
			counts = append(counts, a.written())
		}
		return counts
	}
	before := written()
	for _, n := range before {
		require.Zero(t, n)
	}
	neverEmitted := regexp.MustCompile(`_metric_(.*histogram|summary)$`)
	for event, owner := range owners {
		tool := recordtest.Attach(t, k, ueventstest.Ftrace, event)
		after := written()
		tool.Detach()
		for i, a := range adapters {
			wrote := after[i] > before[i]
			assert.Equal(t, i == owner && !neverEmitted.MatchString(event), wrote, "attached to %s: %s (%s) writes", event, a.pkg, a.encoding)
		}
		before = after
	}
}

// TestReservedNames: the table of reserved names has the typed events of all adapters for OpenTelemetry, and no others.
// Names of tracepoints for EventHeader are reserved for all adapters.
func TestReservedNames(t *testing.T) {
	registered := map[string]bool{}
	for _, a := range adapters {
		pkg, typed := a.pkg, a.encoding == "typed"
		if !typed {
			pkg = "eventheader"
		} else if pkg == "sloghandler" {
			continue
		}
		t.Run(a.pkg+" "+a.encoding, func(t *testing.T) {
			k, p := recordtest.Kernel(t)
			a.open(t, p)
			require.NotEmpty(t, k.Events())
			for _, e := range k.Events() {
				suffix := strings.TrimPrefix(e.Declaration.Name, program+"_")
				registered[suffix] = typed
				err := eventset.CheckSuffix(suffix)
				require.ErrorIs(t, err, tracepoint.ErrInvalid, suffix)
				assert.ErrorContains(t, err, "package "+pkg+" has events whose names end in _"+suffix+": give the declaration another name")
			}
		})
	}
	for suffix := range eventset.ReservedNames {
		assert.True(t, registered[suffix], "no adapter registers %s", suffix)
	}
	for _, free := range []string{"", "log", "logs", "http_request", "spans", "metric_", "info", "L4", "LK", "L4K2x", "l4k1", "http_L4K1"} {
		assert.NoError(t, eventset.CheckSuffix(free), free)
	}
}

// around is a span of the program around another one.
type around struct{ trace.Span }

// TestSlogIDsOfSpans: in a span of package ueventstrace, records of package sloghandler have the ids that the span has in events. The
// span propagates others, and may be within a span of the program's own.
func TestSlogIDsOfSpans(t *testing.T) {
	k, p := recordtest.Kernel(t)
	provider, err := ueventstrace.NewTracerProvider(program, ueventstrace.WithProvider(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	tool := recordtest.Attach(t, k, ueventstest.Perf, program+"_span_start")
	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	for _, from := range []context.Context{t.Context(), trace.ContextWithRemoteSpanContext(t.Context(), caller)} {
		ctx, span := provider.Tracer("x").Start(from, "work")
		records := tool.Records()
		require.Len(t, records, 1)
		started := recordtest.Decode(t, records[0].Declaration, records[0].Payload)
		for _, ctx := range []context.Context{ctx, trace.ContextWithSpan(ctx, around{span})} {
			traceID, spanID := oteltrace.Context(ctx)
			for name, id := range map[string][]byte{"trace_id": traceID[:], "span_id": spanID[:]} {
				want, _ := started.Lookup(name)
				assert.Equal(t, want.Text(), hex.EncodeToString(id), name)
			}
			assert.Zero(t, testing.AllocsPerRun(100, func() { oteltrace.Context(ctx) }))
		}
		_, spanID := oteltrace.Context(trace.ContextWithSpanContext(ctx, caller.WithSpanID(trace.SpanID{2})))
		assert.Equal(t, [8]byte{2}, spanID, "of another span")
		span.End()
	}
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
