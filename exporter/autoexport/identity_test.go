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
	SDK    string            // the resource of the SDK without this module
	Errors string            // of the SDK
	Beside string            // the resource of the SDK beside user events
	Event  string            // the name of a span's event, without the SDK
	Fields map[string]string // of that event
	Name   string            // EventName
}

func child() int {
	handler := new(handler)
	otel.SetErrorHandler(handler)
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	opts := []autoexport.Option{
		autoexport.WithProvider(kernel.Provider()), autoexport.WithTraceOptions(ueventstrace.WithResourceAttributes("a", "b")),
	}
	id := identity{SDK: exported(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory))), Errors: handler.take(), Name: autoexport.EventName(opts...)}
	for _, exporters := range []string{"user_events", "memory,user_events"} {
		must(0, os.Setenv("OTEL_TRACES_EXPORTER", exporters))
		shutdown := must(autoexport.Setup(context.Background(), opts...))
		tool := must(kernel.Attach(ueventstest.Perf, "*_span"))
		if exporters == "user_events" {
			work(otel.GetTracerProvider())
			raw := tool.Records()[0]
			id.Event, id.Fields = raw.Event, map[string]string{}
			for field, v := range must(must(typed.NewDecoder(raw.Declaration, nil)).Decode(raw.Payload)).All() {
				id.Fields[field] = string(v.AppendTo(nil))
			}
		} else {
			id.Beside = exported(otel.GetTracerProvider())
		}
		tool.Detach()
		must(0, shutdown(context.Background()))
	}
	must(0, json.NewEncoder(os.Stdout).Encode(id))
	return 0
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func work(p trace.TracerProvider) {
	_, span := p.Tracer("t").Start(context.Background(), "work")
	span.End()
}

// exported returns the resource with which a provider exports a span.
func exported(p trace.TracerProvider) string {
	memory.Reset()
	work(p)
	must(0, p.(*sdktrace.TracerProvider).ForceFlush(context.Background()))
	return memory.GetSpans()[0].Resource.Encoded(attribute.DefaultEncoder())
}

// TestIdentity: a program has the name and the resource that the SDK gives it, in events, beside them and without.
func TestIdentity(t *testing.T) {
	testscale.HostOnly(t)
	long := strings.Repeat("n", 53)
	executable, err := os.Executable()
	require.NoError(t, err)
	unknown := "unknown_service:" + filepath.Base(executable)
	for _, c := range []struct{ name, attributes, service, a, event, err string }{
		{"shop", "", "shop", "", "shop", ""},
		{" shop-api.v2\t", "service.name=other,a=1", "shop-api.v2", "1", "shop_api_v2", ""},
		{"", "a=1,service.name=from%20attributes", "from attributes", "1", "from_attributes", ""},
		{"größe", "a=%C3%9F%2C%3D", "größe", "ß,=", "gru00f6u00dfe", ""},
		{"7zip%20", " a = 1 ,b", "7zip%20", "1", "_7zip_20", "missing value: [b]"},
		{"shop", "a=%zz", "shop", "%zz", "shop", "invalid URL escape"},
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
		assert.Equal(t, c.service, id.Fields["service_name"])
		assert.Equal(t, c.event, id.Name)
		assert.Equal(t, c.event+"_span", id.Event)
		assert.Contains(t, id.Errors, c.err)
		assert.Equal(t, c.err == "", id.Errors == "", id.Errors)
	}
}
