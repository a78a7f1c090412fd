package autoexport_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestSetupDefaultExporters: they count for signals whose variable is empty.
func TestSetupDefaultExporters(t *testing.T) {
	p := newProgram(t, " ,")
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	require.NoError(t, os.Unsetenv("OTEL_LOGS_EXPORTER")) // newProgram restores it
	events, otlp, err := p.run(shop, autoexport.WithDefaultExporters("user_events", "otlp"))
	require.NoError(t, err)
	assert.Equal(t, []string{"shop_log_warn of shop", "shop_span of shop", "shop_span_start of shop"}, events)
	assert.Equal(t, otlpOfShop, otlp)

	p = newProgram(t, "")
	events, otlp, err = p.run(shop, autoexport.WithDefaultExporters("user_events", "oltp"))
	assert.ErrorContains(t, err, `OTEL_LOGS_EXPORTER="user_events,oltp": exporter "oltp": unknown exporter`)
	assert.Equal(t, eventsOfShop, events)
	assert.Empty(t, otlp)
}

// TestSetupNames: the environment names the service and its events, unless the program does. The events of all signals and of slog begin
// the same.
func TestSetupNames(t *testing.T) {
	executable, err := os.Executable()
	require.NoError(t, err)
	long := strings.Repeat("n", 53)
	for _, c := range []struct {
		opts            []autoexport.Option
		events, service string
	}{
		{nil, "the_environment", "the-environment"},
		{[]autoexport.Option{service("shop-api"), nil}, "shop_api", "shop-api"},
		{[]autoexport.Option{service("shop"), autoexport.WithEventName("")}, "shop", "shop"},
		{[]autoexport.Option{service("shop"), autoexport.WithEventName("my-app")}, "my_app", "shop"},
		{[]autoexport.Option{service("shop"), autoexport.WithEventName(long)}, long[:43] + "_18f76ce1", "shop"},
		{[]autoexport.Option{service("")}, typed.FieldName("unknown_service:" + filepath.Base(executable)), ""},
	} {
		var wantEvents, wantOTLP []string
		for _, event := range eventsOfShop {
			wantEvents = append(wantEvents, c.events+strings.TrimSuffix(strings.TrimPrefix(event, "shop"), "shop")+c.service)
		}
		for _, signal := range otlpOfShop {
			wantOTLP = append(wantOTLP, strings.TrimSuffix(signal, "shop")+c.service)
		}
		for _, exporters := range []string{"user_events", "user_events,otlp"} {
			p := newProgram(t, exporters)
			t.Setenv("OTEL_SERVICE_NAME", "the-environment") // the SDK reads it again
			name := autoexport.EventName(c.opts...)
			assert.Equal(t, c.events, name)
			h, err := sloghandler.New(name, &sloghandler.Options{Provider: p.provider})
			require.NoError(t, err)
			require.NoError(t, h.Close())
			events, otlp, err := p.run(c.opts...)
			require.NoError(t, err)
			assert.Equal(t, wantEvents, events)
			if exporters != "user_events" {
				assert.Equal(t, wantOTLP, otlp)
				assert.Equal(t, "node1", p.host, "is the environment's")
			}
		}
	}
}

// TestSetupOneProvider: the error of the program's provider is said once, and only if a signal has events.
func TestSetupOneProvider(t *testing.T) {
	newProgram(t, "user_events")
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	failed, openErr := uevents.Open(nil)
	require.Error(t, openErr)
	shutdown, err := autoexport.Setup(t.Context(), shop, autoexport.WithProvider(failed), autoexport.WithMetricOptions(ueventsmetric.WithMaxPayload(-1)))
	assert.ErrorIs(t, err, openErr)
	assert.Equal(t, 1, strings.Count(err.Error(), openErr.Error()), err)
	assert.ErrorContains(t, err, "negative", "the program's own mistakes are said, too")
	require.NoError(t, shutdown(t.Context()))

	newProgram(t, "none")
	shutdown, err = autoexport.Setup(t.Context(), autoexport.WithProvider(failed))
	require.NoError(t, err, "no signal has events")
	require.NoError(t, shutdown(t.Context()))
}

// TestSetupOptions: options for user events reach them, with and without other exporters.
func TestSetupOptions(t *testing.T) {
	for _, exporters := range []string{"user_events", "user_events,otlp"} {
		p := newProgram(t, exporters)
		shutdown, err := p.setup(shop, nil, autoexport.WithTraceOptions(nil, ueventstrace.WithPerfettoSlices()), autoexport.WithLogOptions(nil),
			autoexport.WithMetricOptions(ueventsmetric.WithMaxPayload(-1)), autoexport.WithPropagation())
		assert.ErrorContains(t, err, `ueventsmetric "shop": `)
		_, err = p.kernel.Format("shop_slice")
		assert.NoError(t, err)
		require.NoError(t, shutdown(t.Context()))
	}
}

// TestSetupSchema: resources of two schemas are merged, and the error says so.
func TestSetupSchema(t *testing.T) {
	p := newProgram(t, "user_events")
	events, _, err := p.run(autoexport.WithResource(
		resource.NewWithAttributes("https://opentelemetry.io/schemas/1.0.0", attribute.String("service.name", "shop"))))
	assert.ErrorIs(t, err, resource.ErrSchemaURLConflict)
	assert.Equal(t, eventsOfShop, events)
}

// registered sets the SDK up with the exporters that OpenTelemetry's autoexport makes by the environment.
func registered(t *testing.T) (shutdown func(context.Context) error) {
	spans, err := contrib.NewSpanExporter(t.Context())
	require.NoError(t, err)
	logs, err := contrib.NewLogExporter(t.Context())
	require.NoError(t, err)
	reader, err := contrib.NewMetricReader(t.Context())
	require.NoError(t, err)
	tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	otel.SetTracerProvider(tracing)
	logging := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))
	otel.SetLoggerProvider(logging)
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	otel.SetMeterProvider(metrics)
	return func(ctx context.Context) error {
		return errors.Join(tracing.Shutdown(ctx), logging.Shutdown(ctx), metrics.Shutdown(ctx))
	}
}

// TestRegistered: without user events, a program with OpenTelemetry's autoexport runs as usual, and its error handler gets what is missing.
func TestRegistered(t *testing.T) {
	p := newProgram(t, "user_events")
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	shutdown := registered(t)
	text := handled.take()
	for _, of := range []string{"ueventstrace", "ueventslog", "ueventsmetric"} {
		assert.Contains(t, text, of+` "the_environment": `)
	}
	p.work()
	require.NoError(t, shutdown(t.Context())) // newProgram asserts that the handler gets nothing more
}
