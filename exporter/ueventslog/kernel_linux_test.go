package ueventslog_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func uniqueName() string { return fmt.Sprintf("logtest_%d", time.Now().UnixNano()) }

// onKernel returns a provider with a processor on the machine's kernel and a witness, and the
// processor's name.
func onKernel(t *testing.T, opts ...ueventslog.Option) (*sdklog.LoggerProvider, *ueventslog.Processor, *memory, string) {
	name, m := uniqueName(), new(memory)
	p, err := ueventslog.NewProcessor(name, opts...)
	require.NoError(t, err)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(p), sdklog.WithProcessor(sdklog.NewSimpleProcessor(m)), sdklog.WithResource(res))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return provider, p, m, name
}

// declaration returns what the kernel says about an event.
func declaration(t *testing.T, fs *tracefs.Dir, event string) tracepoint.Declaration {
	t.Helper()
	format, err := fs.Event(event).Format()
	require.NoError(t, err)
	d, err := format.Declaration()
	require.NoError(t, err)
	return d
}

// TestKernelFields: what is in the kernel's buffer, read by the kernel's own format file, says what the SDK handed to
// another exporter, whether the SDK or a provider of this package has written it.
func TestKernelFields(t *testing.T) {
	fs := kerneltest.Require(t)
	kept, want := emitEverything(t, fs, []string{"_log_debug", "_log_info", "_log_warn", "_log_error"})
	for _, events := range kept {
		require.Len(t, events, len(want))
		for i, r := range events {
			decoder, err := typed.NewDecoder(declaration(t, fs, r.Event), nil)
			require.NoError(t, err)
			decoded, err := decoder.Decode(r.Payload)
			require.NoError(t, err)
			values := map[string]string{"": r.Event}
			for name, v := range decoded.All() {
				values[name] = string(v.AppendTo(nil))
			}
			assertSame(t, &want[i], values)
		}
	}
}

// TestKernelCommonSchemaFields is TestKernelFields for the Common Schema.
func TestKernelCommonSchemaFields(t *testing.T) {
	fs := kerneltest.Require(t)
	kept, want := emitEverything(t, fs, []string{"_L5K1", "_L4K1", "_L3K1", "_L2K1", "_L1K1"}, ueventslog.WithCommonSchema4())
	for _, events := range kept {
		require.Len(t, events, len(want))
		for i, r := range events {
			assertSameCommonSchema(t, &want[i], r.Event, r.Payload)
		}
	}
}

// emitEverything emits all of records through the SDK and through a provider of this package, each to its own events with
// these suffixes. It returns what the kernel has kept of both, in order, and what the SDK handed to another exporter.
func emitEverything(t *testing.T, fs *tracefs.Dir, suffixes []string, opts ...ueventslog.Option) (kept [2][]kerneltest.Record, want []sdklog.Record) {
	t.Helper()
	provider, _, m, name := onKernel(t, opts...)
	ownName := name + "own"
	own, err := ueventslog.NewLoggerProvider(ownName, append(opts, ueventslog.WithResource(res))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Shutdown(context.Background())) })
	bySDK, byOwn := kerneltest.NewInstance(t, fs, 256), kerneltest.NewInstance(t, fs, 256)
	for _, suffix := range suffixes {
		bySDK.Attach(name + suffix)
		byOwn.Attach(ownName + suffix)
	}
	ctx := inSpan(t.Context())
	for _, fill := range records {
		var r log.Record
		fill(&r)
		provider.Logger("my/package").Emit(ctx, r)
		r.SetObservedTimestamp(m.records[len(m.records)-1].ObservedTimestamp())
		own.Logger("my/package").Emit(ctx, r)
	}
	require.Len(t, m.records, len(records))
	for i, instance := range []*kerneltest.Instance{bySDK, byOwn} {
		kept[i] = instance.Records()
	}
	return kept, m.records
}

// TestKernelEnabled: the kernel's bits answer, one for each event.
func TestKernelEnabled(t *testing.T) {
	fs := kerneltest.Require(t)
	_, p, _, name := onKernel(t, declaredForEnabled)
	i := kerneltest.NewInstance(t, fs, 64)
	enabled := func(s log.Severity, event string) bool {
		return p.Enabled(t.Context(), sdklog.EnabledParameters{Severity: s, EventName: event})
	}
	assert.False(t, enabled(0, ""))
	i.Attach(name + "_log_only_warn")
	assert.True(t, enabled(0, ""))
	assert.True(t, enabled(log.SeverityWarn, ""))
	assert.True(t, enabled(log.SeverityWarn, "only.warn"))
	assert.False(t, enabled(log.SeverityWarn, "undeclared"))
	assert.False(t, enabled(log.SeverityInfo, ""))
	i.Detach()
	assert.False(t, enabled(0, ""))
	i.Attach(name + "_log_info")
	assert.True(t, enabled(log.SeverityInfo, ""))
	assert.True(t, enabled(log.SeverityInfo, "any.severity"), "declared records are in their severity's event, too")
	assert.False(t, enabled(log.SeverityError, ""))
	require.NoError(t, p.Shutdown(t.Context()))
	assert.False(t, enabled(0, ""))
}

// TestKernelCommonSchema: the decoder reads what the kernel kept.
func TestKernelCommonSchema(t *testing.T) {
	fs := kerneltest.Require(t)
	provider, _, _, name := onKernel(t, ueventslog.WithCommonSchema4())
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(name + "_L2K1")
	r := record(log.SeverityError, "it broke", attribute.Int("n", 7))
	provider.Logger("my/package").Emit(inSpan(t.Context()), r)
	kept := i.Records()
	require.Len(t, kept, 1)
	ev, err := eventheader.Decode(kept[0].Event, kept[0].Payload)
	require.NoError(t, err)
	got := lines(t, ev)
	assert.Contains(t, got, "PartB.body string8: it broke")
	assert.Contains(t, got, "PartC.n value64 signed: 7")
}

// TestKernelFilter: the kernel itself looks into a declared field.
func TestKernelFilter(t *testing.T) {
	fs := kerneltest.Require(t)
	provider, p, _, name := onKernel(t, ueventslog.WithDeclarations(httpRequest))
	i := kerneltest.NewInstance(t, fs, 64)
	require.NoError(t, i.Event(name+"_log_http_request").SetFilter("http_response_status_code >= 500"))
	i.Attach(name + "_log_http_request")
	for _, status := range []int{200, 404, 500, 503} {
		provider.Logger("x").Emit(t.Context(), event(log.SeverityInfo, "http.request", attribute.Int("http.response.status_code", status)))
	}
	assert.Len(t, i.Records(), 2)
	assert.Equal(t, uint64(4), p.Stats()[name+"_log_http_request"].Written)
}

// TestKernelComplete: the event of a severity has all of its records, and says which are also in the event of their
// declaration.
func TestKernelComplete(t *testing.T) {
	fs := kerneltest.Require(t)
	provider, p, _, name := onKernel(t, ueventslog.WithDeclarations(httpRequest))
	declared, info := name+"_log_http_request", name+"_log_info"
	for _, c := range []struct {
		attached []string
		want     []string // event, body and duplicate
	}{
		{[]string{info}, []string{info + " a 0", info + " b 0", info + " c 0"}},
		{[]string{declared}, []string{declared + " a", declared + " c"}},
		{[]string{declared, info}, []string{declared + " a", info + " a 1", info + " b 0", declared + " c", info + " c 1"}},
	} {
		i := kerneltest.NewInstance(t, fs, 64)
		for _, event := range c.attached {
			i.Attach(event)
		}
		for _, body := range []string{"a", "b", "c"} {
			r := record(log.SeverityInfo, body)
			if body != "b" {
				r.SetEventName("http.request")
			}
			provider.Logger("x").Emit(t.Context(), r)
		}
		var got []string
		for _, r := range i.Records() {
			decoder, err := typed.NewDecoder(declaration(t, fs, r.Event), nil)
			require.NoError(t, err)
			decoded, err := decoder.Decode(r.Payload)
			require.NoError(t, err)
			line := r.Event + " " + field(t, decoded, "body")
			if r.Event == info {
				line += " " + field(t, decoded, "duplicate")
			}
			got = append(got, line)
		}
		assert.Equal(t, c.want, got)
		i.Detach()
	}
	assert.Equal(t, uevents.EventStats{Written: 4, Matched: true}, p.Stats()[declared])
	assert.Equal(t, uevents.EventStats{Written: 6}, p.Stats()[info])
}

// TestPerf: perf prints what a logger emits while it records.
func TestPerf(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	name := uniqueName()
	provider, err := ueventslog.NewLoggerProvider(name, ueventslog.WithResource(res))
	require.NoError(t, err)
	defer func() { require.NoError(t, provider.Shutdown(context.Background())) }()
	logger := provider.Logger("my/package")
	data := filepath.Join(t.TempDir(), "perf.data")
	kerneltest.WhileRecording(t, func() {
		assert.True(t, logger.Enabled(t.Context(), log.EnabledParameters{Severity: log.SeverityWarn}))
		logger.Emit(inSpan(t.Context()), record(log.SeverityWarn, "disk almost full", attribute.String("free", "3%"), attribute.StringSlice("disks", []string{"a"})))
	}, "perf", "record", "-a", "-o", data, "-e", "user_events:"+name+"_log_warn", "--")
	assert.False(t, logger.Enabled(t.Context(), log.EnabledParameters{}), "detached")
	out, err := exec.Command("perf", "script", "-i", data).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, name+`_log_warn: .*severity_number=13 trace_id=4bf92f3577b34da6a3ce929d0e0e4736 .*body=disk almost full scope_name=my/package scope_version= service_name=shop `+
		`.*attributes=\{"free":"3%","disks":\["a"\]\}`, string(out))
}
