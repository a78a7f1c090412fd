package ueventstrace_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// call is a call of OpenTelemetry's API in a world.
type call func(w *world)

// world is where a program runs: a provider, and the spans and contexts that the program has made.
type world struct {
	tracers  []trace.Tracer
	spans    []trace.Span
	contexts []context.Context
	nils     bool // pass nil options too, on which the SDK panics
}

func newWorld(p trace.TracerProvider, nils bool) *world {
	return &world{
		tracers: []trace.Tracer{
			p.Tracer("my/package", trace.WithInstrumentationVersion("v1.2.3")),
			p.Tracer("other", trace.WithSchemaURL("https://example.com"), trace.WithInstrumentationAttributes(attribute.Int("n", 1), deepAttribute)),
			p.Tracer("größe\n\x1b\xff"),
			p.Tracer(strings.Repeat("a long name ", 100)),
		},
		contexts: append([]context.Context{nil}, callers...),
		nils:     nils,
	}
}

// callers are contexts that a program gets from outside.
var callers = func() []context.Context {
	ctx := context.Background()
	state, err := trace.ParseTraceState("vendor=1")
	if err != nil {
		panic(err)
	}
	carried, err := baggage.Parse("tenant=7")
	if err != nil {
		panic(err)
	}
	foreign, _ := sdktrace.NewTracerProvider().Tracer("x").Start(ctx, "of another provider, which records")
	return []context.Context{
		ctx,
		trace.ContextWithRemoteSpanContext(ctx, remote.WithTraceState(state)),
		trace.ContextWithSpanContext(ctx, remote.WithTraceFlags(0).WithRemote(false)),
		trace.ContextWithSpanContext(ctx, remote.WithSpanID(trace.SpanID{})),
		trace.ContextWithSpanContext(ctx, remote.WithTraceID(trace.TraceID{}).WithTraceState(state)),
		baggage.ContextWithBaggage(trace.ContextWithRemoteSpanContext(ctx, remote), carried),
		foreign,
	}
}()

func (w *world) run(calls []call) {
	for _, c := range calls {
		c(w)
	}
}

// generator makes random programs.
type generator struct{ *rand.Rand }

// program returns the calls of a program, which ends all spans that it starts.
func (g generator) program() (calls []call) {
	spans := 0
	for range 1 + g.IntN(12) {
		if spans == 0 || g.IntN(4) == 0 {
			calls = append(calls, g.start(spans))
			spans++
			continue
		}
		calls = append(calls, g.use(g.IntN(spans)))
	}
	for _, i := range g.Perm(spans) {
		calls = append(calls, g.end(i), g.use(i))
	}
	return calls
}

// start starts a span in one of the contexts that there are.
func (g generator) start(spans int) call {
	parent, name, tracer := g.IntN(1+len(callers)+spans), pick(g, texts), g.IntN(4)
	var options []trace.SpanStartOption
	for range g.IntN(4) {
		switch g.IntN(7) {
		case 0:
			options = append(options, trace.WithSpanKind(trace.SpanKind(g.IntN(8)-1)))
		case 1:
			options = append(options, trace.WithTimestamp(pick(g, times)))
		case 2:
			options = append(options, trace.WithLinks(g.link(), g.link()))
		case 3:
			options = append(options, trace.WithNewRoot())
		case 4:
			options = append(options, nil)
		default:
			options = append(options, trace.WithAttributes(g.attributes()...))
		}
	}
	return func(w *world) {
		ctx, s := w.tracers[tracer].Start(w.contexts[parent], name, usable(w, options)...)
		w.contexts, w.spans = append(w.contexts, ctx), append(w.spans, s)
	}
}

// use calls a method of a span, which may have ended.
func (g generator) use(span int) call {
	on := func(f func(trace.Span)) call { return func(w *world) { f(w.spans[span]) } }
	switch g.IntN(8) {
	case 0:
		name := pick(g, texts)
		return on(func(s trace.Span) { s.SetName(name) })
	case 1:
		code, description := codes.Code(g.IntN(4)), pick(g, texts)
		return on(func(s trace.Span) { s.SetStatus(code, description) })
	case 2:
		link := g.link()
		return on(func(s trace.Span) { s.AddLink(link) })
	case 3:
		name, options := pick(g, texts), g.eventOptions()
		return func(w *world) { w.spans[span].AddEvent(name, usable(w, options)...) }
	case 4:
		err, options := pick(g, failures), g.eventOptions()
		return func(w *world) { w.spans[span].RecordError(err, usable(w, options)...) }
	case 5:
		if g.IntN(4) == 0 {
			return g.end(span)
		}
		fallthrough
	default:
		list := g.attributes()
		return on(func(s trace.Span) { s.SetAttributes(list...) })
	}
}

func (g generator) end(span int) call {
	var options []trace.SpanEndOption
	switch g.IntN(4) {
	case 0:
		options = append(options, trace.WithTimestamp(pick(g, times)))
	case 1:
		options = append(options, nil, trace.WithStackTrace(true))
	}
	return func(w *world) { w.spans[span].End(usable(w, options)...) }
}

func (g generator) eventOptions() (options []trace.EventOption) {
	for range g.IntN(3) {
		switch g.IntN(6) {
		case 0:
			options = append(options, trace.WithTimestamp(pick(g, times)))
		case 1:
			options = append(options, trace.WithStackTrace(true))
		case 2:
			options = append(options, nil)
		default:
			options = append(options, trace.WithAttributes(g.attributes()...))
		}
	}
	return options
}

func (g generator) link() trace.Link {
	c := trace.SpanContextFromContext(pick(g, callers))
	return trace.Link{SpanContext: c, Attributes: g.attributes()}
}

// attributes returns a few attributes, and now and then very many.
func (g generator) attributes() (list []attribute.KeyValue) {
	n := g.IntN(4)
	if g.IntN(100) == 0 {
		n = g.IntN(150)
	}
	for range n {
		kv := attribute.KeyValue{Key: pick(g, keys), Value: pick(g, values)}
		if n > 4 {
			kv.Key += attribute.Key(fmt.Sprint(g.IntN(n)))
		}
		list = append(list, kv)
	}
	return list
}

func pick[E any](g generator, list []E) E { return list[g.IntN(len(list))] }

// usable returns the options for a world.
func usable[O comparable](w *world, options []O) (out []O) {
	var none O
	for _, o := range options {
		if o != none || w.nils {
			out = append(out, o)
		}
	}
	return out
}

var (
	texts = []string{"", "a", "GET /users", "größe 名前", "\xff\xfebad\x00", "a\xffb\xffc", "\ufffd\ufffdx", strings.Repeat("long ä", 50), "a\nb\u202e"}
	keys  = []attribute.Key{"", "a", "b", "c", "d", "http.request.method", "\xff", "größe"}
	times = []time.Time{{}, when, when.Add(-time.Hour), time.Unix(0, 0), time.Unix(-1, 5), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

	failures = []error{nil, errors.New("it broke"), fmt.Errorf("%w", context.Canceled), customError{"x"}, &customError{"\xff"}, errors.Join(context.Canceled, context.Canceled)}

	deepAttribute = attribute.KeyValue{Key: "deep", Value: deep(70)}
	values        = []attribute.Value{
		attribute.StringValue(""), attribute.StringValue("x"), attribute.StringValue("größe 名前"), attribute.StringValue("a\xffb\xffcdefghi"),
		attribute.StringValue(strings.Repeat("long ä", 50)), attribute.StringValue("\ufffd\ufffdx\xffyz"),
		attribute.IntValue(0), attribute.Int64Value(math.MinInt64), attribute.BoolValue(true),
		attribute.Float64Value(0.1), attribute.Float64Value(math.Inf(-1)),
		{},
		attribute.StringSliceValue([]string{"größe", "\xffabc", ""}), attribute.StringSliceValue(nil),
		attribute.Int64SliceValue([]int64{1, 2}), attribute.BoolSliceValue([]bool{true}), attribute.Float64SliceValue([]float64{0.5}),
		attribute.Int64SliceValue(make([]int64, 2000)),
		attribute.ByteSliceValue([]byte("bytes \xff")),
		attribute.SliceValue(), attribute.SliceValue(attribute.StringValue("größe"), attribute.IntValue(1)),
		attribute.MapValue(), attribute.MapValue(attribute.String("k", "first"), attribute.String("k", "last"), attribute.String("a", "größe")),
		attribute.SliceValue(attribute.MapValue(attribute.Int("k", 1), attribute.Int("k", 2)), attribute.StringSliceValue([]string{"größe"})),
		attribute.MapValue(attribute.KeyValue{Key: "k", Value: attribute.MapValue(attribute.String("x", "first"), attribute.String("x", "größe"))}),
		deepAttribute.Value,
	}
)

type customError struct{ text string }

func (e customError) Error() string { return e.text }

// deep returns a value of so many lists and maps inside of each other.
func deep(n int) attribute.Value {
	v := attribute.StringSliceValue([]string{"innermost"})
	for i := range n {
		if i%2 == 0 {
			v = attribute.SliceValue(v, attribute.IntValue(i))
		} else {
			v = attribute.MapValue(attribute.KeyValue{Key: "k", Value: v})
		}
	}
	return v
}
