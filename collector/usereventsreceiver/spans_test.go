package usereventsreceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/userevents/userevents-go/internal/testscale"
)

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
