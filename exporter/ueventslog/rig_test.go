package ueventslog_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// memory is an exporter that keeps what it gets: the witness of what the SDK made of a record.
type memory struct {
	mu      sync.Mutex
	records []sdklog.Record
}

func (m *memory) Export(_ context.Context, records []sdklog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range records {
		m.records = append(m.records, records[i].Clone())
	}
	return nil
}

func (m *memory) Shutdown(context.Context) error   { return nil }
func (m *memory) ForceFlush(context.Context) error { return nil }

// always is a processor that wants everything and does nothing with it.
type always struct{}

func (always) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (always) OnEmit(context.Context, *sdklog.Record) error           { return nil }
func (always) Shutdown(context.Context) error                         { return nil }
func (always) ForceFlush(context.Context) error                       { return nil }

// rig is a processor in the SDK's provider, on a kernel in memory.
type rig struct {
	*ueventslog.Processor
	kernel   *ueventstest.Kernel
	borrowed *uevents.Provider
	provider *sdklog.LoggerProvider
	memory   *memory
}

// res is the resource of all tests. WithResource adds what the environment says.
var res = resource.NewSchemaless(
	attribute.String("service.name", "shop"),
	attribute.String("service.instance.id", "shop-7"),
	attribute.String("host.name", "node1"),
	attribute.Int("shard", 3),
)

func newRig(t testing.TB, opts ...ueventslog.Option) *rig {
	t.Helper()
	r := &rig{kernel: ueventstest.New(t, nil), memory: new(memory)}
	r.borrowed = r.kernel.Provider()
	t.Cleanup(func() { require.NoError(t, r.borrowed.Close()) })
	var err error
	r.Processor, err = ueventslog.NewProcessor("app", append([]ueventslog.Option{ueventslog.WithProvider(r.borrowed)}, opts...)...)
	require.NoError(t, err)
	r.provider = r.newProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(r.memory)))
	return r
}

// newProvider returns another provider for the processor.
func (r *rig) newProvider(opts ...sdklog.LoggerProviderOption) *sdklog.LoggerProvider {
	return sdklog.NewLoggerProvider(append([]sdklog.LoggerProviderOption{sdklog.WithResource(res), sdklog.WithProcessor(r.Processor)}, opts...)...)
}

// newOwn returns a provider of this package's, under the name that the rig's processor has, on the same kernel.
func (r *rig) newOwn(t testing.TB, opts ...ueventslog.Option) *ueventslog.LoggerProvider {
	t.Helper()
	borrowed := r.kernel.Provider()
	own, err := ueventslog.NewLoggerProvider("app", append([]ueventslog.Option{ueventslog.WithProvider(borrowed), ueventslog.WithResource(res)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, own.Shutdown(context.Background()))
		require.NoError(t, borrowed.Close())
	})
	return own
}

func (r *rig) logger() log.Logger {
	return r.provider.Logger("my/package", log.WithInstrumentationVersion("v1.2.3"))
}

func (r *rig) attach(t testing.TB, names ...string) *ueventstest.Tool {
	t.Helper()
	tr := recordtest.Attach(t, r.kernel, ueventstest.Ftrace, names...)
	return tr
}

// traced returns a rig whose events are all enabled, and the tool that is attached to them.
func traced(t testing.TB, opts ...ueventslog.Option) (*rig, *ueventstest.Tool) {
	t.Helper()
	r := newRig(t, opts...)
	return r, r.attach(t, "app_*")
}

// one returns the only record of a tool, decoded.
func one(t testing.TB, tr *ueventstest.Tool) typed.Record {
	t.Helper()
	records := tr.Records()
	require.Len(t, records, 1)
	r := recordtest.Decode(t, records[0].Declaration, records[0].Payload)
	return r
}

// field returns a field's value as text.
func field(t testing.TB, r typed.Record, name string) string {
	t.Helper()
	v, ok := r.Lookup(name)
	require.True(t, ok, name)
	return string(v.AppendTo(nil))
}

// fields returns the values of all fields as text.
func fields(t testing.TB, tr *ueventstest.Tool) map[string]string {
	t.Helper()
	r := one(t, tr)
	m := map[string]string{"": r.Event()}
	for name, v := range r.All() {
		m[name] = string(v.AppendTo(nil))
	}
	return m
}

func object(t testing.TB, text string) (m map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &m), text)
	return m
}

var (
	traceID = trace.TraceID{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36}
	spanID  = trace.SpanID{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}
	when    = time.Date(2026, 11, 21, 10, 20, 30, 123456789, time.UTC)
)

// inSpan returns a context in a sampled span.
func inSpan(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled,
	}))
}

// record returns a record with body and attributes.
func record(s log.Severity, body string, attrs ...attribute.KeyValue) (r log.Record) {
	r.SetTimestamp(when)
	r.SetSeverity(s)
	r.SetBody(attribute.StringValue(body))
	r.AddAttributes(attrs...)
	return r
}

// event returns a record with an event name.
func event(s log.Severity, name string, attrs ...attribute.KeyValue) (r log.Record) {
	r.SetTimestamp(when)
	r.SetSeverity(s)
	r.SetEventName(name)
	r.AddAttributes(attrs...)
	return r
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
