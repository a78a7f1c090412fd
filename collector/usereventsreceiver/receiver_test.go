package usereventsreceiver

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
)

// exporters returns a program's exporters of spans and metrics.
func (m *machine) exporters(name string) (*ueventstrace.Exporter, *ueventsmetric.Exporter) {
	spans, err := ueventstrace.NewExporter(name, ueventstrace.WithProvider(m.provider()))
	require.NoError(m.t, err)
	m.t.Cleanup(func() { assert.NoError(m.t, spans.Shutdown(context.Background())) })
	points, err := ueventsmetric.NewExporter(name, ueventsmetric.WithProvider(m.provider()))
	require.NoError(m.t, err)
	m.t.Cleanup(func() { assert.NoError(m.t, points.Shutdown(context.Background())) })
	return spans, points
}

// span returns a span with an id and an attribute.
func span(id byte, attributes ...attribute.KeyValue) tracetest.SpanStub {
	return tracetest.SpanStub{
		Name: "GET /", StartTime: time.Now().Add(-time.Second), EndTime: time.Now(), Attributes: attributes,
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled}),
	}
}

// point returns a metric with one data point.
func point(attributes ...attribute.KeyValue) *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{
		Name: "requests", Data: metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.DataPoint[int64]{{
			Attributes: attribute.NewSet(attributes...), Time: time.Now(), Value: 7,
		}}},
	}}}}}
}

// TestSignals: the receivers of three signals share one session, which has the process of each record.
func TestSignals(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	spans, points := m.exporters("myapp")
	cfg := fast()
	set := receivertest.NewNopSettings(metadata.Type)
	var logs consumertest.LogsSink
	var traces consumertest.TracesSink
	var metrics consumertest.MetricsSink
	lr, err := m.factory.CreateLogs(t.Context(), set, cfg, &logs)
	require.NoError(t, err)
	tr, err := m.factory.CreateTraces(t.Context(), set, cfg, &traces)
	require.NoError(t, err)
	mr, err := m.factory.CreateMetrics(t.Context(), set, cfg, &metrics)
	require.NoError(t, err)
	other, err := m.factory.CreateLogs(t.Context(), set, fast(), consumertest.NewNop())
	require.NoError(t, err)
	assert.Same(t, lr, tr)
	assert.Same(t, lr, mr)
	assert.NotSame(t, lr, other)
	require.NoError(t, other.Shutdown(t.Context()))
	for _, r := range []receiver.Logs{lr, tr, mr} {
		require.NoError(t, r.Start(t.Context(), newHost()))
	}
	testscale.Eventually(t, func() bool { return m.sources() == 1 }, "no source is opened")

	l.Warn("cache miss", "shard", 3)
	require.NoError(t, spans.ExportSpans(t.Context(), tracetest.SpanStubs{span(1)}.Snapshots()))
	require.NoError(t, points.Export(t.Context(), point()))
	testscale.Eventually(t, func() bool {
		return logs.LogRecordCount() == 1 && traces.SpanCount() == 1 && metrics.DataPointCount() == 1
	}, "a signal is missing")
	resource := logs.AllLogs()[0].ResourceLogs().At(0)
	assert.Equal(t, map[string]any{"process.pid": int64(812), "process.executable.name": "myapp", "container.id": "c0ffee"}, resource.Resource().Attributes().AsRaw())
	record := resource.ScopeLogs().At(0).LogRecords().At(0)
	assert.Equal(t, "cache miss", record.Body().AsString())
	assert.Equal(t, "WARN", record.SeverityText())
	assert.Equal(t, map[string]any{"shard": int64(3), "user_events.name": "myapp_warn"}, record.Attributes().AsRaw())
	assert.Equal(t, "GET /", traces.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Name())
	assert.Equal(t, "requests", metrics.AllMetrics()[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Name())

	l.Info("last words") // nothing is lost by a shutdown
	for _, r := range []receiver.Logs{lr, tr, mr} {
		require.NoError(t, r.Shutdown(t.Context()))
	}
	assert.Equal(t, 2, logs.LogRecordCount())
	assert.False(t, l.Enabled(t.Context(), slog.LevelError), "the events are still enabled")
	assert.Equal(t, 1, m.sources())
}

// TestSettings: what the configuration says reaches the records.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*Config)
		resource map[string]any
		logs     []string
	}{
		{
			"attributes",
			func(c *Config) { c.Attributes.ProcessPid.Enabled = false },
			map[string]any{"process.executable.name": "myapp", "container.id": "c0ffee"},
			[]string{"hello", "careful"},
		},
		{
			"raw",
			func(c *Config) { c.Mapping, c.Attributes = mappingRaw, metadata.ResourceAttributesConfig{} },
			map[string]any{},
			[]string{"", "", ""},
		},
		{
			"starts",
			func(c *Config) {
				c.Spans.Starts, c.Attributes.ProcessExecutableName.Enabled, c.Attributes.ContainerID.Enabled = true, false, false
			},
			map[string]any{"process.pid": int64(812)},
			[]string{"hello", "careful"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, nil)
			l := m.logger("myapp")
			spans, _ := m.exporters("myapp")
			cfg := fast()
			c.change(cfg)
			var s sink
			r, telemetry := m.start(cfg, &s)
			l.Info("hello")
			l.Warn("careful")
			require.NoError(t, spans.ExportSpans(t.Context(), tracetest.SpanStubs{span(1)}.Snapshots()))
			require.NoError(t, r.Shutdown(t.Context()))
			assert.Equal(t, c.logs, s.bodies())
			assert.Equal(t, c.resource, s.AllLogs()[0].ResourceLogs().At(0).Resource().Attributes().AsRaw())
			assert.Equal(t, int64(3), counter(t, telemetry, "user_events_read_records"))
			dropped := counter(t, telemetry, "user_events_dropped_records", attribute.String("reason", reasonNoPipeline), attribute.String("event", "user_events:myapp_span"))
			assert.Equal(t, int64(3), int64(len(c.logs))+dropped)
		})
	}
}

// TestSeveralReceivers: the metrics of several receivers of a Collector are told apart.
func TestSeveralReceivers(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	telemetry := componenttest.NewTelemetry()
	sizes := map[string]int{"user_events": 1, "user_events/2": 2}
	var all []receiver.Logs
	for name, size := range sizes {
		set := newSettings(telemetry)
		require.NoError(t, set.ID.UnmarshalText([]byte(name)))
		cfg := fast()
		cfg.BudgetMiB = 8 * size
		r, err := m.factory.CreateLogs(t.Context(), set, cfg, consumertest.NewNop())
		require.NoError(t, err)
		require.NoError(t, r.Start(t.Context(), newHost()))
		all = append(all, r)
	}
	testscale.Eventually(t, func() bool { return m.sources() == len(sizes) }, "no source is opened")
	l.Info("hello")
	gauge := func(name string) map[string]int64 {
		metric, err := telemetry.GetMetric("otelcol_receiver_user_events_" + name)
		require.NoError(t, err)
		values := map[string]int64{}
		for _, p := range metric.Data.(metricdata.Gauge[int64]).DataPoints {
			name, _ := p.Attributes.Value("receiver")
			values[name.AsString()] = p.Value
		}
		return values
	}
	capacity := map[string]int64{}
	for name, size := range sizes {
		capacity[name] = int64(size << 20 / chunkSize * chunkSize)
	}
	assert.Equal(t, capacity, gauge("queue_capacity"))
	assert.Len(t, gauge("attached_events"), len(sizes))
	assert.Len(t, gauge("queue_size"), len(sizes))
	for _, r := range all {
		require.NoError(t, r.Shutdown(t.Context()))
	}
	for name := range sizes {
		assert.Equal(t, int64(1), counter(t, telemetry, "user_events_read_records", attribute.String("receiver", name)), name)
	}
	require.NoError(t, telemetry.Shutdown(t.Context()))
}

// TestLifecycle: a second Start does nothing, and one after Shutdown opens no events, as nothing would close them.
func TestLifecycle(t *testing.T) {
	m := newMachine(t, nil)
	m.logger("myapp")
	r, _ := m.start(fast(), consumertest.NewNop())
	require.NoError(t, r.Start(t.Context(), newHost()))
	require.NoError(t, r.Shutdown(t.Context()))
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, 1, m.sources())

	r, err := m.factory.CreateLogs(t.Context(), receivertest.NewNopSettings(metadata.Type), fast(), consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, r.Shutdown(t.Context()))
	require.ErrorIs(t, r.Start(t.Context(), newHost()), errShutDown)
	m.start(fast(), consumertest.NewNop()) // which opens a source of its own
	assert.Equal(t, 2, m.sources())
}

func TestNotSupported(t *testing.T) {
	r, err := NewFactory().CreateLogs(t.Context(), receivertest.NewNopSettings(metadata.Type), defaultConfig(), consumertest.NewNop())
	if runtime.GOOS == "linux" {
		require.NoError(t, err)
		require.NoError(t, r.Shutdown(t.Context()))
		return
	}
	assert.ErrorContains(t, err, "needs Linux")
}

// TestOpenSpans: the events of a span wait for its end longer than for late records. They become log records when their program has ended, when the
// source is replaced, which may miss such an end, and at a shutdown.
func TestOpenSpans(t *testing.T) {
	m := newMachine(t, nil)
	m.lose = "myapp_span" // so that the spans do not end
	l := m.logger("myapp")
	spans, _ := m.exporters("myapp")
	cfg := fast()
	cfg.Spans.MaxWait = time.Millisecond
	logs := new(consumertest.LogsSink)
	r, telemetry := m.start(cfg, logs)
	begun := byte(0)
	begin := func() {
		begun++
		s := span(begun)
		s.Events = []sdktrace.Event{{Name: "retry", Time: s.StartTime}}
		require.NoError(t, spans.ExportSpans(t.Context(), tracetest.SpanStubs{s}.Snapshots()))
	}
	orphans := func() int64 {
		return counter(t, telemetry, "user_events_orphans", attribute.String("kind", "span_event"))
	}
	await := func(n int) {
		t.Helper()
		testscale.Eventually(t, func() bool { return logs.LogRecordCount() == n }, "%d log records are delivered", n)
	}

	begin()
	l.Info("waits for late records")
	await(1)
	for range 3 {
		l.Info("time passes")
	}
	await(4)
	assert.Zero(t, orphans())
	m.exit(813) // another process
	m.exit(812)
	l.Info("wakes the source")
	await(6)

	testscale.Eventually(t, func() bool { return orphans() == 1 }, "an orphan is not counted while no record comes")

	begin()
	l.Info("one")
	await(7)
	ses := r.(*session)
	ses.mu.Lock()
	src := ses.source
	ses.mu.Unlock()
	require.NoError(t, src.Stop())
	await(8)
	testscale.Eventually(t, func() bool { return m.sources() == 2 }, "no further source is opened")

	begin()
	require.NoError(t, r.Shutdown(t.Context()))
	await(9)
	assert.Equal(t, int64(3), orphans())
	assert.Equal(t, int64(3+6), counter(t, telemetry, "user_events_read_records"), "ends of processes are no records")
}

// TestOpenSpanRefused: the event of a span whose end was not read is counted as dropped if the consumer refuses it at a shutdown.
func TestOpenSpanRefused(t *testing.T) {
	m := newMachine(t, nil)
	m.lose = "myapp_span"
	spans, _ := m.exporters("myapp")
	r, telemetry := m.start(fast(), &sink{refuse: func(plog.Logs) error { return consumererror.NewPermanent(errBusy) }})
	s := span(1)
	s.Events = []sdktrace.Event{{Name: "retry", Time: s.StartTime}}
	require.NoError(t, spans.ExportSpans(t.Context(), tracetest.SpanStubs{s}.Snapshots()))
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, int64(1), counter(t, telemetry, "refused_log_records"))
	assert.Equal(t, int64(1), counter(t, telemetry, "user_events_dropped_records", attribute.String("reason", reasonPermanent)))
}
