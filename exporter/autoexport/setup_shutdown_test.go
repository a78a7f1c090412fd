package autoexport_test

import (
	"context"
	"errors"
	"os"
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
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/testscale"
)

// memory is an exporter that the program adds to OpenTelemetry's autoexport, closing are others that cannot be shut
// down and say when.
var (
	memory  = tracetest.NewInMemoryExporter()
	closing []string
)

type (
	closingSpans   struct{ *tracetest.InMemoryExporter }
	closingLogs    struct{ sdklog.Exporter }
	closingMetrics struct{ *sdkmetric.ManualReader }
)

func (e closingSpans) Shutdown(context.Context) error   { return closed("spans") }
func (e closingLogs) ForceFlush(context.Context) error  { return nil }
func (e closingLogs) Shutdown(context.Context) error    { return closed("logs") }
func (e closingMetrics) Shutdown(context.Context) error { return closed("metrics") }

// hanging is an exporter of spans that does not shut down before it is released.
type hanging struct {
	*tracetest.InMemoryExporter
	entered, release chan struct{}
}

func (e hanging) Shutdown(context.Context) error {
	close(e.entered)
	<-e.release
	return nil
}

// hangs is the exporter of that name, counting another one.
var (
	hangs    hanging
	counting batches
)

func closed(signal string) error {
	closing = append(closing, signal)
	return errors.New(signal + " fail")
}

func init() {
	contrib.RegisterSpanExporter("memory", func(context.Context) (sdktrace.SpanExporter, error) { return memory, nil })
	contrib.RegisterSpanExporter("closing", func(context.Context) (sdktrace.SpanExporter, error) { return closingSpans{memory}, nil })
	contrib.RegisterSpanExporter("hanging", func(context.Context) (sdktrace.SpanExporter, error) { return hangs, nil })
	contrib.RegisterSpanExporter("panicking", func(context.Context) (sdktrace.SpanExporter, error) { panic("no exporter") })
	contrib.RegisterSpanExporter("counting", func(context.Context) (sdktrace.SpanExporter, error) { return counting, nil })
	contrib.RegisterLogExporter("closing", func(context.Context) (sdklog.Exporter, error) { return closingLogs{}, nil })
	contrib.RegisterMetricReader("closing", func(context.Context) (sdkmetric.Reader, error) {
		return closingMetrics{sdkmetric.NewManualReader()}, nil
	})
}

// TestSetupRegistered: exporters that the program registered can be in lists.
func TestSetupRegistered(t *testing.T) {
	p := newProgram(t, "none")
	t.Setenv("OTEL_TRACES_EXPORTER", "memory,user_events")
	shutdown, err := p.setup()
	require.NoError(t, err)
	p.work()
	require.NoError(t, otel.GetTracerProvider().(*sdktrace.TracerProvider).ForceFlush(t.Context()))
	assert.Len(t, memory.GetSpans(), 1)
	require.NoError(t, shutdown(t.Context()))
}

// TestSetupShutdown: nil contexts are never done, and a second call does nothing.
func TestSetupShutdown(t *testing.T) {
	p := newProgram(t, "otlp")
	var none context.Context
	shutdown, err := autoexport.Setup(none, autoexport.WithResource(nil), shop)
	require.NoError(t, err)
	p.work()
	require.NoError(t, shutdown(none))
	require.NoError(t, shutdown(none))
	assert.Len(t, p.received(), 3)
	p.work()
	assert.Len(t, p.received(), 3)
}

// TestSetupShutdownEnds: after the shutdown, providers of the SDK record no spans and log records.
func TestSetupShutdownEnds(t *testing.T) {
	p := newProgram(t, "user_events,otlp")
	shutdown, err := p.setup(shop)
	require.NoError(t, err)
	records := func() (span, record bool) {
		ctx, s := otel.Tracer("t").Start(t.Context(), "work")
		defer s.End()
		return s.IsRecording(), otel.GetLoggerProvider().Logger("l").Enabled(ctx, log.EnabledParameters{Severity: log.SeverityWarn})
	}
	span, record := records()
	assert.Equal(t, []bool{true, true}, []bool{span, record})
	require.NoError(t, shutdown(t.Context()))
	span, record = records()
	assert.Equal(t, []bool{false, false}, []bool{span, record})
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
	closing = nil
	shutdown, err := newProgram(t, "user_events,closing").setup(nil, shop)
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { assert.EqualError(t, shutdown(t.Context()), "spans fail\nlogs fail\nmetrics fail") })
	}
	group.Wait()
	assert.Equal(t, []string{"spans", "logs", "metrics"}, closing)
}

// TestSetupShutdownHangs: while an exporter hangs in a shutdown without a deadline, another call waits no longer than its
// own context says.
func TestSetupShutdownHangs(t *testing.T) {
	hangs = hanging{memory, make(chan struct{}), make(chan struct{})}
	p := newProgram(t, "user_events")
	t.Setenv("OTEL_TRACES_EXPORTER", "user_events,hanging")
	shutdown, err := p.setup(shop)
	require.NoError(t, err)
	first := make(chan error, 1)
	go func() { first <- shutdown(context.Background()) }()
	<-hangs.entered
	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, shutdown(done), context.Canceled)
	close(hangs.release)
	require.NoError(t, <-first)
	require.NoError(t, shutdown(done), "the error of the first call, which has ended")
	p.assertUnregistered()
}

// TestSetupPanics: after the constructor of an exporter has panicked, the environment is what it was, and Setup works again.
func TestSetupPanics(t *testing.T) {
	const names = "user_events,panicking"
	p := newProgram(t, "user_events")
	t.Setenv("OTEL_TRACES_EXPORTER", names)
	assert.PanicsWithValue(t, "no exporter", func() { _, _ = p.setup(shop) })
	assert.Equal(t, names, os.Getenv("OTEL_TRACES_EXPORTER"))
	t.Setenv("OTEL_TRACES_EXPORTER", "user_events")
	shutdown, err := p.setup(shop)
	require.NoError(t, err)
	require.NoError(t, shutdown(t.Context()))
	assert.Empty(t, handled.take(), "nothing of the first call is left")
}
