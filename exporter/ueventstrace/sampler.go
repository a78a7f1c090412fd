package ueventstrace

import (
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type sampler struct {
	inner sdktrace.Sampler
	gate  *sink
}

// NewSampler returns a sampler that lets spans be recorded while anybody traces the events of
// gate. What inner says decides everything else: a span that it drops becomes one that is
// recorded and not sampled (RecordOnly). So the sampled flag that is sent downstream, and
// what other exporters get, stays what it was. A nil inner means [sdktrace.NeverSample].
//
//	sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)), processor))
//
// It goes outside of [sdktrace.ParentBased], which would otherwise not ask it for spans with
// a parent.
func NewSampler(inner sdktrace.Sampler, gate *Processor) sdktrace.Sampler {
	if inner == nil {
		inner = sdktrace.NeverSample()
	}
	return &sampler{inner, gate.sink}
}

// ShouldSample asks the inner sampler, and records what it drops while anybody traces.
func (s *sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := s.inner.ShouldSample(p)
	if result.Decision == sdktrace.Drop && s.gate.All.Enabled() {
		result.Decision = sdktrace.RecordOnly
	}
	return result
}

// Description names the sampler and the inner one.
func (s *sampler) Description() string {
	return fmt.Sprintf("UserEventsTraced{%s}", s.inner.Description())
}
