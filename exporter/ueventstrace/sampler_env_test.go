package ueventstrace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
)

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
