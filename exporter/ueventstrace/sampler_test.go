package ueventstrace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestSampler is the table of inner samplers, parents, and whether an event is enabled. The sampled flag of a span that
// the SDK starts is the same in both cases.
func TestSampler(t *testing.T) {
	testscale.HostOnly(t)
	rig := newRig(t)
	recordOnly := fixed{sdktrace.RecordOnly}
	for _, c := range []struct {
		inner         sdktrace.Sampler
		parent        trace.TraceFlags // 0xff: none
		quiet, traced sdktrace.SamplingDecision
	}{
		{sdktrace.NeverSample(), 0xff, sdktrace.Drop, sdktrace.RecordOnly},
		{nil, 0xff, sdktrace.RecordAndSample, sdktrace.RecordAndSample}, // the SDK's default
		{sdktrace.AlwaysSample(), 0xff, sdktrace.RecordAndSample, sdktrace.RecordAndSample},
		{recordOnly, 0xff, sdktrace.RecordOnly, sdktrace.RecordOnly},
		{fixed{77}, 0xff, 77, sdktrace.RecordOnly},
		{sdktrace.TraceIDRatioBased(0), 0xff, sdktrace.Drop, sdktrace.RecordOnly},
		{sdktrace.ParentBased(sdktrace.AlwaysSample()), 0, sdktrace.Drop, sdktrace.RecordOnly},
		{nil, 0, sdktrace.Drop, sdktrace.RecordOnly},
		{sdktrace.ParentBased(sdktrace.NeverSample()), trace.FlagsSampled, sdktrace.RecordAndSample, sdktrace.RecordAndSample},
	} {
		s := ueventstrace.NewSampler(c.inner, rig.Processor)
		p := sdktrace.SamplingParameters{ParentContext: t.Context(), TraceID: remote.TraceID(), Name: "s"}
		if c.parent != 0xff {
			p.ParentContext = trace.ContextWithRemoteSpanContext(fromRemote(t.Context(), "vendor=1"), remote.WithTraceFlags(c.parent).WithTraceState(remote.TraceState()))
		}
		tracer := rig.newProvider(sdktrace.WithSampler(s)).Tracer("x")
		assert.Equal(t, c.quiet, s.ShouldSample(p).Decision, s.Description())
		_, disabled := tracer.Start(p.ParentContext, "s")
		tr := rig.attach(t, "app_span_event")
		_, enabled := tracer.Start(p.ParentContext, "s")
		assert.True(t, enabled.IsRecording())
		assert.Equal(t, disabled.SpanContext().TraceFlags(), enabled.SpanContext().TraceFlags(), s.Description())
		assert.Equal(t, disabled.SpanContext().TraceState(), enabled.SpanContext().TraceState(), s.Description())
		got := s.ShouldSample(p)
		assert.Equal(t, c.traced, got.Decision, s.Description())
		if c.inner != nil {
			assert.Equal(t, c.inner.ShouldSample(p).Tracestate, got.Tracestate)
			assert.Equal(t, c.inner.ShouldSample(p).Attributes, got.Attributes)
		}
		tr.Detach()
	}
	assert.Equal(t, "UserEvents{ParentBased{root:AlwaysOnSampler,remoteParentSampled:AlwaysOnSampler,remoteParentNotSampled:AlwaysOffSampler,localParentSampled:AlwaysOnSampler,localParentNotSampled:AlwaysOffSampler}}",
		ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.AlwaysSample()), rig.Processor).Description())
}

type fixed struct{ decision sdktrace.SamplingDecision }

func (f fixed) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: f.decision}
}

func (fixed) Description() string { return "fixed" }

// TestOtherProcessors: the SDK's processors for exporters skip a span that is recorded and not sampled, and any other
// processor gets it.
func TestOtherProcessors(t *testing.T) {
	rig := newRig(t)
	batched, recorder := tracetest.NewInMemoryExporter(), tracetest.NewSpanRecorder()
	provider := rig.newProvider(sdktrace.WithSyncer(rig.memory), sdktrace.WithBatcher(batched), sdktrace.WithSpanProcessor(recorder),
		sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.NeverSample(), rig.Processor)))
	defer func() { require.NoError(t, provider.Shutdown(t.Context())) }()
	start := func() {
		_, s := provider.Tracer("x").Start(t.Context(), "s")
		s.End()
		require.NoError(t, provider.ForceFlush(t.Context()))
	}
	start()
	assert.Empty(t, recorder.Started(), "disabled")
	rig.attach(t, "app_span_link")
	start()
	assert.Len(t, recorder.Started(), 1)
	assert.Len(t, recorder.Ended(), 1)
	assert.Empty(t, rig.memory.GetSpans())
	assert.Empty(t, batched.GetSpans())
}

// TestSampledFlagStays: a tracing tool gets spans that no exporter gets, and no service downstream is
// told to sample.
func TestSampledFlagStays(t *testing.T) {
	rig := newRig(t)
	provider := rig.newProvider(sdktrace.WithSyncer(rig.memory), sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.NeverSample(), rig.Processor)))
	tracer := provider.Tracer("x")
	ctx := fromRemote(t.Context(), "vendor=1")
	_, s := tracer.Start(ctx, "quiet")
	assert.False(t, s.IsRecording())
	tr := rig.attach(t, "app_span")
	_, s = tracer.Start(ctx, "traced")
	assert.True(t, s.IsRecording())
	assert.False(t, s.SpanContext().IsSampled())
	assert.Equal(t, "vendor=1", s.SpanContext().TraceState().String())
	s.End()
	got := records(t, tr)
	require.Len(t, got, 1)
	assert.Equal(t, "traced", got[0]["name"])
	assert.Equal(t, "0", got[0]["trace_flags"])
	assert.Empty(t, rig.memory.GetSpans())
}

// counter makes ids that are spread over all values and the same in each run.
type counter struct{ random *rand.Rand }

func (c counter) NewIDs(ctx context.Context) (id trace.TraceID, _ trace.SpanID) {
	for n := range id {
		id[n] = byte(c.random.Uint32())
	}
	return id, c.NewSpanID(ctx, id)
}

func (c counter) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for n := range id {
		id[n] = byte(c.random.Uint32())
	}
	return id
}

// flags returns the flags of spans: roots, and with sampled and other parents, remote and local.
func flags(opts ...sdktrace.TracerProviderOption) (all string) {
	ids := counter{rand.New(rand.NewPCG(1, 2))}
	tracer := sdktrace.NewTracerProvider(append(opts, sdktrace.WithIDGenerator(ids))...).Tracer("t")
	for n := range 1000 {
		ctx := context.Background()
		if n%5 > 0 {
			trace_, span := ids.NewIDs(ctx)
			ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace_, SpanID: span, TraceFlags: trace.TraceFlags(n % 5 & 1), Remote: n%5 > 2,
			}))
		}
		_, span := tracer.Start(ctx, "s")
		all += span.SpanContext().TraceFlags().String()[1:]
		span.End()
	}
	return all
}

// TestSamplerOfEnvironment: a sampler around the default samples as the SDK does with that of the environment.
func TestSamplerOfEnvironment(t *testing.T) {
	testscale.HostOnly(t)
	p := newRig(t).Processor
	different := map[string]bool{}
	for _, name := range []string{
		"", "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
		" Always_OFF ", "parentbased_", "parentbased_parentbased_always_off", "jaeger_remote", "parentbased_jaeger_remote", "xray", "off", "0.5",
	} {
		for _, arg := range []string{"", "0", "0.3", " 0.7 ", "1", "1.0001", "-0.1", "1e-3", "1e999", "NaN", "Inf", "half", "0,5", "0x1p-2"} {
			t.Run(fmt.Sprintf("%s=%s", name, arg), func(t *testing.T) {
				t.Setenv("OTEL_TRACES_SAMPLER", name)
				t.Setenv("OTEL_TRACES_SAMPLER_ARG", arg)
				want := flags()
				assert.Equal(t, want, flags(sdktrace.WithSampler(ueventstrace.NewSampler(nil, p))))
				different[want] = true
			})
		}
	}
	assert.Greater(t, len(different), 8, "the spans tell samplers apart")
}
