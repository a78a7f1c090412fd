package usereventsreceiver

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pipeline"
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
}

// Start waits until the receiver reads events.
func (g *generator) Start() { g.m.waitForSource() }
func (g *generator) Stop()  {}

func (g *generator) Generate() []receivertest.UniqueIDAttrVal {
	id := fmt.Sprint(g.id.Add(1))
	g.write(id)
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
			receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{
				T: t, Factory: m.factory, Signal: c.signal, Config: cfg, GenerateCount: testscale.Count(1000, 100),
				Generator: &generator{m: m, write: c.writer(m)},
			})
		})
	}
}
