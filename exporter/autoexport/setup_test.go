package autoexport_test

import (
	"io/fs"
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
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var (
	shop = autoexport.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop")))

	eventsOfShop = []string{"shop_log_warn of shop", "shop_metric_sum of shop", "shop_span of shop", "shop_span_start of shop"}
	otlpOfShop   = []string{"logs of shop", "metrics of shop", "traces of shop"}
)

// TestSetup: each list of exporters gets what it names, and errors name the rest.
func TestSetup(t *testing.T) {
	for _, c := range []struct {
		exporters    string
		events, otlp []string
		errors       []string
	}{
		{"user_events", eventsOfShop, nil, nil},
		{"otlp", nil, otlpOfShop, nil},
		{"", nil, otlpOfShop, nil},
		{" , ", nil, otlpOfShop, nil},
		{"user_events,otlp", eventsOfShop, otlpOfShop, nil},
		{" otlp ,\tuser_events,user_events,,otlp", eventsOfShop, otlpOfShop, nil},
		{"none", nil, nil, nil},
		{"none,user_events", eventsOfShop, nil, []string{`_EXPORTER="none,user_events": none does not go with other exporters`}},
		{"otlp,none", nil, otlpOfShop, []string{`_EXPORTER="otlp,none": none does not go with other exporters`}},
		{"user_events,carrier", eventsOfShop, nil, []string{`_EXPORTER="user_events,carrier": exporter "carrier": unknown exporter`}},
		{"a,otlp,b", nil, otlpOfShop, []string{`_EXPORTER="a,otlp,b": exporter "a": unknown exporter`, `_EXPORTER="a,otlp,b": exporter "b": unknown exporter`}},
		{"User_Events", nil, nil, []string{`_EXPORTER="User_Events": exporter "User_Events": unknown exporter`}},
	} {
		t.Run(c.exporters, func(t *testing.T) {
			p := newProgram(t, c.exporters)
			events, otlp, err := p.run(shop)
			assert.Equal(t, c.events, events)
			assert.Equal(t, c.otlp, otlp)
			if len(c.errors) == 0 {
				assert.NoError(t, err)
			}
			for _, signal := range []string{"TRACES", "LOGS", "METRICS"} {
				for _, text := range c.errors {
					assert.ErrorContains(t, err, "autoexport: OTEL_"+signal+text)
				}
				assert.Equal(t, c.exporters, os.Getenv("OTEL_"+signal+"_EXPORTER"), "is as before")
			}
		})
	}
}

// TestSetupService: the environment names the service and its events, unless the program does.
func TestSetupService(t *testing.T) {
	events, otlp, err := newProgram(t, "user_events,otlp").run()
	require.NoError(t, err)
	assert.Equal(t, []string{"the_environment_log_warn of the-environment", "the_environment_metric_sum of the-environment", "the_environment_span of the-environment", "the_environment_span_start of the-environment"}, events)
	assert.Equal(t, []string{"logs of the-environment", "metrics of the-environment", "traces of the-environment"}, otlp)

	p := newProgram(t, "user_events,otlp")
	t.Setenv("OTEL_SERVICE_NAME", "the-environment") // the SDK reads it again
	events, otlp, err = p.run(shop)
	require.NoError(t, err)
	assert.Equal(t, eventsOfShop, events)
	assert.Equal(t, otlpOfShop, otlp)
	assert.Equal(t, "node1", p.host, "is the environment's")

	events, _, err = newProgram(t, "user_events").run(autoexport.WithResource(resource.NewSchemaless(attribute.String("service.name", ""))))
	require.NoError(t, err)
	require.Len(t, events, 4)
	assert.Regexp(t, "^unknown_service_.*_log_warn of $", events[0])
}

// TestSetupAlone: without other exporters, spans and log records do without the SDK, and spans propagate what they do
// while no tool is attached.
func TestSetupAlone(t *testing.T) {
	p := newProgram(t, "user_events")
	shutdown, err := p.setup(shop)
	require.NoError(t, err)
	assert.IsType(t, (*ueventstrace.TracerProvider)(nil), otel.GetTracerProvider())
	assert.IsType(t, (*ueventslog.LoggerProvider)(nil), otel.GetLoggerProvider())
	tool, err := p.kernel.Attach(ueventstest.Perf, "*")
	require.NoError(t, err)
	ctx, span := otel.Tracer("t").Start(t.Context(), "work")
	assert.True(t, span.IsRecording())
	headers := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, headers)
	assert.Empty(t, headers)
	span.End()
	tool.Detach()
	assert.Len(t, tool.Records(), 2)
	require.NoError(t, shutdown(t.Context()))
}

// TestSetupCorrelation: a log record has the ids of its span.
func TestSetupCorrelation(t *testing.T) {
	for _, exporters := range []string{"user_events", "user_events,otlp"} {
		p := newProgram(t, exporters)
		_, _, err := p.run(shop)
		require.NoError(t, err)
		for _, field := range []string{"trace_id", "span_id"} {
			assert.NotEmpty(t, p.records["shop_span"][field])
			assert.Equal(t, p.records["shop_span"][field], p.records["shop_log_warn"][field], exporters)
		}
	}
}

// TestSetupSampling: the sampler of the environment decides what other exporters get. A tool gets everything.
func TestSetupSampling(t *testing.T) {
	p := newProgram(t, "user_events,otlp")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	events, otlp, err := p.run(shop)
	require.NoError(t, err)
	assert.Equal(t, eventsOfShop, events)
	assert.Equal(t, otlpOfShop[:2], otlp)
}

// TestSetupUnavailable: without user events, everything else works, and the error says what is missing.
func TestSetupUnavailable(t *testing.T) {
	for _, exporters := range []string{"user_events", "user_events,otlp"} {
		p := newProgram(t, exporters)
		t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
		shutdown, err := autoexport.Setup(t.Context(), shop)
		assert.ErrorIs(t, err, fs.ErrNotExist)
		assert.ErrorContains(t, err, `autoexport: uevents: open `)
		assert.Equal(t, 1, strings.Count(err.Error(), "uevents: open "), err)
		p.work()
		require.NoError(t, shutdown(t.Context()))
		assert.Len(t, p.received(), map[string]int{"user_events,otlp": 3}[exporters])
	}
}

// TestSetupProtocol: the other exporters work without one that cannot be made.
func TestSetupProtocol(t *testing.T) {
	p := newProgram(t, "user_events,otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier")
	events, otlp, err := p.run(shop)
	assert.ErrorContains(t, err, `OTEL_LOGS_EXPORTER="user_events,otlp": exporter "otlp": invalid OTLP protocol`)
	assert.Equal(t, eventsOfShop, events)
	assert.Empty(t, otlp)
}

// TestSetupDisabled: OTEL_SDK_DISABLED leaves the propagator.
func TestSetupDisabled(t *testing.T) {
	p := newProgram(t, "user_events,otlp")
	t.Setenv("OTEL_SDK_DISABLED", " True")
	events, otlp, err := p.run(shop)
	require.NoError(t, err)
	assert.Empty(t, events)
	assert.Empty(t, otlp)
	assert.ElementsMatch(t, []string{"traceparent", "tracestate", "baggage"}, otel.GetTextMapPropagator().Fields())
}

func TestSetupPropagators(t *testing.T) {
	w3c := []string{"traceparent", "tracestate", "baggage"}
	for _, c := range []struct {
		value string
		want  []string
		err   string
	}{
		{"", w3c, ""},
		{" ,", w3c, ""},
		{"b3", []string{"b3"}, ""},
		{" baggage, b3 ,b3", []string{"baggage", "b3"}, ""},
		{"none", nil, ""},
		{"none,b3", nil, ""},
		{"carrier,baggage", []string{"baggage"}, `autoexport: OTEL_PROPAGATORS="carrier,baggage": unknown propagator: carrier`},
		{"carrier", w3c, "autoexport: OTEL_PROPAGATORS=\"carrier\": unknown propagator: carrier\nautoexport: tracecontext and baggage are used instead"},
	} {
		newProgram(t, "none")
		t.Setenv("OTEL_PROPAGATORS", c.value)
		shutdown, err := autoexport.Setup(t.Context())
		if assert.Equal(t, c.err != "", err != nil, err); err != nil {
			assert.EqualError(t, err, c.err)
		}
		assert.ElementsMatch(t, c.want, otel.GetTextMapPropagator().Fields(), c.value)
		require.NoError(t, shutdown(t.Context()))
	}
}

// TestSetupSchema: resources of two schemas are merged, and the error says so.
func TestSetupSchema(t *testing.T) {
	p := newProgram(t, "user_events")
	events, _, err := p.run(autoexport.WithResource(resource.NewWithAttributes("https://opentelemetry.io/schemas/1.0.0", attribute.String("service.name", "shop"))))
	assert.ErrorIs(t, err, resource.ErrSchemaURLConflict)
	assert.Equal(t, eventsOfShop, events)
}
