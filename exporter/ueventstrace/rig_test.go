package ueventstrace_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// rig is a processor in the SDK's provider, on a simulated kernel, with a second exporter as a witness.
type rig struct {
	*ueventstrace.Processor
	kernel   *ueventstest.Kernel
	borrowed *uevents.Provider
	provider *sdktrace.TracerProvider
	memory   *tracetest.InMemoryExporter
}

var res = resource.NewSchemaless(
	attribute.String("service.name", "shop"),
	attribute.String("service.instance.id", "shop-7"),
	attribute.String("host.name", "node1"),
	attribute.Int("shard", 3),
)

func newRig(t testing.TB, opts ...ueventstrace.Option) *rig {
	t.Helper()
	r := &rig{kernel: ueventstest.New(t, nil), memory: tracetest.NewInMemoryExporter()}
	r.borrowed = r.kernel.Provider()
	t.Cleanup(func() { require.NoError(t, r.borrowed.Close()) })
	var err error
	r.Processor, err = ueventstrace.NewProcessor("app", append([]ueventstrace.Option{ueventstrace.WithProvider(r.borrowed)}, opts...)...)
	require.NoError(t, err)
	r.provider = r.newProvider(sdktrace.WithSyncer(r.memory))
	return r
}

// newProvider returns another provider for the processor.
func (r *rig) newProvider(opts ...sdktrace.TracerProviderOption) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(append([]sdktrace.TracerProviderOption{sdktrace.WithResource(res), sdktrace.WithSpanProcessor(r.Processor)}, opts...)...)
}

func (r *rig) tracer() trace.Tracer {
	return r.provider.Tracer("my/package", trace.WithInstrumentationVersion("v1.2.3"))
}

func (r *rig) attach(t testing.TB, names ...string) *ueventstest.Tool {
	t.Helper()
	tr := recordtest.Attach(t, r.kernel, ueventstest.Ftrace, names...)
	return tr
}

// traced returns a rig with a tracing tool attached to all events, and the tool.
func traced(t testing.TB, opts ...ueventstrace.Option) (*rig, *ueventstest.Tool) {
	t.Helper()
	r := newRig(t, opts...)
	return r, r.attach(t, "app_*")
}

// fields are the values of a record as text, and under "" the event's name.
type fields map[string]string

func decode(t testing.TB, raw ueventstest.Record) fields {
	t.Helper()
	r := recordtest.Decode(t, raw.Declaration, raw.Payload)
	return fieldsOf(r)
}

func fieldsOf(r typed.Record) fields {
	m := fields{"": r.Event()}
	for name, v := range r.All() {
		m[name] = string(v.AppendTo(nil))
	}
	return m
}

// records returns the decoded records of a tracing tool.
func records(t testing.TB, tr *ueventstest.Tool) (list []fields) {
	t.Helper()
	for _, raw := range tr.Records() {
		list = append(list, decode(t, raw))
	}
	require.Zero(t, tr.Oversized())
	return list
}

func names(list []fields) (events []string) {
	for _, f := range list {
		events = append(events, f[""])
	}
	return events
}

func object(t testing.TB, text string) (m map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &m), text)
	return m
}

var (
	when = time.Date(2026, 11, 21, 10, 20, 30, 123456789, time.UTC)

	remote = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0x4b, 0xf9, 15: 0x36}, SpanID: trace.SpanID{0xf0, 7: 0xb7}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
)

// fromRemote returns a context with a parent in another program.
func fromRemote(ctx context.Context, state string) context.Context {
	ts, err := trace.ParseTraceState(state)
	if err != nil {
		panic(err)
	}
	return trace.ContextWithSpanContext(ctx, remote.WithTraceState(ts))
}

func must(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
