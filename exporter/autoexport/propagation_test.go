package autoexport_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/testscale"
)

// The ids of callers. In headers, the tests have P and p for them, and N and n for the ids of a new span.
const (
	callerTrace = "00000000000000008448eb211c80319c" // of 64 bits, as those of ottrace
	callerSpan  = "00f067aa0ba902b7"
)

// received are headers that a service receives.
type received struct {
	caller    string
	headers   string
	forwarded string // what a service sends that takes no part in propagation
	inexact   string // why the propagator sends "do not sample" for a caller that did not say so, with any provider and with none
}

const (
	noIDs     = "contrib's propagator drops a decision without ids"
	undecided = "contrib's propagator reads a missing decision as not sampled"
	tenant    = "ot-baggage-tenant: blue, " // which this propagator sends with a span context
)

// formats are those of the propagators that OTEL_PROPAGATORS can name. Each test has baggage beside them.
var formats = []struct {
	propagator       string
	sampled, dropped string // the headers of a span context, by its sampled flag
	received         []received
}{
	{"baggage", "", "", nil},
	{"tracecontext", "traceparent: 00-P-p-01", "traceparent: 00-P-p-00", []received{
		{"random", "traceparent: 00-P-p-03", "traceparent: 00-P-p-03", ""},
		{"state", "traceparent: 00-P-p-01, tracestate: vendor=1", "traceparent: 00-P-p-01, tracestate: vendor=1", ""},
		{"invalid", "traceparent: 00-P-p-zz", "", ""},
	}},
	{"b3", "b3: P-p-1", "b3: P-p-0", []received{
		{"debug", "b3: P-p-d", "b3: P-p-d", ""},
		{"deferred", "b3: P-p", "b3: P-p", ""},
		{"sampled without ids", "b3: 1", "", noIDs},
		{"dropped without ids", "b3: 0", "", noIDs},
		{"debug without ids", "b3: d", "", noIDs},
	}},
	{"b3multi", "x-b3-sampled: 1, x-b3-spanid: p, x-b3-traceid: P", "x-b3-sampled: 0, x-b3-spanid: p, x-b3-traceid: P", []received{
		{"debug", "x-b3-flags: 1, x-b3-spanid: p, x-b3-traceid: P", "x-b3-flags: 1, x-b3-spanid: p, x-b3-traceid: P", ""},
		{"deferred", "x-b3-spanid: p, x-b3-traceid: P", "x-b3-spanid: p, x-b3-traceid: P", ""},
		{"dropped without ids", "x-b3-sampled: 0", "", noIDs},
		{"debug without ids", "x-b3-flags: 1", "", noIDs},
	}},
	{"jaeger", "uber-trace-id: P:p:0:1", "uber-trace-id: P:p:0:0", []received{
		{"debug", "uber-trace-id: P:p:0:3", "uber-trace-id: P:p:0:3", ""},
		{"no flags", "uber-trace-id: P:p:0:", "uber-trace-id: P:p:0:0", undecided},
	}},
	{"xray", "X-Amzn-Trace-Id: Root=P;Parent=p;Sampled=1", "X-Amzn-Trace-Id: Root=P;Parent=p;Sampled=0", []received{
		{"deferred", "X-Amzn-Trace-Id: Root=P;Parent=p;Sampled=?", "X-Amzn-Trace-Id: Root=P;Parent=p;Sampled=0", undecided},
		{"no flag", "X-Amzn-Trace-Id: Root=P;Parent=p", "X-Amzn-Trace-Id: Root=P;Parent=p;Sampled=0", undecided},
		{"no parent", "X-Amzn-Trace-Id: Root=P;Sampled=1", "", ""},
	}},
	{"ottrace", tenant + "ot-tracer-sampled: true, ot-tracer-spanid: p, ot-tracer-traceid: P", tenant + "ot-tracer-sampled: false, ot-tracer-spanid: p, ot-tracer-traceid: P", []received{
		{"no flag", "ot-tracer-spanid: p, ot-tracer-traceid: P", tenant + "ot-tracer-sampled: false, ot-tracer-spanid: p, ot-tracer-traceid: P", undecided},
	}},
}

// notSampled matches headers by which a service asks those behind it not to sample.
var notSampled = regexp.MustCompile(`traceparent: .*-0[02]\b|b3: (.*-)?0$|x-b3-sampled: 0|uber-trace-id: .*:0$|Sampled=0|ot-tracer-sampled: false`)

// TestPropagation: whether or not a tool is attached, a program sends the same headers. With the SDK they are those of a program
// without this module, and else those of its caller. No header asks not to sample unless the caller or the sampler said so.
func TestPropagation(t *testing.T) {
	testscale.HostOnly(t)
	for _, f := range formats {
		t.Run(f.propagator, func(t *testing.T) {
			m := newMatrix(t, f.propagator)
			for spans := range 3 {
				for _, root := range []bool{false, true} {
					m.check(t, request{"none", extracted(""), spans, root}, "")
					m.check(t, request{"local sampled", local(trace.FlagsSampled), spans, root}, f.sampled)
					m.check(t, request{"local dropped", local(0), spans, root}, f.dropped)
					m.check(t, request{"remote sampled", extracted(f.sampled), spans, root}, f.sampled)
					m.check(t, request{"remote dropped", extracted(f.dropped), spans, root}, f.dropped)
					for _, r := range f.received {
						m.check(t, request{"remote " + r.caller, extracted(r.headers), spans, root}, r.forwarded)
					}
				}
			}
			for _, r := range f.received {
				if r.inexact == "" && notSampled.MatchString(r.forwarded) {
					assert.Regexp(t, notSampled, r.headers)
				}
			}
		})
	}
}

// matrix is the programs that must send the same headers.
type matrix struct {
	none, own, propagating pipeline
	sdks                   map[string][2]pipeline // with this module and without, by the sampler; "" is the default
}

func newMatrix(t *testing.T, propagator string) *matrix {
	m := &matrix{sdks: map[string][2]pipeline{}}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	m.none = install(t, "user_events", propagator)
	m.none.provider = noop.NewTracerProvider()
	t.Setenv("OTEL_SDK_DISABLED", "")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	for _, sampler := range []string{"", "always_on", "always_off", "parentbased_always_off", "parentbased_traceidratio"} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		m.sdks[sampler] = [2]pipeline{install(t, "user_events,otlp", propagator), plain(t, propagator)}
	}
	m.own = install(t, "user_events", propagator) // whatever the sampler is
	m.propagating = install(t, "user_events", propagator, autoexport.WithPropagation())
	return m
}

// check checks what the programs send for a request, of which a service that takes no part forwards these headers.
func (m *matrix) check(t *testing.T, r request, forwarded string) {
	t.Helper()
	own := forwarded
	if r.root && r.spans > 0 {
		own = "" // of no caller
	}
	for _, attached := range []bool{false, true} {
		what := fmt.Sprintf("%s, %d spans, the first one a root: %v, a tool is attached: %v", r.caller, r.spans, r.root, attached)
		if attached {
			defer m.own.attach(t)()
			defer m.propagating.attach(t)()
		}
		assert.Equal(t, forwarded, m.none.send(t, r), "no provider: %s", what)
		assert.Equal(t, own, m.own.send(t, r), "own provider: %s", what)
		for sampler, p := range m.sdks {
			if attached {
				defer p[0].attach(t)()
			}
			want := p[1].send(t, r)
			if r.spans == 0 {
				want = forwarded // the exception: contrib's propagator of B3 sends a decision without ids
			}
			assert.Equal(t, want, p[0].send(t, r), "SDK, sampler %q: %s", sampler, what)
		}
		want := own
		if attached && r.spans > 0 {
			want = m.sdks[""][1].send(t, r) // the exception: events have ids, which the option propagates as the SDK does
		}
		assert.Equal(t, want, m.propagating.send(t, r), "own provider with WithPropagation: %s", what)
	}
}
