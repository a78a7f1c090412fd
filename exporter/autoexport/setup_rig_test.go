package autoexport_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	lognoop "go.opentelemetry.io/otel/log/noop"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// handler keeps the errors that OpenTelemetry's handler gets.
type handler struct {
	mu   sync.Mutex
	text string
}

func (h *handler) Handle(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text += err.Error() + "\n"
}

func (h *handler) take() (text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, h.text = h.text, ""
	return text
}

var handled = new(handler)

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		os.Exit(child())
	}
	otel.SetErrorHandler(handled)
	// The SDK keeps what the environment says when it is first asked.
	must(0, os.Setenv("OTEL_SERVICE_NAME", "the-environment"))
	must(0, os.Setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=node1,service.name=attributes"))
	resource.Default()
	leakcheck.Main(m)
}

// signals are the names of the signals in variables.
var signals = []string{"TRACES", "LOGS", "METRICS"}

// program is a program that calls Setup on a simulated kernel, and a collector for OTLP.
type program struct {
	t        *testing.T
	kernel   *ueventstest.Kernel
	provider *uevents.Provider
	records  map[string]map[string]string // the fields of the last one of each event

	mu   sync.Mutex
	otlp []string // what arrived: a signal and the service's name
	host string   // of the resource that arrived last
}

// newProgram sets the variables of all signals to these exporters.
func newProgram(t *testing.T, exporters string) *program {
	testscale.NeedLoopback(t)
	p := &program{t: t, kernel: ueventstest.New(t, nil), records: map[string]map[string]string{}}
	p.provider = p.kernel.Provider()
	t.Cleanup(func() { require.NoError(t, p.provider.Close()) })
	collector := httptest.NewUnstartedServer(http.HandlerFunc(p.collect))
	collector.Config.Protocols = new(http.Protocols)
	collector.Config.Protocols.SetHTTP1(true)
	collector.Config.Protocols.SetUnencryptedHTTP2(true) // for gRPC
	collector.Start()
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_SERVICE_NAME", "")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	handled.take()
	for _, signal := range signals {
		t.Setenv("OTEL_"+signal+"_EXPORTER", exporters)
	}
	t.Cleanup(func() {
		otel.SetTracerProvider(tracenoop.NewTracerProvider())
		otel.SetLoggerProvider(lognoop.NewLoggerProvider())
		otel.SetMeterProvider(metricnoop.NewMeterProvider())
		otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator())
		assert.Empty(t, handled.take(), "errors are returned")
	})
	return p
}

// setenv sets variables: pairs with =, separated by commas.
func setenv(t *testing.T, variables string) {
	for pair := range strings.SplitSeq(variables, ",") {
		variable, value, _ := strings.Cut(pair, "=")
		t.Setenv(variable, value)
	}
}

// setup calls Setup. Events go to the simulated kernel.
func (p *program) setup(opts ...autoexport.Option) (shutdown func(context.Context) error, err error) {
	return autoexport.Setup(p.t.Context(), append(opts, autoexport.WithProvider(p.provider))...)
}

// work uses each signal once, through OpenTelemetry's globals.
func (p *program) work() {
	ctx, span := otel.Tracer("t").Start(p.t.Context(), "work")
	defer span.End()
	var record log.Record
	record.SetSeverity(log.SeverityWarn)
	record.SetBody(attribute.StringValue("working"))
	otel.GetLoggerProvider().Logger("l").Emit(ctx, record)
	counter, err := otel.Meter("m").Int64Counter("n")
	require.NoError(p.t, err)
	counter.Add(p.t.Context(), 1) // outside of the span, which would be an example
}

// run sets the program up, attaches a tool to all its events, lets it work and shuts it down. It returns the events
// that the tool got and the signals that the collector got, each with the name of the service.
func (p *program) run(opts ...autoexport.Option) (events, otlp []string, err error) {
	p.t.Helper()
	shutdown, err := p.setup(opts...)
	var tool *ueventstest.Tool
	if len(p.kernel.Events()) > 0 {
		var attachErr error
		tool, attachErr = p.kernel.Attach(ueventstest.Perf, "*")
		require.NoError(p.t, attachErr)
		defer tool.Detach()
	}
	p.work()
	require.NoError(p.t, shutdown(p.t.Context()))
	p.assertUnregistered()
	if tool != nil {
		for _, raw := range tool.Records() {
			p.records[raw.Event] = fields(raw)
			events = append(events, raw.Event+" of "+p.records[raw.Event]["service_name"])
		}
	}
	slices.Sort(events)
	return events, p.received(), err
}

// fields returns the fields of a record, by name.
func fields(raw ueventstest.Record) map[string]string {
	all := map[string]string{}
	for field, v := range must(must(typed.NewDecoder(raw.Declaration, nil)).Decode(raw.Payload)).All() {
		all[field] = string(v.AppendTo(nil))
	}
	return all
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// received returns what has arrived at the collector.
func (p *program) received() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.otlp))
}

func (p *program) assertUnregistered() {
	p.t.Helper()
	for _, e := range p.kernel.Events() {
		assert.Zero(p.t, e.Words, "%s is registered", e.Name)
	}
}

// collect takes requests of OTLP's exporters, by HTTP or gRPC.
func (p *program) collect(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if !assert.NoError(p.t, err) {
		return
	}
	var by string
	if r.Header.Get("Content-Type") == "application/grpc" {
		by = "gRPC "
		body = body[5:] // the length is before the message
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, err = w.Write(make([]byte, 5)) // an empty message
		assert.NoError(p.t, err)
		w.Header().Set("Grpc-Status", "0")
	}
	// The messages of all signals begin the same: field 1 is a list, and field 1 of its elements is a resource.
	_, _, n := protowire.ConsumeTag(body)
	element, _ := protowire.ConsumeBytes(body[n:])
	_, _, n = protowire.ConsumeTag(element)
	message, _ := protowire.ConsumeBytes(element[n:])
	resource := new(resourcepb.Resource)
	if !assert.NoError(p.t, proto.Unmarshal(message, resource)) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, kv := range resource.Attributes {
		switch kv.Key {
		case "service.name":
			signal := regexp.MustCompile("traces?|logs|metrics").FindString(r.URL.Path)
			p.otlp = append(p.otlp, by+signal+" of "+kv.Value.GetStringValue())
		case "host.name":
			p.host = kv.Value.GetStringValue()
		}
	}
}
