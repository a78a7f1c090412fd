package autoexport_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestSetupMisspelt: a misspelt name changes neither the providers nor what the program propagates.
func TestSetupMisspelt(t *testing.T) {
	type installed struct {
		traces, logs, metrics any
		header                string
	}
	get := func(exporters string) (got installed) {
		p := newProgram(t, exporters)
		t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
		shutdown, err := p.setup(shop)
		if strings.Contains(exporters, "oltp") {
			for _, signal := range []string{"TRACES", "LOGS", "METRICS"} {
				assert.ErrorContains(t, err, "autoexport: OTEL_"+signal+`_EXPORTER="`+exporters+`": exporter "oltp": unknown exporter`)
			}
		} else {
			require.NoError(t, err)
		}
		ctx, span := otel.Tracer("t").Start(t.Context(), "work")
		defer span.End()
		headers := propagation.MapCarrier{}
		otel.GetTextMapPropagator().Inject(ctx, headers)
		if header := headers["traceparent"]; header != "" {
			got.header = header[len(header)-2:]
		}
		require.NoError(t, shutdown(t.Context()))
		got.traces, got.logs, got.metrics = otel.GetTracerProvider(), otel.GetLoggerProvider(), otel.GetMeterProvider()
		return got
	}
	for misspelt, right := range map[string]string{"user_events,oltp": "user_events,otlp", "oltp": "otlp"} {
		got, want := get(misspelt), get(right)
		assert.IsType(t, want.traces, got.traces)
		assert.IsType(t, want.logs, got.logs)
		assert.IsType(t, want.metrics, got.metrics)
		assert.Equal(t, "00", want.header)
		assert.Equal(t, want.header, got.header)
	}
	assert.Empty(t, get("user_events").header)
}

// TestSetupDefaultExporters: they count for signals whose variable is empty, which stays so.
func TestSetupDefaultExporters(t *testing.T) {
	p := newProgram(t, " ,")
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	require.NoError(t, os.Unsetenv("OTEL_LOGS_EXPORTER")) // newProgram restores it
	events, otlp, err := p.run(shop, autoexport.WithDefaultExporters("user_events", "otlp"))
	require.NoError(t, err)
	assert.Equal(t, []string{"shop_log_warn of shop", "shop_span of shop", "shop_span_start of shop"}, events)
	assert.Equal(t, otlpOfShop, otlp)
	_, set := os.LookupEnv("OTEL_LOGS_EXPORTER")
	assert.False(t, set)

	p = newProgram(t, "")
	events, otlp, err = p.run(shop, autoexport.WithDefaultExporters("user_events", "oltp"))
	assert.ErrorContains(t, err, `OTEL_LOGS_EXPORTER="user_events,oltp": exporter "oltp": unknown exporter`)
	assert.Equal(t, eventsOfShop, events)
	assert.Empty(t, otlp)
}

// TestSetupEventName: the events of all signals and of slog begin the same, and the service keeps its name.
func TestSetupEventName(t *testing.T) {
	long := strings.Repeat("n", 53)
	for _, c := range []struct{ name, service, want string }{
		{"app", "shop", "app"},
		{"my-app", "shop", "my_app"},
		{"", "shop-api", "shop_api"},
		{"", long, long[:43] + "_18f76ce1"},
		{long, "shop", long[:43] + "_18f76ce1"},
	} {
		for _, exporters := range []string{"user_events", "user_events,otlp"} {
			p := newProgram(t, exporters)
			opts := []autoexport.Option{
				autoexport.WithEventName(c.name), nil,
				autoexport.WithResource(resource.NewSchemaless(attribute.String("service.name", c.service))),
			}
			name := autoexport.EventName(opts...)
			assert.Equal(t, c.want, name)
			h, err := sloghandler.New(name, &sloghandler.Options{Provider: p.provider})
			require.NoError(t, err)
			require.NoError(t, h.Close())
			events, _, err := p.run(opts...)
			require.NoError(t, err)
			var want []string
			for _, event := range eventsOfShop {
				suffix := strings.TrimSuffix(strings.TrimPrefix(event, "shop"), "shop")
				want = append(want, c.want+suffix+c.service)
			}
			assert.Equal(t, want, events)
		}
	}
}

// TestSetupOneProvider: without the program's, the events of all signals have one provider, whose error is said once.
func TestSetupOneProvider(t *testing.T) {
	newProgram(t, "user_events")
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	shutdown, err := autoexport.Setup(t.Context(), shop, autoexport.WithProvider(nil))
	assert.Equal(t, 1, strings.Count(err.Error(), "none"), err)
	require.NoError(t, shutdown(t.Context()))

	failed, openErr := uevents.Open(nil)
	require.Error(t, openErr)
	shutdown, err = autoexport.Setup(t.Context(), shop, autoexport.WithProvider(failed), autoexport.WithMetricOptions(ueventsmetric.WithMaxPayload(-1)))
	assert.ErrorIs(t, err, openErr)
	assert.ErrorContains(t, err, "negative", "the program's own mistakes are said, too")
	require.NoError(t, shutdown(t.Context()))

	t.Setenv("OTEL_TRACES_EXPORTER", "memory")
	t.Setenv("OTEL_LOGS_EXPORTER", "none")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
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

// TestSetupConfigFile: a file of declarative configuration is not read. The error says so once, and the variables count.
func TestSetupConfigFile(t *testing.T) {
	for _, variable := range []string{"OTEL_CONFIG_FILE", "OTEL_EXPERIMENTAL_CONFIG_FILE"} {
		for _, disabled := range []string{"", "true"} {
			p := newProgram(t, "user_events")
			t.Setenv(variable, "/etc/otel.yaml")
			t.Setenv("OTEL_SDK_DISABLED", disabled)
			events, _, err := p.run(shop)
			assert.EqualError(t, err, `autoexport: `+variable+`="/etc/otel.yaml": Setup does not read configuration files: the other variables apply`)
			assert.Equal(t, disabled == "", len(events) > 0)
			t.Setenv(variable, "")
		}
	}
}
