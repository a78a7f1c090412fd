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
// then recorded and not sampled (RecordOnly). The sampled flag and the trace state, which the span propagates, are those that
// inner decides, always. A nil inner means the SDK's default: spans are sampled as their parents, and roots always.
//
// The processors that the SDK has for exporters, simple and batch, skip spans that are not sampled: exporters get the spans that
// inner decides. Any other processor of the provider gets the spans that are recorded only, too, while an event is enabled: such as one
// that shows recent spans, counts them, or has a queue of its own. It tells them by SpanContext().IsSampled().
// Instrumentation treats them as all spans with IsRecording().
//
//	sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)), processor))
//
// Put it around [sdktrace.ParentBased] and not inside, where it would not be asked about spans with a parent.
func NewSampler(inner sdktrace.Sampler, gate *Processor) sdktrace.Sampler {
	if inner == nil {
		inner = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	return &sampler{inner, gate.sink}
}

// ShouldSample asks the inner sampler, and records the spans that it drops while an event is enabled.
func (s *sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := s.inner.ShouldSample(p)
	switch result.Decision {
	case sdktrace.RecordOnly, sdktrace.RecordAndSample:
	default: // the SDK drops spans for values that it does not know, too
		if s.gate.All.Enabled() {
			result.Decision = sdktrace.RecordOnly
		}
	}
	return result
}

// Description names the sampler and the inner one.
func (s *sampler) Description() string {
	return fmt.Sprintf("UserEvents{%s}", s.inner.Description())
}
