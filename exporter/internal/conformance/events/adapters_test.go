package events

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
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
		written: func() (n uint64) {
			for _, s := range h.Stats() {
				n += s.Written
			}
			return n
		},
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
		written: func() (n uint64) {
			for _, s := range processor.Stats() {
				n += s.Written
			}
			return n
		},
	}
}

func openTrace(t *testing.T, p *uevents.Provider, o ueventstrace.ProcessorOption) adapter {
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
		written: func() (n uint64) {
			for _, s := range processor.Stats() {
				n += s.Written
			}
			return n
		},
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
		written: func() (n uint64) {
			for _, s := range e.Stats() {
				n += s.Written
			}
			return n
		},
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
