package autoexport_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// envChild makes the test binary print its identity: the SDK reads the variables once in a process.
const envChild = "AUTOEXPORT_CHILD"

// identity is how a program appears in what it exports.
type identity struct {
	SDK      string // the resource of the SDK without this module
	Errors   string // of the SDK
	Beside   string // the resource of the SDK beside user events
	Event    string // the name of a span's event, without the SDK
	Service  string // in that event
	Resource string // the other attributes in that event
	Name     string // EventName
}

func child() int {
	handler := new(handler)
	otel.SetErrorHandler(handler)
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	opts := []autoexport.Option{
		autoexport.WithProvider(kernel.Provider()), autoexport.WithTraceOptions(ueventstrace.WithResourceAttributes("a", "b")),
	}
	id := identity{SDK: resourceOf(sdktrace.NewTracerProvider()), Errors: handler.take(), Name: autoexport.EventName(opts...)}
	for _, exporters := range []string{"user_events", "otlp,user_events"} {
		must(0, os.Setenv("OTEL_TRACES_EXPORTER", exporters))
		shutdown := must(autoexport.Setup(context.Background(), opts...))
		tool := must(kernel.Attach(ueventstest.Perf, "*_span"))
		if exporters == "user_events" {
			_, span := otel.Tracer("t").Start(context.Background(), "work")
			span.End()
			record := tool.Records()[0]
			id.Event, id.Service, id.Resource = record.Event, fields(record)["service_name"], fields(record)["resource"]
		} else {
			id.Beside = resourceOf(otel.GetTracerProvider())
		}
		tool.Detach()
		must(0, shutdown(context.Background()))
	}
	must(0, json.NewEncoder(os.Stdout).Encode(id))
	return 0
}

// resourceOf returns the resource of a provider of the SDK. The span does not end, so it is not exported.
func resourceOf(p trace.TracerProvider) string {
	_, span := p.Tracer("t").Start(context.Background(), "work")
	return span.(sdktrace.ReadOnlySpan).Resource().Encoded(attribute.DefaultEncoder())
}

// TestIdentity: a program has the name and the resource that the SDK gives it, in events, beside them and without.
func TestIdentity(t *testing.T) {
	testscale.HostOnly(t)
	long := strings.Repeat("n", 53)
	executable, err := os.Executable()
	require.NoError(t, err)
	unknown := "unknown_service:" + filepath.Base(executable)
	for _, c := range []struct{ name, attributes, service, resource, event, err string }{
		{"shop", "", "shop", "", "shop", ""},
		{" shop-api.v2\t", "service.name=other,a=1", "shop-api.v2", `{"a":"1"}`, "shop_api_v2", ""},
		{"", "a=1,service.name=from%20attributes", "from attributes", `{"a":"1"}`, "from_attributes", ""},
		{"größe", "a=%C3%9F%2C%3D", "größe", `{"a":"ß,="}`, "gru00f6u00dfe", ""},
		{"7zip%20", " a = 1 ,b", "7zip%20", `{"a":"1"}`, "_7zip_20", "missing value: [b]"},
		{"shop", "a=%zz", "shop", `{"a":"%zz"}`, "shop", "invalid URL escape"},
		{"shop", "no value", "shop", "", "shop", "missing value"},
		{"", "", unknown, "", typed.FieldName(unknown), ""},
		{" ", "service.name=", "", "", typed.FieldName(unknown), ""},
		{long[:52], "", long[:52], "", long[:52], ""},
		{long, "", long, "", long[:43] + "_18f76ce1", ""},
		{long + "n", "", long + "n", "", long[:43] + "_dc7fe51d", ""},
	} {
		cmd := exec.CommandContext(t.Context(), executable)
		cmd.Args = []string{"renamed"}
		cmd.Env = append(os.Environ(), envChild+"=1", "OTEL_LOGS_EXPORTER=none", "OTEL_METRICS_EXPORTER=none",
			"OTEL_SERVICE_NAME="+c.name, "OTEL_RESOURCE_ATTRIBUTES="+c.attributes)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		var id identity
		require.NoError(t, json.Unmarshal(out, &id), string(out))
		assert.Equal(t, id.SDK, id.Beside)
		assert.Contains(t, ","+id.SDK+",", ",service.name="+strings.NewReplacer(",", `\,`, "=", `\=`).Replace(c.service)+",")
		assert.Equal(t, c.service, id.Service)
		assert.Equal(t, c.resource, id.Resource)
		assert.Equal(t, c.event, id.Name)
		assert.Equal(t, c.event+"_span", id.Event)
		assert.Contains(t, id.Errors, c.err)
		assert.Equal(t, c.err == "", id.Errors == "", id.Errors)
	}
}
