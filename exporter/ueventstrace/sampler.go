package ueventstrace

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type sampler struct {
	inner sdktrace.Sampler
	gate  *sink
}

// NewSampler returns a sampler that records every span while an event of gate is enabled. A span that inner drops is
// then recorded and not sampled (RecordOnly). The sampled flag and the trace state, which the span propagates, are those that
// inner decides, always. A nil inner means the SDK's default: the sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG, and without
// these one that samples all roots, and other spans as their parents.
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
		inner = samplerFromEnv()
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

// samplerFromEnv returns the sampler that the SDK takes from OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. The SDK
// keeps its own to itself. It reads the variables even if it is given a sampler, and reports what is wrong with them.
func samplerFromEnv() sdktrace.Sampler {
	name, parentBased := strings.CutPrefix(strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER"))), "parentbased_")
	var root sdktrace.Sampler
	switch name {
	case "always_on":
		root = sdktrace.AlwaysSample()
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		root = sdktrace.TraceIDRatioBased(ratioFromEnv())
	default:
		return sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	if parentBased {
		return sdktrace.ParentBased(root)
	}
	return root
}

// ratioFromEnv returns 1 for what is no ratio.
func ratioFromEnv() float64 {
	ratio, err := strconv.ParseFloat(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER_ARG")), 64)
	if err != nil || ratio < 0 || ratio > 1 {
		return 1
	}
	return ratio
}
