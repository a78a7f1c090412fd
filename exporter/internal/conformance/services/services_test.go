package services

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// operator attaches a tracing tool to all events of a name, and detaches it.
type operator interface {
	attach()
	detach()
	records() int // written so far
}

// testServices: what backends and the last service receive does not depend on whether a tool is
// attached to the events of the service between them.
func testServices(t *testing.T, requests, often int, p *uevents.Provider, name string, tool operator) {
	s := newServices(t)
	ratio := sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.1))
	always := sdktrace.ParentBased(sdktrace.AlwaysSample())
	// gated returns the SDK's options for spans of the second service.
	gated := func(r *run) []sdktrace.TracerProviderOption {
		processor, err := ueventstrace.NewProcessor(name, ueventstrace.WithProvider(p))
		require.NoError(r.t, err)
		sampler := ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5)), processor)
		return []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(processor), sdktrace.WithSampler(sampler)}
	}
	for _, middle := range []struct {
		name    string
		exports bool // or passes on what it got, so that a backend has the parents of all spans
		roots   int  // requests whose trace begins at the last service
		new     tracerProvider
	}{
		{"own provider", true, requests / 3, func(r *run) trace.TracerProvider {
			provider, err := ueventstrace.NewTracerProvider(name, ueventstrace.WithProvider(p))
			require.NoError(r.t, err)
			r.shutdown = append(r.shutdown, provider.Shutdown)
			return provider
		}},
		{"SDK", false, 0, func(r *run) trace.TracerProvider { return r.ids("middle", 4, gated(r)...) }},
		{"SDK with OTLP", true, 0, func(r *run) trace.TracerProvider { return r.sdk("middle", 4, gated(r)...) }},
	} {
		for _, sampling := range []struct {
			name string
			samplers
		}{
			{"ratio", samplers{ratio, ratio}},
			{"always", samplers{always, always}},
			{"never at the leaf", samplers{always, sdktrace.NeverSample()}},
		} {
			t.Run(middle.name+"/"+sampling.name, func(t *testing.T) {
				nothing := func() {}
				start := func(r *run) trace.TracerProvider {
					logs, err := ueventslog.NewProcessor(name, ueventslog.WithProvider(p))
					require.NoError(r.t, err)
					r.logs(logs)
					return middle.new(r)
				}
				before := tool.records()
				disabled := s.serve(t, requests, sampling.samplers, start, nothing)
				require.Zero(t, tool.records()-before)
				require.Len(t, disabled["headers"], requests)
				require.NotEmpty(t, disabled["edge"])
				require.NotEmpty(t, disabled["library"])
				require.Len(t, disabled["logs"], requests)
				headers := strings.Join(disabled["headers"], "")
				for header, times := range map[string]int{"Traceparent: ": requests - middle.roots, "Tracestate: vendor=1": requests / 3, "Baggage: route=edge": requests / 3, "Baggage: tenant=blue": requests / 2} {
					assert.Equal(t, times, strings.Count(headers, header), header)
				}
				if middle.exports {
					assert.Empty(t, orphans(disabled), "spans whose parent no backend has")
				}

				enabled := s.serve(t, requests, sampling.samplers, func(r *run) trace.TracerProvider {
					provider := start(r)
					tool.attach()
					return provider
				}, nothing)
				tool.detach()
				all := tool.records() - before
				assert.Equal(t, requests/6*47, all)
				assertSame(t, disabled, enabled, "while a tool is attached")

				random, attached := rand.New(rand.NewPCG(5, 0)), false
				changing := s.serve(t, requests, sampling.samplers, start, func() {
					if random.IntN(often) > 0 {
						return
					}
					if attached = !attached; attached {
						tool.attach()
					} else {
						tool.detach()
					}
				})
				tool.detach()
				some := tool.records() - before - all
				assert.Positive(t, some)
				assert.Less(t, some, all)
				assertSame(t, disabled, changing, "while a tool attaches and detaches")
			})
		}
	}
}

// assertSame compares what came of two runs.
func assertSame(t *testing.T, want, got outcome, when string) {
	t.Helper()
	for _, receiver := range []string{"edge", "middle", "leaf", "library", "logs", "headers"} {
		var others []string
		for _, text := range got[receiver] {
			if !slices.Contains(want[receiver], text) {
				others = append(others, text)
			}
		}
		if len(others) > 0 || len(got[receiver]) != len(want[receiver]) {
			t.Errorf("%s: %s received %d instead of %d, of which %d are others: %s", when, receiver, len(got[receiver]), len(want[receiver]), len(others), others[:min(1, len(others))])
		}
	}
}

// orphans returns the spans whose parent no backend has, and that was not in a request from outside.
func orphans(o outcome) (list []string) {
	known, parents := map[string]bool{}, map[string]string{}
	for _, spans := range o {
		for _, text := range spans {
			var trace, span, parent string
			if n, _ := fmt.Sscanf(text, "trace %s span %s parent %s", &trace, &span, &parent); n == 3 {
				known[span], parents[text] = true, parent
			}
		}
	}
	for text, parent := range parents {
		if !known[parent] && parent != "flags" && !strings.HasPrefix(parent, "0000000000def") {
			list = append(list, text)
		}
	}
	return list
}

// simulated is a tool of the simulated kernel.
type simulated struct {
	t      *testing.T
	kernel *ueventstest.Kernel
	tool   *ueventstest.Tool
	n      int
}

func (s *simulated) attach() {
	var err error
	if s.tool, err = s.kernel.Attach(ueventstest.Perf, "middle_*"); err != nil {
		s.t.Error(err)
	}
}

func (s *simulated) detach() {
	if s.tool != nil {
		s.tool.Detach()
		s.records()
		s.tool = nil
	}
}

func (s *simulated) records() int {
	if s.tool != nil {
		s.n += len(s.tool.Records())
		assert.Zero(s.t, s.tool.Lost())
	}
	return s.n
}

// TestServices: three services, of which the second one writes events.
func TestServices(t *testing.T) {
	testscale.HostOnly(t)
	kernel, p := recordtest.Kernel(t)
	testServices(t, testscale.Count(60, 30), 4, p, "middle", &simulated{t: t, kernel: kernel})
}
