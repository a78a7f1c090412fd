package ueventstrace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

func uniqueName() string { return fmt.Sprintf("spantest_%d", time.Now().UnixNano()) }

// onKernel returns a provider with a processor on the machine's kernel and a witness, and the
// processor's name.
func onKernel(t testing.TB, opts ...ueventstrace.Option) (*sdktrace.TracerProvider, *ueventstrace.Processor, *tracetest.InMemoryExporter, string) {
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

// decodeKernel decodes a record by the kernel's own format file.
func decodeKernel(t *testing.T, fs *tracefs.Dir, r kerneltest.Record) fields {
	t.Helper()
	format, err := fs.Event(r.Event).Format()
	require.NoError(t, err)
	d, err := format.Declaration()
	require.NoError(t, err)
	decoded := recordtest.Decode(t, d, r.Payload)
	return fieldsOf(decoded)
}

// TestKernelRandomSpans is [TestRandomSpans] with what is in the kernel's buffers.
func TestKernelRandomSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	_, p, _, name := onKernel(t)
	cs, err := ueventstrace.NewExporter(name, ueventstrace.WithCommonSchema4())
	require.NoError(t, err)
	defer func() { require.NoError(t, cs.Shutdown(t.Context())) }()
	i := kerneltest.NewInstance(t, fs, 1024)
	for _, suffix := range append([]string{"_L4K4"}, endSuffixes...) {
		i.Attach(name + suffix)
	}
	r := source{rand.New(rand.NewPCG(3, 4))}
	for range 300 {
		s := r.span()
		span := s.Snapshot()
		p.OnEnd(span)
		require.NoError(t, cs.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{span}))
		records := i.Records()
		last := len(records) - 1
		require.Equal(t, name+"_L4K4", records[last].Event)
		checkCommonSchema(t, &s, records[last].Event, records[last].Payload)
		var got []fields
		for _, r := range records[:last] {
			got = append(got, decodeKernel(t, fs, r))
		}
		checkTyped(t, name, &s, got, endSuffixes...)
	}
}

// TestKernelLongestName: the kernel takes the declarations of all events with the longest name.
func TestKernelLongestName(t *testing.T) {
	fs := kerneltest.Require(t)
	name := uniqueName()
	name += strings.Repeat("n", 64-len(name))
	p, err := ueventstrace.NewProcessor(name, ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Shutdown(t.Context())) }()
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(name + "_span")
	s := source{rand.New(rand.NewPCG(7, 8))}.span()
	p.OnEnd(s.Snapshot())
	records := i.Records()
	require.Len(t, records, 1)
	checkTyped(t, name, &s, []fields{decodeKernel(t, fs, records[0])}, "_span")
}

// TestKernelRecordedRandomSpans is [TestRecordedRandomSpans] with what is in the kernel's buffers.
func TestKernelRecordedRandomSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	name := uniqueName()
	open := func(opts ...ueventstrace.Option) *ueventstrace.TracerProvider {
		p, err := ueventstrace.NewTracerProvider(name, append(opts, ueventstrace.WithResource(res))...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
		return p
	}
	p, cs := open(), open(ueventstrace.WithCommonSchema4())
	i := kerneltest.NewInstance(t, fs, 1024)
	for _, suffix := range append([]string{"_L4K4"}, endSuffixes...) {
		i.Attach(name + suffix)
	}
	r := source{rand.New(rand.NewPCG(9, 10))}
	for range 300 {
		s := r.span()
		span := replay(p, &s)
		var got []fields
		for _, r := range i.Records() {
			got = append(got, decodeKernel(t, fs, r))
		}
		twin := replay(cs, &s)
		checkTyped(t, name, stub(span, twin), grouped(got), endSuffixes...)
		records := i.Records()
		require.Len(t, records, 1)
		checkCommonSchema(t, stub(twin, twin), records[0].Event, records[0].Payload)
	}
}
