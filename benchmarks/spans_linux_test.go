package benchmarks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// ownSpans returns a provider that has only this project's processor, with the sampler and behind the gate, and the name of
// the event.
func ownSpans(tb testing.TB) (sampled, gated trace.TracerProvider, event string) {
	name := uniqueName()
	p, err := ueventstrace.NewProcessor(name)
	allow(tb, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithSampler(ueventstrace.NewSampler(nil, p)))
	tb.Cleanup(func() { require.NoError(tb, provider.Shutdown(context.Background())) })
	return provider, ueventstrace.NewTracerProvider(provider, p), name + "_span"
}

func ownSpansOff(b *testing.B, s scenario) {
	sampled, gated, _ := ownSpans(b)
	run(b, "ueventstrace-sampler/"+s.name, call{log: spanCall(sampled, s)})
	run(b, "ueventstrace/"+s.name, call{log: spanCall(gated, s)})
}

func ownSpansOn(b *testing.B, s scenario) {
	if unavailable() != nil {
		return
	}
	_, gated, event := ownSpans(b)
	kerneltest.NewInstance(b, kerneltest.Require(b), 64).Attach(event)
	run(b, "ueventstrace/"+s.name, call{log: spanCall(gated, s)})
}

// TestOwnSpans: a span arrives whole, and none while no tool is attached.
func TestOwnSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, s := range spanScenarios {
		_, gated, event := ownSpans(t)
		log := spanCall(gated, s)
		i := kerneltest.NewInstance(t, fs, 64)
		log()
		i.Attach(event)
		log()
		records := i.Records()
		require.Len(t, records, 1)
		text := decoded(t, fs.Event(event), records[0].Payload)
		for _, part := range spanParts(s) {
			assert.Contains(t, text, part)
		}
	}
}
