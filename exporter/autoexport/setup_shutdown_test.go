package autoexport_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/testscale"
)

// The exporters hooked call onShutdown with their signal.
type (
	hookedSpans   struct{ sdktrace.SpanExporter }
	hookedLogs    struct{ sdklog.Exporter }
	hookedMetrics struct{ *sdkmetric.ManualReader }
)

func (hookedSpans) Shutdown(context.Context) error   { return onShutdown("spans") }
func (hookedLogs) ForceFlush(context.Context) error  { return nil }
func (hookedLogs) Shutdown(context.Context) error    { return onShutdown("logs") }
func (hookedMetrics) Shutdown(context.Context) error { return onShutdown("metrics") }

var (
	onShutdown func(signal string) error
	counting   batches
)

func init() {
	contrib.RegisterSpanExporter("hooked", func(context.Context) (sdktrace.SpanExporter, error) { return hookedSpans{}, nil })
	contrib.RegisterSpanExporter("panicking", func(context.Context) (sdktrace.SpanExporter, error) { panic("no exporter") })
	contrib.RegisterSpanExporter("counting", func(context.Context) (sdktrace.SpanExporter, error) { return counting, nil })
	contrib.RegisterLogExporter("hooked", func(context.Context) (sdklog.Exporter, error) { return hookedLogs{}, nil })
	contrib.RegisterMetricReader("hooked", func(context.Context) (sdkmetric.Reader, error) {
		return hookedMetrics{sdkmetric.NewManualReader()}, nil
	})
}

// TestSetupShutdown: nil contexts are never done, and a second call does nothing. After the shutdown, providers of the SDK record no spans
// and log records.
func TestSetupShutdown(t *testing.T) {
	p := newProgram(t, "user_events,otlp")
	var none context.Context
	shutdown, err := autoexport.Setup(none, autoexport.WithResource(nil), shop, autoexport.WithProvider(p.provider))
	require.NoError(t, err)
	records := func() (span, record bool) {
		ctx, s := otel.Tracer("t").Start(t.Context(), "work")
		return s.IsRecording(), otel.GetLoggerProvider().Logger("l").Enabled(ctx, log.EnabledParameters{Severity: log.SeverityWarn})
	}
	span, record := records()
	assert.Equal(t, []bool{true, true}, []bool{span, record})
	p.work()
	require.NoError(t, shutdown(none))
	require.NoError(t, shutdown(none))
	assert.Equal(t, otlpOfShop, p.received())
	span, record = records()
	assert.Equal(t, []bool{false, false}, []bool{span, record})
	p.work()
	assert.Len(t, p.received(), 3)
}

// TestSetupShutdownDone: without time to export, everything is shut down all the same.
func TestSetupShutdownDone(t *testing.T) {
	for _, exporters := range []string{"user_events", "otlp", "user_events,otlp"} {
		p := newProgram(t, exporters)
		shutdown, err := p.setup(shop)
		require.NoError(t, err)
		p.work()
		done, cancel := context.WithCancel(t.Context())
		cancel()
		err = shutdown(done)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, err, shutdown(t.Context()))
		p.assertUnregistered()
		if exporters != "user_events" { // the SDK goes on with spans
			testscale.Eventually(t, func() bool { return slices.Contains(p.received(), "traces of shop") }, "the spans are not exported")
		}
	} // goroutines that are left fail the package
}

// TestSetupShutdownFails: all providers are shut down, in order, and all errors are returned, each time.
func TestSetupShutdownFails(t *testing.T) {
	var signals []string
	onShutdown = func(signal string) error {
		signals = append(signals, signal)
		return errors.New(signal + " fail")
	}
	shutdown, err := newProgram(t, "hooked").setup(nil, shop)
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { assert.EqualError(t, shutdown(t.Context()), "spans fail\nlogs fail\nmetrics fail") })
	}
	group.Wait()
	assert.Equal(t, []string{"spans", "logs", "metrics"}, signals)
}

// TestSetupShutdownHangs: while an exporter hangs in a shutdown without a deadline, another call waits no longer than its
// own context says.
func TestSetupShutdownHangs(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	onShutdown = func(string) error {
		close(entered)
		<-release
		return nil
	}
	p := newProgram(t, "user_events")
	t.Setenv("OTEL_TRACES_EXPORTER", "hooked")
	shutdown, err := p.setup(shop)
	require.NoError(t, err)
	first := make(chan error, 1)
	go func() { first <- shutdown(context.Background()) }()
	<-entered
	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, shutdown(done), context.Canceled)
	close(release)
	require.NoError(t, <-first)
	require.NoError(t, shutdown(done), "the error of the first call, which has ended")
	p.assertUnregistered()
}

// TestSetupPanics: after the constructor of an exporter has panicked, Setup works.
func TestSetupPanics(t *testing.T) {
	p := newProgram(t, "user_events")
	t.Setenv("OTEL_TRACES_EXPORTER", "panicking")
	assert.PanicsWithValue(t, "no exporter", func() { _, _ = p.setup(shop) })
	p.assertUnregistered()
	t.Setenv("OTEL_TRACES_EXPORTER", "user_events")
	events, _, err := p.run(shop)
	require.NoError(t, err)
	assert.Equal(t, eventsOfShop, events)
	assert.Empty(t, handled.take(), "nothing of the first call is left")
}
