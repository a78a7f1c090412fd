package autoexport_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// pipeline is a program that takes part in a trace: how it makes spans and reads and writes headers.
type pipeline struct {
	provider   trace.TracerProvider
	propagator propagation.TextMapPropagator
	kernel     *ueventstest.Kernel // nil without user events
}

// install returns what Setup installs for these exporters of spans.
func install(t *testing.T, exporters, propagator string, opts ...autoexport.Option) pipeline {
	p := newProgram(t, "none")
	t.Setenv("OTEL_TRACES_EXPORTER", exporters)
	t.Setenv("OTEL_PROPAGATORS", propagator+",baggage")
	shutdown, err := p.setup(append(opts, shop, autoexport.WithoutProcessContext())...) // a process has one context, and several pipelines here
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shutdown(context.Background())) })
	return pipeline{otel.GetTracerProvider(), otel.GetTextMapPropagator(), p.kernel}
}

// plain returns the SDK as a program without this module has it, with contrib's propagator.
func plain(t *testing.T, propagator string) pipeline {
	p, err := autoprop.TextMapPropagator(propagator, "baggage")
	require.NoError(t, err)
	provider := sdktrace.NewTracerProvider()
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return pipeline{provider, p, nil}
}

// attach attaches a tool to all events, and returns what detaches it.
func (p pipeline) attach(t *testing.T) (detach func()) {
	tool, err := p.kernel.Attach(ueventstest.Perf, "*")
	require.NoError(t, err)
	return tool.Detach
}

// request is what a program does before it sends headers.
type request struct {
	caller  string
	context func(propagation.TextMapPropagator) context.Context
	spans   int // that are open
	root    bool
}

// send returns the headers that the program sends.
func (p pipeline) send(t *testing.T, r request) string {
	ctx := r.context(p.propagator)
	for n := range r.spans {
		var opts []trace.SpanStartOption
		if r.root && n == 0 {
			opts = []trace.SpanStartOption{trace.WithNewRoot()}
		}
		var span trace.Span
		ctx, span = p.provider.Tracer("t").Start(ctx, "work", opts...)
		defer span.End()
	}
	headers := propagation.MapCarrier{}
	p.propagator.Inject(ctx, headers)
	assert.Equal(t, "tenant=blue", headers["baggage"])
	delete(headers, "baggage")
	sc := trace.SpanContextFromContext(ctx)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+": "+headers[name])
	}
	return strings.NewReplacer(slices.Concat(
		forms(callerTrace, "P"), []string{callerSpan, "p"}, forms(sc.TraceID().String(), "N"), []string{sc.SpanID().String(), "n"},
	)...).Replace(strings.Join(lines, ", "))
}

// forms returns pairs for a replacer: a trace id as the propagators write it, and a letter.
func forms(id, letter string) []string {
	return []string{id, letter, xrayForm(id), letter, id[16:], letter}
}

func xrayForm(id string) string { return "1-" + id[:8] + "-" + id[8:] }

// extracted returns the context in which a service handles a request with these headers.
func extracted(headers string) func(propagation.TextMapPropagator) context.Context {
	carrier := propagation.MapCarrier{}
	for pair := range strings.SplitSeq(headers, ", ") {
		name, value, _ := strings.Cut(pair, ": ")
		id := callerTrace
		if name == "X-Amzn-Trace-Id" {
			id = xrayForm(id)
		}
		value = regexp.MustCompile(`\bP\b`).ReplaceAllString(value, id)
		carrier[name] = regexp.MustCompile(`\bp\b`).ReplaceAllString(value, callerSpan)
	}
	return func(p propagation.TextMapPropagator) context.Context { return p.Extract(withBaggage(), carrier) }
}

// local returns the context of a span in the same program.
func local(flags trace.TraceFlags) func(propagation.TextMapPropagator) context.Context {
	traceID, _ := trace.TraceIDFromHex(callerTrace)
	spanID, _ := trace.SpanIDFromHex(callerSpan)
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: flags})
	return func(propagation.TextMapPropagator) context.Context {
		return trace.ContextWithSpanContext(withBaggage(), sc)
	}
}

func withBaggage() context.Context {
	member, _ := baggage.NewMember("tenant", "blue")
	bag, _ := baggage.New(member)
	return baggage.ContextWithBaggage(context.Background(), bag)
}
