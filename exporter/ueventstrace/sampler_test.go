package ueventstrace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// TestSampler is the table of inner samplers, parents, and whether anybody traces.
func TestSampler(t *testing.T) {
	rig := newRig(t)
	recordOnly := fixed{sdktrace.RecordOnly}
	for _, c := range []struct {
		inner         sdktrace.Sampler
		parent        trace.TraceFlags // 0xff: none
		quiet, traced sdktrace.SamplingDecision
	}{
		{sdktrace.NeverSample(), 0xff, sdktrace.Drop, sdktrace.RecordOnly},
		{nil, 0xff, sdktrace.Drop, sdktrace.RecordOnly},
		{sdktrace.AlwaysSample(), 0xff, sdktrace.RecordAndSample, sdktrace.RecordAndSample},
		{recordOnly, 0xff, sdktrace.RecordOnly, sdktrace.RecordOnly},
		{sdktrace.TraceIDRatioBased(0), 0xff, sdktrace.Drop, sdktrace.RecordOnly},
		{sdktrace.ParentBased(sdktrace.AlwaysSample()), 0, sdktrace.Drop, sdktrace.RecordOnly},
		{sdktrace.ParentBased(sdktrace.NeverSample()), trace.FlagsSampled, sdktrace.RecordAndSample, sdktrace.RecordAndSample},
	} {
		s := ueventstrace.NewSampler(c.inner, rig.Processor)
		p := sdktrace.SamplingParameters{ParentContext: t.Context(), TraceID: remote.TraceID(), Name: "s"}
		if c.parent != 0xff {
			p.ParentContext = trace.ContextWithRemoteSpanContext(fromRemote(t.Context(), "vendor=1"), remote.WithTraceFlags(c.parent).WithTraceState(remote.TraceState()))
		}
		assert.Equal(t, c.quiet, s.ShouldSample(p).Decision, s.Description())
		tr := rig.attach(t, "app_span_event")
		got := s.ShouldSample(p)
		assert.Equal(t, c.traced, got.Decision, s.Description())
		if c.inner != nil {
			assert.Equal(t, c.inner.ShouldSample(p).Tracestate, got.Tracestate)
			assert.Equal(t, c.inner.ShouldSample(p).Attributes, got.Attributes)
		}
		tr.Detach()
	}
	assert.Equal(t, "UserEventsTraced{ParentBased{root:AlwaysOnSampler,remoteParentSampled:AlwaysOnSampler,remoteParentNotSampled:AlwaysOffSampler,localParentSampled:AlwaysOnSampler,localParentNotSampled:AlwaysOffSampler}}",
		ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.AlwaysSample()), rig.Processor).Description())
}

type fixed struct{ decision sdktrace.SamplingDecision }

func (f fixed) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: f.decision}
}

func (fixed) Description() string { return "fixed" }

// TestSampledFlagStays: a tracer gets spans that nobody else gets, and nobody downstream is
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
