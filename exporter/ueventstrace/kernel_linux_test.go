package ueventstrace_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

func uniqueName() string { return fmt.Sprintf("spantest_%d", time.Now().UnixNano()) }

// onKernel returns a provider with a processor on the machine's kernel and a witness, and the
// processor's name.
func onKernel(t testing.TB, opts ...ueventstrace.ProcessorOption) (*sdktrace.TracerProvider, *ueventstrace.Processor, *tracetest.InMemoryExporter, string) {
	name, memory := uniqueName(), tracetest.NewInMemoryExporter()
	p, err := ueventstrace.NewProcessor(name, opts...)
	require.NoError(t, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithSyncer(memory), sdktrace.WithResource(res))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return provider, p, memory, name
}

// TestKernelFields: what is in the kernel's buffer, read by the kernel's own format file, says
// what the SDK handed to another exporter.
func TestKernelFields(t *testing.T) {
	fs := kerneltest.Require(t)
	for shape, make := range spans {
		t.Run(shape, func(t *testing.T) {
			provider, _, memory, name := onKernel(t, ueventstrace.WithResourceAttributes("host.name", "shard"))
			i := kerneltest.NewInstance(t, fs, 1024)
			for _, event := range []string{"_span_start", "_span", "_span_event", "_span_link"} {
				i.Attach(name + event)
			}
			make(t, provider.Tracer("my/package", trace.WithInstrumentationVersion("v1.2.3")))
			var got []fields
			for _, r := range i.Records() {
				got = append(got, decodeKernel(t, fs, r))
			}
			assertSame(t, memory.GetSpans(), got)
		})
	}
}

// ownOnKernel returns a tracer of a provider of this package, and the beginning of its events' names.
func ownOnKernel(tb testing.TB) (tracer trace.Tracer, name string) {
	name = uniqueName()
	p, err := ueventstrace.NewTracerProvider(name, ueventstrace.WithResource(res))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Shutdown(context.Background())) })
	return p.Tracer("x"), name
}

// TestKernelEnabled: a span is recorded while the kernel says that an event is enabled.
func TestKernelEnabled(t *testing.T) {
	fs := kerneltest.Require(t)
	tracer, name := ownOnKernel(t)
	i := kerneltest.NewInstance(t, fs, 64)
	for _, event := range []string{"_span_start", "_span", "_span_event", "_span_link"} {
		for _, on := range []bool{false, true, false} {
			if on {
				i.Attach(name + event)
			} else {
				i.Detach()
			}
			_, s := tracer.Start(t.Context(), "s")
			assert.Equal(t, on, s.IsRecording(), event)
			s.End()
		}
	}
}

// TestPerfTimeline: spans and the scheduler stand on one timeline. Between the start and the
// end of a span that sleeps, its thread is switched out.
func TestPerfTimeline(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	tracer, name := ownOnKernel(t)
	data := filepath.Join(t.TempDir(), "perf.data")
	kerneltest.WhileRecording(t, func() {
		_, s := tracer.Start(t.Context(), "sleeps")
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // a wait in which the thread is switched out, however long it takes
		s.End()
	}, "perf", "record", "-a", "-o", data, "-e", "user_events:"+name+"_span_start,user_events:"+name+"_span", "-e", "sched:sched_switch", "--")
	out, err := exec.Command("perf", "script", "-i", data, "-F", "time,event,trace").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, regexp.MustCompile(`(?s)`+name+`_span_start: .*name=sleeps.*sched:sched_switch: .*`+name+`_span: start_time_unix_nano=\d+ duration_ns=\d+ trace_id=[0-9a-f]{32} span_id=[0-9a-f]{16} parent_span_id= .*name=sleeps`), string(out))
}

// BenchmarkKernel measures a span with two attributes, with and without ftrace attached.
func BenchmarkKernel(b *testing.B) {
	fs := kerneltest.Require(b)
	name := uniqueName()
	p, err := ueventstrace.NewProcessor(name)
	require.NoError(b, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(res))
	defer func() { require.NoError(b, provider.Shutdown(b.Context())) }()
	sampled := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(res), sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.NeverSample(), p)))
	nothing := sdktrace.NewTracerProvider(sdktrace.WithResource(res))
	span := func(tracer trace.Tracer) func(*testing.B) {
		return func(b *testing.B) {
			ctx := context.Background()
			b.ReportAllocs()
			for range b.N {
				_, s := tracer.Start(ctx, "GET /users", spanAttributes)
				s.End()
			}
		}
	}
	bare := func(tracer trace.Tracer) func(*testing.B) {
		return func(b *testing.B) {
			ctx := context.Background()
			b.ReportAllocs()
			for range b.N {
				_, s := tracer.Start(ctx, "GET /users")
				s.End()
			}
		}
	}
	own, ownName := ownOnKernel(b)
	b.Run("SDK/no processor", span(nothing.Tracer("x")))
	b.Run("off/own", span(own))
	b.Run("off/own/bare", bare(own))
	b.Run("off/sampler", span(sampled.Tracer("x")))
	b.Run("off/processor", span(provider.Tracer("x")))
	for _, events := range [][]string{{"_span"}, {"_span_start", "_span"}} {
		i := kerneltest.NewInstance(b, fs, 64)
		for _, e := range events {
			i.Attach(ownName + e)
		}
		b.Run(fmt.Sprintf("ftrace/own/%d events", len(events)), span(own))
		i.Detach()
		for _, e := range events {
			i.Attach(name + e)
		}
		b.Run(fmt.Sprintf("ftrace/processor/%d events", len(events)), span(provider.Tracer("x")))
		i.Detach()
	}
}
