package ueventstrace

import (
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type sampler struct {
	inner sdktrace.Sampler
	gate  *sink
}

// NewSampler returns a sampler that records every span while an event of gate is enabled. A span that inner drops is
// then recorded and not sampled (RecordOnly): the propagated sampled flag, and the spans that other exporters
// get, are those that inner decides. A nil inner means [sdktrace.NeverSample].
//
//	sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)), processor))
//
// Put it around [sdktrace.ParentBased] and not inside, where it would not be asked about spans with a parent.
func NewSampler(inner sdktrace.Sampler, gate *Processor) sdktrace.Sampler {
	if inner == nil {
		inner = sdktrace.NeverSample()
	}
	return &sampler{inner, gate.sink}
}

// ShouldSample asks the inner sampler, and records the spans that it drops while an event is enabled.
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
