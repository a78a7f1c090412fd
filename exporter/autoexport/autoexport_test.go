package autoexport_test

import (
	"os"
	"path/filepath"
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
	choose(t, "shop-api")
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	ctx := t.Context()

	spans, err := contrib.NewSpanExporter(ctx)
	require.NoError(t, err)
	require.IsType(t, (*ueventstrace.Exporter)(nil), spans)
	assert.Contains(t, handled.take(), `ueventstrace "shop_api": `)
	tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	_, span := tracing.Tracer("t").Start(ctx, "work")
	span.End()
	require.NoError(t, tracing.Shutdown(ctx))

	logs, err := contrib.NewLogExporter(ctx)
	require.NoError(t, err)
	require.IsType(t, (*ueventslog.Exporter)(nil), logs)
	assert.Contains(t, handled.take(), `ueventslog "shop_api": `)
	logging := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))
	logging.Logger("l").Emit(ctx, log.Record{})
	require.NoError(t, logging.Shutdown(ctx))

	reader, err := contrib.NewMetricReader(ctx)
	require.NoError(t, err)
	require.IsType(t, (*sdkmetric.PeriodicReader)(nil), reader)
	assert.Contains(t, handled.take(), `ueventsmetric "shop_api": `)
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	counter, err := metrics.Meter("m").Int64Counter("n")
	require.NoError(t, err)
	counter.Add(ctx, 1)
	require.NoError(t, metrics.Shutdown(ctx))
	assert.Empty(t, handled.take(), "nothing more is said")
}

// TestNames: the beginning of the names, by the variables.
func TestNames(t *testing.T) {
	program := os.Args[0]
	defer func() { os.Args[0] = program }()
	os.Args[0] = filepath.Join("usr", "bin", "shopd")
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	for _, c := range []struct{ service, attributes, want string }{
		{"shop", "", "shop"},
		{"shop-api.v2", "service.name=other", "shop_api_v2"},
		{"", "a=b,service.name=from%20attributes", "from_attributes"},
		{"", "", "unknown_service_shopd"},
		{"größe", "", "gru00f6u00dfe"},
		{"7zip", "", "_7zip"},
		{strings.Repeat("n", 52), "", strings.Repeat("n", 52)},
		{strings.Repeat("n", 53), "", strings.Repeat("n", 43) + "_18f76ce1"},
		{strings.Repeat("n", 54), "", strings.Repeat("n", 43) + "_dc7fe51d"},
	} {
		choose(t, c.service)
		t.Setenv("OTEL_RESOURCE_ATTRIBUTES", c.attributes)
		e, err := contrib.NewLogExporter(t.Context())
		require.NoError(t, err)
		text := handled.take()
		_, name, _ := strings.Cut(text, `"`)
		name, _, _ = strings.Cut(name, `"`)
		assert.Equal(t, c.want, name, text)
		require.NoError(t, e.Shutdown(t.Context()))
	}
}

// TestLongestName: all events can have the longest name that a service gets.
func TestLongestName(t *testing.T) {
	p := ueventstest.New(t, nil).Provider()
	defer func() { require.NoError(t, p.Close()) }()
	name := strings.Repeat("n", 52)
	_, err := ueventstrace.NewExporter(name, ueventstrace.WithEventProvider(p))
	assert.NoError(t, err)
	_, err = ueventslog.NewExporter(name, ueventslog.WithEventProvider(p))
	assert.NoError(t, err)
	_, err = ueventsmetric.NewExporter(name, ueventsmetric.WithEventProvider(p))
	assert.NoError(t, err)
}

// TestInvalidAttributes: a variable that cannot be read is reported, and the rest goes on.
func TestInvalidAttributes(t *testing.T) {
	choose(t, "shop")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "no value")
	reader, err := contrib.NewMetricReader(t.Context())
	require.NoError(t, err)
	assert.Contains(t, handled.take(), "missing value")
	assert.NoError(t, reader.Shutdown(t.Context()))
}
