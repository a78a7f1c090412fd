package autoexport_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/uevents"
)

var (
	shop = service("shop")

	eventsOfShop = []string{"shop_log_warn of shop", "shop_metric_sum of shop", "shop_span of shop", "shop_span_start of shop"}
	otlpOfShop   = []string{"logs of shop", "metrics of shop", "traces of shop"}
)

// service names the service, as a program does.
func service(name string) autoexport.Option {
	return autoexport.WithResource(resource.NewSchemaless(attribute.String("service.name", name)))
}

// TestSetup: each list of exporters gets what it names, and errors name the rest. A log record has the ids of its span.
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
		{"User_Events", nil, nil, []string{`_EXPORTER="User_Events": exporter "User_Events": unknown exporter or metrics producer: use user_events, otlp, console`}},
		{"hooked,otlp", nil, otlpOfShop, []string{`_EXPORTER="hooked,otlp": exporter "hooked": unknown exporter: a list can have user_events, otlp, console and, for ` +
			`metrics, prometheus. An exporter that the program registers with OpenTelemetry's autoexport must be the variable's whole value`}},
	} {
		t.Run(c.exporters, func(t *testing.T) {
			p := newProgram(t, c.exporters)
			events, otlp, err := p.run(shop)
			assert.Equal(t, c.events, events)
			assert.Equal(t, c.otlp, otlp)
			if len(c.errors) == 0 {
				assert.NoError(t, err)
			}
			for _, signal := range signals {
				for _, text := range c.errors {
					assert.ErrorContains(t, err, "autoexport: OTEL_"+signal+text)
				}
			}
			for _, field := range []string{"trace_id", "span_id"} {
				assert.Equal(t, len(events) > 0, p.records["shop_span"][field] != "")
				assert.Equal(t, p.records["shop_span"][field], p.records["shop_log_warn"][field])
			}
		})
	}
}

// TestSetupVariables: the sampler decides what other exporters get, and a tool gets everything. OTEL_SDK_DISABLED leaves the propagator.
// A configuration file is not read. A size with which the SDK's batch processors would panic or exhaust the memory is an error, and the
// default applies.
func TestSetupVariables(t *testing.T) {
	const file = `autoexport: OTEL_CONFIG_FILE="/etc/otel.yaml": Setup does not read configuration files: the other variables apply`
	type expected struct {
		variables    string
		events, otlp []string
		err          string
	}
	cases := []expected{
		{"OTEL_TRACES_SAMPLER=always_off", eventsOfShop, otlpOfShop[:2], ""},
		{"OTEL_SDK_DISABLED= True", nil, nil, ""},
		{"OTEL_CONFIG_FILE=/etc/otel.yaml", eventsOfShop, otlpOfShop, file},
		{"OTEL_EXPERIMENTAL_CONFIG_FILE=/etc/otel.yaml", eventsOfShop, otlpOfShop, strings.Replace(file, "OTEL", "OTEL_EXPERIMENTAL", 1)},
		{"OTEL_CONFIG_FILE=/etc/otel.yaml,OTEL_SDK_DISABLED=true", nil, nil, file},
	}
	for variable, values := range map[string][]string{
		"OTEL_BSP_MAX_QUEUE_SIZE 1048576: the default 2048":       {"-1", "0", "1048577", "9223372036854775807", "9223372036854775808", "many"},
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE 1048576: the default 512": {"-1", "0", "1048577", "9223372036854775807"},
		"OTEL_BSP_SCHEDULE_DELAY 9223372036854: the default 5000": {"-1", "0", "9223372036855"},
		"OTEL_BLRP_MAX_QUEUE_SIZE 1048576: the default 2048":      {"-1", "0", "1048577", "9223372036854775807", "many"},
	} {
		for _, value := range values {
			variable, limits, _ := strings.Cut(variable, " ")
			err := fmt.Sprintf("autoexport: %s=%q is not a number from 1 to %s applies", variable, value, limits)
			cases = append(cases, expected{variable + "=" + value, eventsOfShop, otlpOfShop, err})
		}
	}
	for _, c := range cases {
		t.Run(c.variables, func(t *testing.T) {
			p := newProgram(t, "user_events,otlp")
			setenv(t, c.variables)
			events, otlp, err := p.run(shop)
			assert.Equal(t, c.events, events)
			assert.Equal(t, c.otlp, otlp)
			assert.ElementsMatch(t, []string{"traceparent", "tracestate", "baggage"}, otel.GetTextMapPropagator().Fields())
			if assert.Equal(t, c.err != "", err != nil, err); err != nil {
				assert.EqualError(t, err, c.err)
			}
		})
	}
}

// TestSetupProtocol: exporters of lists have the protocols that OpenTelemetry's autoexport gives a single exporter. Without one that
// cannot be made, the others work.
func TestSetupProtocol(t *testing.T) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	for _, c := range []struct {
		variables string
		want      []string
	}{
		{"PROTOCOL=", otlpOfShop},
		{"PROTOCOL=grpc", []string{"gRPC logs of shop", "gRPC metrics of shop", "gRPC trace of shop"}},
		{"TRACES_PROTOCOL=grpc", []string{"gRPC trace of shop", "logs of shop", "metrics of shop"}},
		{"LOGS_PROTOCOL=grpc", []string{"gRPC logs of shop", "metrics of shop", "traces of shop"}},
		{"METRICS_PROTOCOL=grpc", []string{"gRPC metrics of shop", "logs of shop", "traces of shop"}},
		{"PROTOCOL=grpc,LOGS_PROTOCOL=http/protobuf", []string{"gRPC metrics of shop", "gRPC trace of shop", "logs of shop"}},
		{"PROTOCOL=carrier,LOGS_PROTOCOL=grpc", []string{"gRPC logs of shop"}},
		{"PROTOCOL=grpc,METRICS_PROTOCOL=carrier", []string{"gRPC logs of shop", "gRPC trace of shop"}},
	} {
		for _, exporters := range []string{"otlp", "user_events,otlp"} {
			t.Run(exporters+" "+c.variables, func(t *testing.T) {
				p := newProgram(t, exporters)
				setenv(t, prefix+strings.ReplaceAll(c.variables, ",", ","+prefix))
				events, otlp, err := p.run(shop)
				assert.Equal(t, c.want, otlp)
				assert.Equal(t, exporters != "otlp", len(events) == len(eventsOfShop))
				if assert.Equal(t, len(c.want) < 3, err != nil, err); err != nil {
					assert.ErrorContains(t, err, `_EXPORTER="`+exporters+`": exporter "otlp": invalid OTLP protocol`)
					assert.Equal(t, 3-len(c.want), strings.Count(err.Error(), "autoexport: "))
				}
			})
		}
	}
}

// TestSetupConsole: the exporters of lists that write to the standard output get all signals, and the metrics of OTEL_METRICS_PRODUCERS.
func TestSetupConsole(t *testing.T) {
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	require.NoError(t, err)
	stdout := *os.Stdout
	*os.Stdout = *output // the exporters have the pointer
	defer func() { *os.Stdout = stdout }()
	for producers, want := range map[string]bool{"": false, "none": false, "none,prometheus": true} {
		require.NoError(t, output.Truncate(0))
		p := newProgram(t, "user_events,console")
		t.Setenv("OTEL_METRICS_PRODUCERS", producers)
		events, _, err := p.run(shop)
		require.NoError(t, err)
		assert.Equal(t, eventsOfShop, events)
		text, err := os.ReadFile(output.Name())
		require.NoError(t, err)
		for _, signal := range []string{`"Name":"work"`, `"Value":"working"`, `"Name":"n"`} {
			assert.Contains(t, string(text), signal)
		}
		assert.Equal(t, want, strings.Contains(string(text), "go_goroutines"), producers)
	}
	p := newProgram(t, "otlp,console")
	t.Setenv("OTEL_METRICS_PRODUCERS", "prometheus,carrier")
	_, otlp, err := p.run(shop)
	assert.ErrorContains(t, err, `OTEL_METRICS_EXPORTER="otlp,console": exporter "console": OTEL_METRICS_PRODUCERS: unknown producer "carrier"`)
	assert.Equal(t, []string{"logs of shop", "traces of shop"}, otlp)
	t.Setenv("OTEL_METRICS_EXPORTER", "user_events,prometheus")
	_, _, err = p.run(shop)
	assert.ErrorContains(t, err, `exporter "prometheus": OTEL_METRICS_PRODUCERS: unknown producer "carrier"`)
}

// TestSetupConcurrent: calls do not disturb each other.
func TestSetupConcurrent(t *testing.T) {
	p := newProgram(t, "otlp,user_events")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			shutdown, err := p.setup(shop, autoexport.WithoutProcessContext())
			assert.NoError(t, err)
			assert.NoError(t, shutdown(t.Context()))
		})
	}
	group.Wait()
	p.assertUnregistered()
}

// TestSetupUnavailable: without user events, everything else works, and the error says once what is missing.
func TestSetupUnavailable(t *testing.T) {
	for _, exporters := range []string{"user_events", "user_events,otlp"} {
		p := newProgram(t, exporters)
		t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
		shutdown, err := autoexport.Setup(t.Context(), shop, autoexport.WithProvider(nil))
		assert.ErrorIs(t, err, fs.ErrNotExist)
		assert.ErrorContains(t, err, `autoexport: uevents: open `)
		assert.Equal(t, 1, strings.Count(err.Error(), "uevents: open "), err)
		p.work()
		require.NoError(t, shutdown(t.Context()))
		assert.Len(t, p.received(), map[string]int{"user_events,otlp": 3}[exporters])
	}
}

// TestSetupMisspelt: a misspelt name changes neither the providers nor the flags that the program propagates.
func TestSetupMisspelt(t *testing.T) {
	const sdk = "*trace.TracerProvider, *log.LoggerProvider, *metric.MeterProvider, flags 00"
	for exporters, want := range map[string]string{
		"otlp": sdk, "oltp": sdk, "user_events,otlp": sdk, "user_events,oltp": sdk,
		"user_events": "*ueventstrace.TracerProvider, *ueventslog.LoggerProvider, *metric.MeterProvider, flags ",
	} {
		p := newProgram(t, exporters)
		t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
		shutdown, _ := p.setup(shop)
		ctx, _ := otel.Tracer("t").Start(t.Context(), "work")
		headers := propagation.MapCarrier{}
		otel.GetTextMapPropagator().Inject(ctx, headers)
		_, flags, _ := strings.Cut(headers["traceparent"], trace.SpanContextFromContext(ctx).SpanID().String()+"-")
		assert.Equal(t, want, fmt.Sprintf("%T, %T, %T, flags %s", otel.GetTracerProvider(), otel.GetLoggerProvider(), otel.GetMeterProvider(), flags))
		require.NoError(t, shutdown(t.Context()))
	}
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
