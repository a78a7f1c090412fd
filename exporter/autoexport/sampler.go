package autoexport

import (
	"os"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// samplerFromEnv returns the sampler that the SDK takes from OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. The SDK
// keeps its own to itself, where [ueventstrace.NewSampler] cannot wrap it. The SDK reads the variables even if it is
// given a sampler, and reports what is wrong with them.
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
