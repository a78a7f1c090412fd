package usereventsreceiver

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/userevents/userevents-go/internal/testscale"
)

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
