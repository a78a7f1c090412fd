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

// ownSpans returns the SDK's provider with this project's processor and sampler, this project's provider, and the name
// of the event of the latter.
func ownSpans(tb testing.TB) (sampled, own trace.TracerProvider, event string) {
	name := uniqueName()
	p, err := ueventstrace.NewProcessor(name)
	allow(tb, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithSampler(ueventstrace.NewSampler(nil, p)))
	tb.Cleanup(func() { require.NoError(tb, provider.Shutdown(context.Background())) })
	name = uniqueName()
	spans, err := ueventstrace.NewTracerProvider(name)
	allow(tb, err)
	tb.Cleanup(func() { require.NoError(tb, spans.Shutdown(context.Background())) })
	return provider, spans, name + "_span"
}

func ownSpansOff(b *testing.B, s scenario) {
	sampled, own, _ := ownSpans(b)
	run(b, "ueventstrace-sampler/"+s.name, call{log: spanCall(sampled, s)})
	run(b, "ueventstrace/"+s.name, call{log: spanCall(own, s)})
}

func ownSpansOn(b *testing.B, s scenario) {
	if unavailable() != nil {
		return
	}
	_, own, event := ownSpans(b)
	kerneltest.NewInstance(b, kerneltest.Require(b), 64).Attach(event)
	run(b, "ueventstrace/"+s.name, call{log: spanCall(own, s)})
}

// TestOwnSpans: a span arrives whole, and none while no tool is attached.
func TestOwnSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, s := range spanScenarios {
		_, own, event := ownSpans(t)
		log := spanCall(own, s)
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
