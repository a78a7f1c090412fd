package autoexport_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	_ "github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// handler keeps the errors that OpenTelemetry's handler gets.
type handler struct {
	mu   sync.Mutex
	errs []error
}

func (h *handler) Handle(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func (h *handler) take() (text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, err := range h.errs {
		text += err.Error() + "\n"
	}
	h.errs = nil
	return text
}

var handled = new(handler)

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		os.Exit(child())
	}
	otel.SetErrorHandler(handled)
	// The SDK keeps what the environment says when it is first asked.
	for variable, value := range map[string]string{"OTEL_SERVICE_NAME": "the-environment", "OTEL_RESOURCE_ATTRIBUTES": "host.name=node1,service.name=attributes"} {
		if err := os.Setenv(variable, value); err != nil {
			panic(err)
		}
	}
	resource.Default()
	leakcheck.Main(m)
}

// choose sets the variables of a program that wants user events.
func choose(t *testing.T, service string) {
	for _, signal := range []string{"TRACES", "LOGS", "METRICS"} {
		t.Setenv("OTEL_"+signal+"_EXPORTER", "user_events")
	}
	t.Setenv("OTEL_SERVICE_NAME", service)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	handled.take()
}

// TestUnavailable: a program runs as it does elsewhere, and its error handler gets what the machine lacks.
func TestUnavailable(t *testing.T) {
	choose(t, "")
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	ctx := t.Context()

	spans, err := contrib.NewSpanExporter(ctx)
	require.NoError(t, err)
	require.IsType(t, (*ueventstrace.Exporter)(nil), spans)
	assert.Contains(t, handled.take(), `ueventstrace "the_environment": `)
	tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	_, span := tracing.Tracer("t").Start(ctx, "work")
	span.End()
	require.NoError(t, tracing.Shutdown(ctx))

	logs, err := contrib.NewLogExporter(ctx)
	require.NoError(t, err)
	require.IsType(t, (*ueventslog.Exporter)(nil), logs)
	assert.Contains(t, handled.take(), `ueventslog "the_environment": `)
	logging := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))
	logging.Logger("l").Emit(ctx, log.Record{})
	require.NoError(t, logging.Shutdown(ctx))

	reader, err := contrib.NewMetricReader(ctx)
	require.NoError(t, err)
	require.IsType(t, (*sdkmetric.PeriodicReader)(nil), reader)
	assert.Contains(t, handled.take(), `ueventsmetric "the_environment": `)
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	counter, err := metrics.Meter("m").Int64Counter("n")
	require.NoError(t, err)
	counter.Add(ctx, 1)
	require.NoError(t, metrics.Shutdown(ctx))
	assert.Empty(t, handled.take(), "nothing more is said")
}

// TestLongestName: all events can have the longest name that a service gets.
func TestLongestName(t *testing.T) {
	p := ueventstest.New(t, nil).Provider()
	defer func() { require.NoError(t, p.Close()) }()
	name := strings.Repeat("n", 52)
	_, err := ueventstrace.NewExporter(name, ueventstrace.WithProvider(p))
	assert.NoError(t, err)
	_, err = ueventslog.NewExporter(name, ueventslog.WithProvider(p))
	assert.NoError(t, err)
	_, err = ueventsmetric.NewExporter(name, ueventsmetric.WithProvider(p))
	assert.NoError(t, err)
}
