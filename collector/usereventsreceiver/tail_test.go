package usereventsreceiver

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
)

// TestTail: of a request that fails, all log records and spans are collected, of others none, and each record is accounted for. Data points
// have no trace.
func TestTail(t *testing.T) {
	m := newMachine(t, nil)
	h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: m.provider(), TraceContext: oteltrace.Context})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	l := slog.New(h)
	spans, points := m.exporters("myapp")
	cfg := fast()
	cfg.Tail.When, cfg.Tail.Window = "level >= error", time.Hour // no record expires because the machine is slow
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.Background())) })
	var logs sink
	var traces consumertest.TracesSink
	var metrics consumertest.MetricsSink
	lr, err := m.factory.CreateLogs(t.Context(), newSettings(telemetry), cfg, &logs)
	require.NoError(t, err)
	tr, err := m.factory.CreateTraces(t.Context(), newSettings(telemetry), cfg, &traces)
	require.NoError(t, err)
	mr, err := m.factory.CreateMetrics(t.Context(), newSettings(telemetry), cfg, &metrics)
	require.NoError(t, err)
	for _, r := range []receiver.Logs{lr, tr, mr} {
		require.NoError(t, r.Start(t.Context(), newHost()))
	}
	testscale.Eventually(t, func() bool { return m.sources() == 1 }, "no source is opened")

	request := func(id byte, fails bool) {
		of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{id}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled})
		ctx := trace.ContextWithSpanContext(t.Context(), of)
		l.DebugContext(ctx, fmt.Sprint("before ", id))
		s := span(id)
		s.SpanContext = of
		s.Events = []sdktrace.Event{{Name: "retry", Time: s.StartTime}}
		require.NoError(t, spans.ExportSpans(ctx, tracetest.SpanStubs{s}.Snapshots()))
		if fails {
			l.ErrorContext(ctx, fmt.Sprint("failed ", id))
		}
		l.DebugContext(ctx, fmt.Sprint("after ", id))
	}
	request(1, false)
	request(2, true)
	request(3, false)
	l.Info("of no request")
	l.Error("an error of no request")
	require.NoError(t, points.Export(t.Context(), point()))
	for _, r := range []receiver.Logs{lr, tr, mr} {
		require.NoError(t, r.Shutdown(t.Context()))
	}
	assert.Equal(t, []string{"before 2", "failed 2", "after 2", "an error of no request"}, logs.bodies())
	require.Equal(t, 1, traces.SpanCount())
	s := traces.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	assert.Equal(t, byte(2), s.TraceID()[0])
	assert.Equal(t, 1, s.Events().Len(), "an event comes with its span")
	assert.Equal(t, 1, metrics.DataPointCount())

	excluded := func(reason string) int64 {
		return counter(t, telemetry, "user_events_excluded_records", attribute.String("reason", reason))
	}
	assert.Equal(t, []int64{8, 0, 1}, []int64{excluded("tail_window"), excluded("tail_room"), excluded("tail_value")})
	read := counter(t, telemetry, "user_events_read_records")
	assert.Equal(t, int64(3*4+1+2+1), read)
	delivered := counter(t, telemetry, "accepted_log_records") + counter(t, telemetry, "accepted_spans") + counter(t, telemetry, "accepted_metric_points")
	assert.Equal(t, read, delivered+9+1, "the event of the span is in the span")
	_, err = telemetry.GetMetric("otelcol_receiver_user_events_tail_size")
	assert.NoError(t, err)
}

// TestTailRoom: the memory of records that are held is limited, and those that made room are counted.
func TestTailRoom(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	cfg := fast()
	cfg.Tail.When, cfg.Tail.By, cfg.Tail.Window, cfg.Tail.SizeMiB = "level >= error", "request", time.Hour, 1
	var s sink
	r, telemetry := m.start(cfg, &s)
	const records = 20_000
	for i := range records {
		l.Info("held", "request", i)
		if i%1000 == 999 { // the simulated ring has less room
			testscale.Eventually(t, func() bool { return counter(t, telemetry, "user_events_read_records") == int64(i+1) }, "records are not read")
		}
	}
	l.Error("late", "request", 0)
	l.Error("in time", "request", records-1)
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, []string{"late", "held", "in time"}, s.bodies())
	reason := func(reason string) int64 {
		return counter(t, telemetry, "user_events_excluded_records", attribute.String("reason", reason))
	}
	assert.Positive(t, reason("tail_room"))
	assert.Equal(t, int64(records-1), reason("tail_room")+reason("tail_window"))
}

// TestTailConfig: what is decoded for conditions is not the raw mapping.
func TestTailConfig(t *testing.T) {
	cfg := defaultConfig()
	cfg.Tail.When = "level >= error"
	require.NoError(t, confmap.Validate(cfg))
	cfg.Mapping = mappingRaw
	assert.ErrorContains(t, confmap.Validate(cfg), "tail: it needs mapping: auto")
}

// generator makes a program write one record for each call.
type generator struct {
	m     *machine
	id    atomic.Int64
	write func(id string)

	total     int64        // of a scenario
	delivered atomic.Int64 // of all
}

// counting is a factory whose receivers count what their consumers have accepted or refused for good.
type counting struct {
	receiver.Factory
	delivered *atomic.Int64
}

func (f counting) count(n int, err error) error {
	if err == nil || consumererror.IsPermanent(err) {
		f.delivered.Add(int64(n))
	}
	return err
}

func (f counting) CreateLogs(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	counted, _ := consumer.NewLogs(func(ctx context.Context, l plog.Logs) error {
		return f.count(l.LogRecordCount(), next.ConsumeLogs(ctx, l))
	})
	return f.Factory.CreateLogs(ctx, set, cfg, counted)
}

func (f counting) CreateTraces(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	counted, _ := consumer.NewTraces(func(ctx context.Context, d ptrace.Traces) error {
		return f.count(d.SpanCount(), next.ConsumeTraces(ctx, d))
	})
	return f.Factory.CreateTraces(ctx, set, cfg, counted)
}

func (f counting) CreateMetrics(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	counted, _ := consumer.NewMetrics(func(ctx context.Context, d pmetric.Metrics) error {
		return f.count(d.DataPointCount(), next.ConsumeMetrics(ctx, d))
	})
	return f.Factory.CreateMetrics(ctx, set, cfg, counted)
}

// Start waits until the receiver reads events.
func (g *generator) Start() { g.m.waitForSource() }
func (g *generator) Stop()  {}

func (g *generator) Generate() []receivertest.UniqueIDAttrVal {
	n := g.id.Add(1)
	id := fmt.Sprint(n)
	g.write(id)
	if n%g.total == 0 { // the last one: the check itself waits for five seconds only
		testscale.Eventually(g.m.t, func() bool { return g.delivered.Load() == n }, "%d records are written, and less delivered", n)
	}
	return []receivertest.UniqueIDAttrVal{receivertest.UniqueIDAttrVal(id)}
}

// TestConsumeContract: whatever a consumer returns, each record is delivered exactly once or refused for good.
func TestConsumeContract(t *testing.T) {
	const key = receivertest.UniqueIDAttrName
	for _, c := range []struct {
		signal pipeline.Signal
		writer func(m *machine) func(id string)
	}{
		{pipeline.SignalLogs, func(m *machine) func(string) {
			l := m.logger("myapp")
			return func(id string) { l.LogAttrs(context.Background(), slog.LevelInfo, "hello", slog.String(key, id)) }
		}},
		{pipeline.SignalTraces, func(m *machine) func(string) {
			spans, _ := m.exporters("myapp")
			return func(id string) {
				require.NoError(m.t, spans.ExportSpans(context.Background(), tracetest.SpanStubs{span(1, attribute.String(key, id))}.Snapshots()))
			}
		}},
		{pipeline.SignalMetrics, func(m *machine) func(string) {
			_, points := m.exporters("myapp")
			return func(id string) {
				require.NoError(m.t, points.Export(context.Background(), point(attribute.String(key, id))))
			}
		}},
	} {
		t.Run(c.signal.String(), func(t *testing.T) {
			m := newMachine(t, nil)
			cfg := fast()
			cfg.Batch.MaxRecords = 20 // so that there are many calls
			g := &generator{m: m, write: c.writer(m), total: int64(testscale.Count(1000, 100))}
			receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{
				T: t, Factory: counting{m.factory, &g.delivered}, Signal: c.signal, Config: cfg, GenerateCount: int(g.total), Generator: g,
			})
		})
	}
}
