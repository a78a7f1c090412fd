package autoexport_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
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
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
	collector := httptest.NewServer(http.HandlerFunc(p.collect))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	choose(t, "")
	for _, signal := range []string{"TRACES", "LOGS", "METRICS"} {
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
			decoder, err := typed.NewDecoder(raw.Declaration, nil)
			require.NoError(p.t, err)
			r, err := decoder.Decode(raw.Payload)
			require.NoError(p.t, err)
			fields := map[string]string{}
			for field, v := range r.All() {
				fields[field] = string(v.AppendTo(nil))
			}
			p.records[raw.Event] = fields
			events = append(events, raw.Event+" of "+fields["service_name"])
		}
	}
	slices.Sort(events)
	return events, p.received(), err
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

// collect takes what OTLP's exporters send.
func (p *program) collect(_ http.ResponseWriter, r *http.Request) {
	var resources []*resourcepb.Resource
	switch r.URL.Path {
	case "/v1/traces":
		m := new(tracespb.ExportTraceServiceRequest)
		readOTLP(p.t, r, m)
		for _, of := range m.ResourceSpans {
			resources = append(resources, of.Resource)
		}
	case "/v1/logs":
		m := new(logspb.ExportLogsServiceRequest)
		readOTLP(p.t, r, m)
		for _, of := range m.ResourceLogs {
			resources = append(resources, of.Resource)
		}
	case "/v1/metrics":
		m := new(metricspb.ExportMetricsServiceRequest)
		readOTLP(p.t, r, m)
		for _, of := range m.ResourceMetrics {
			resources = append(resources, of.Resource)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, resource := range resources {
		for _, kv := range resource.Attributes {
			switch kv.Key {
			case "service.name":
				p.otlp = append(p.otlp, path.Base(r.URL.Path)+" of "+kv.Value.GetStringValue())
			case "host.name":
				p.host = kv.Value.GetStringValue()
			}
		}
	}
}

// readOTLP reads the message of a request.
func readOTLP(t *testing.T, r *http.Request, m proto.Message) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, m)
	}
	if err != nil {
		t.Errorf("%s: %v", r.URL.Path, err)
	}
}
