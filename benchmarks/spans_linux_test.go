package benchmarks

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// ownSpans is a way to make spans with this project. open returns the provider; name is what events are called after.
type ownSpans struct {
	name   string
	open   func(tb testing.TB, name string) trace.TracerProvider
	events []string // suffixes of those that are enabled
}

var ownSpanList = []ownSpans{
	{"ueventstrace", openOwnProvider, []string{"_span"}},
	{"ueventstrace-start", openOwnProvider, []string{"_span", "_span_start"}},
	{"ueventstrace-processor", func(tb testing.TB, name string) trace.TracerProvider {
		return sdk(tb, sdktrace.WithSpanProcessor(newSpanProcessor(tb, name)))
	}, []string{"_span"}},
	{"ueventstrace-sampler", func(tb testing.TB, name string) trace.TracerProvider {
		p := newSpanProcessor(tb, name)
		return sdk(tb, sdktrace.WithSpanProcessor(p), sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.NeverSample(), p)))
	}, []string{"_span"}},
}

func newSpanProcessor(tb testing.TB, name string) *ueventstrace.Processor {
	p, err := ueventstrace.NewProcessor(name)
	allow(tb, err)
	return p
}

func openOwnProvider(tb testing.TB, name string) trace.TracerProvider {
	p, err := ueventstrace.NewTracerProvider(name)
	allow(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Shutdown(context.Background())) })
	return p
}

// attach attaches a tool to the events.
func (o ownSpans) attach(tb testing.TB, name string) *kerneltest.Instance {
	i := kerneltest.NewInstance(tb, kerneltest.Require(tb), 64)
	for _, suffix := range o.events {
		i.Attach(name + suffix)
	}
	return i
}

// ownSpanContenders are this project's, on only where the kernel has user_events.
func ownSpanContenders() (list []spanContender) {
	for _, o := range ownSpanList {
		c := spanContender{name: o.name}
		if len(o.events) == 1 {
			c.off = func(tb testing.TB, s scenario) call { return call{log: spanCall(o.open(tb, uniqueName()), s)} }
		}
		if unavailable() == nil {
			c.on = func(tb testing.TB, s scenario) call {
				name := uniqueName()
				log := spanCall(o.open(tb, name), s)
				o.attach(tb, name)
				return call{log: log}
			}
		}
		list = append(list, c)
	}
	return list
}

// TestOwnSpans: a span arrives whole in each of the enabled events, and in none while no tool is attached.
func TestOwnSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, o := range ownSpanList {
		for _, s := range spanScenarios {
			t.Run(o.name+"/"+s.name, func(t *testing.T) {
				name := uniqueName()
				log := spanCall(o.open(t, name), s)
				log()
				i := o.attach(t, name)
				assert.Empty(t, i.Records())
				log()
				var written []string
				for _, r := range i.Records() {
					written = append(written, r.Event)
					text := decoded(t, fs.Event(r.Event), r.Payload)
					for _, part := range spanParts(s) {
						assert.Contains(t, text, part, r.Event)
					}
				}
				slices.Sort(written)
				require.Len(t, written, len(o.events))
				for n, suffix := range o.events {
					assert.Equal(t, name+suffix, written[n])
				}
			})
		}
	}
}
