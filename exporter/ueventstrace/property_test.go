package ueventstrace_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
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

// TestSameAsSDK: random programs have the same spans as with the SDK that samples all, except that trace flags are the
// caller's, and 1 for roots. The spans take part in propagation, as the SDK's do.
func TestSameAsSDK(t *testing.T) {
	testscale.HostOnly(t)
	programs := testscale.Count(4_000, 600)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		// In the Common Schema a span holds its events and links until it ends.
		p := newOwn(t, ueventstrace.WithPropagation(), ueventstrace.WithCommonSchema4())
		tool := p.attach(t, "app_L4K4")
		wg.Go(func() {
			for n := next.Add(1); n <= int64(programs) && !t.Failed(); n = next.Add(1) {
				g := generator{rand.New(rand.NewPCG(1, uint64(n)))}
				limits := g.limits()
				p.SetLimits(limits)
				calls := g.program()
				ours, sdk := newWorld(p, true), newWorld(sdktrace.NewTracerProvider(sdktrace.WithRawSpanLimits(limits), sdktrace.WithSampler(sdktrace.AlwaysSample())), false)
				ours.run(calls)
				sdk.run(calls)
				if err := compareWorlds(ours, sdk); err != nil {
					t.Errorf("program %d: %v", n, err)
				}
				tool.Records()
			}
		})
	}
	wg.Wait()
}

func (g generator) limits() sdktrace.SpanLimits {
	limit := func() int { return pick(g, []int{-1, 0, 1, 2, 5, 128}) }
	l := sdktrace.SpanLimits{
		AttributeValueLengthLimit: limit(), AttributeCountLimit: limit(),
		EventCountLimit: limit(), LinkCountLimit: limit(), AttributePerEventCountLimit: limit(), AttributePerLinkCountLimit: limit(),
	}
	if depth := ueventstrace.DepthLimit(&l); depth.IsValid() {
		depth.SetInt(pick(g, []int64{-1, 1, 2, 64}))
	}
	return l
}

// compareWorlds returns how the spans of this package differ from the SDK's.
func compareWorlds(ours, sdk *world) error {
	spans := map[trace.SpanID]trace.SpanID{{}: {}}
	traces, back := map[trace.TraceID]trace.TraceID{{}: {}}, map[trace.TraceID]trace.TraceID{{}: {}}
	for _, ctx := range callers { // what comes from outside has the same ids in both
		c := trace.SpanContextFromContext(ctx)
		spans[c.SpanID()], traces[c.TraceID()], back[c.TraceID()] = c.SpanID(), c.TraceID(), c.TraceID()
	}
	for i := range ours.spans {
		got, want := ueventstrace.Stub(ours.spans[i]), tracetest.SpanStubFromReadOnlySpan(sdk.spans[i].(sdktrace.ReadOnlySpan))
		if span := ours.spans[i]; span.IsRecording() || span.SpanContext().IsRemote() || !span.SpanContext().Equal(got.SpanContext) {
			return fmt.Errorf("span %d: recording %v, propagates %v and not %v", i, span.IsRecording(), span.SpanContext(), got.SpanContext)
		}
		id, tid := got.SpanContext.SpanID(), got.SpanContext.TraceID()
		if _, known := spans[id]; known || !id.IsValid() || !tid.IsValid() {
			return fmt.Errorf("span %d: the ids %v are not new or not valid", i, got.SpanContext)
		}
		spans[id] = want.SpanContext.SpanID()
		wantID := want.SpanContext.TraceID()
		other, known := traces[tid]
		if of, has := back[wantID]; known && other != wantID || has && of != tid {
			return fmt.Errorf("span %d: the trace %v, and not %v", i, tid, of)
		}
		traces[tid], back[wantID] = wantID, tid
		if err := compareStubs(&got, &want, spans); err != nil {
			return fmt.Errorf("span %d: %w", i, err)
		}
	}
	return nil
}

func compareStubs(got, want *tracetest.SpanStub, spans map[trace.SpanID]trace.SpanID) error {
	differs := func(what string, got, want any) error { return fmt.Errorf("%s: %v and not %v", what, got, want) }
	gotParent, wantParent := got.Parent, want.Parent
	switch {
	case got.Name != want.Name:
		return differs("name", got.Name, want.Name)
	case got.SpanKind != want.SpanKind:
		return differs("kind", got.SpanKind, want.SpanKind)
	case got.Status != want.Status:
		return differs("status", got.Status, want.Status)
	case spans[gotParent.SpanID()] != wantParent.SpanID() || gotParent.IsRemote() != wantParent.IsRemote() || gotParent.TraceState().String() != wantParent.TraceState().String():
		return differs("parent", gotParent, wantParent)
	case got.SpanContext.TraceState().String() != want.SpanContext.TraceState().String():
		return differs("trace state", got.SpanContext, want.SpanContext)
	case got.SpanContext.TraceFlags() != wantFlags(wantParent, gotParent):
		return differs("flags", got.SpanContext, wantParent)
	case !sameTime(got.StartTime, want.StartTime):
		return differs("start", got.StartTime, want.StartTime)
	case !sameTime(got.EndTime, want.EndTime):
		return differs("end", got.EndTime, want.EndTime)
	case [3]int{got.DroppedAttributes, got.DroppedEvents, got.DroppedLinks} != [3]int{want.DroppedAttributes, want.DroppedEvents, want.DroppedLinks}:
		return differs("dropped", got, want)
	case !slices.Equal(got.Attributes, want.Attributes):
		return differs("attributes", got.Attributes, want.Attributes)
	case got.InstrumentationScope != want.InstrumentationScope:
		return differs("scope", got.InstrumentationScope, want.InstrumentationScope)
	case !slices.EqualFunc(got.Links, want.Links, func(a, b sdktrace.Link) bool {
		return a.SpanContext.Equal(b.SpanContext) && a.DroppedAttributeCount == b.DroppedAttributeCount && slices.Equal(a.Attributes, b.Attributes)
	}):
		return differs("links", got.Links, want.Links)
	case !slices.EqualFunc(got.Events, want.Events, func(a, b sdktrace.Event) bool {
		return a.Name == b.Name && a.DroppedAttributeCount == b.DroppedAttributeCount && sameTime(a.Time, b.Time) && slices.EqualFunc(a.Attributes, b.Attributes, sameOrStack)
	}):
		return differs("events", got.Events, want.Events)
	}
	return nil
}

// wantFlags returns the flags of a span that propagates its ids: those of its parent in the own provider, where a root is sampled.
func wantFlags(wantParent, gotParent trace.SpanContext) trace.TraceFlags {
	if !gotParent.IsValid() {
		return wantParent.TraceFlags() | trace.FlagsSampled
	}
	return wantParent.TraceFlags()&^trace.FlagsSampled | gotParent.TraceFlags()&trace.FlagsSampled
}

// sameTime reports whether two times are the same, or both are the time of the call.
func sameTime(a, b time.Time) bool {
	ofCall := func(t time.Time) bool { return t.After(began) && !t.After(time.Now()) }
	return a.Equal(b) || ofCall(a) && ofCall(b)
}

var began = time.Now()

// sameOrStack reports whether two attributes are the same. Stacks differ.
func sameOrStack(a, b attribute.KeyValue) bool {
	if a.Key == "exception.stacktrace" && b.Key == a.Key {
		return strings.Contains(a.Value.AsString(), "RecordError") && strings.Contains(b.Value.AsString(), "RecordError")
	}
	return a == b
}
