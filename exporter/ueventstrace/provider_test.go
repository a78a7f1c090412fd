package ueventstrace_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// own is a provider of this package on a simulated kernel.
type own struct {
	*ueventstrace.TracerProvider
	kernel *ueventstest.Kernel
}

func newOwn(t testing.TB, opts ...ueventstrace.Option) *own {
	t.Helper()
	k, borrowed := recordtest.Kernel(t)
	p, err := ueventstrace.NewTracerProvider("app", append([]ueventstrace.Option{ueventstrace.WithProvider(borrowed), ueventstrace.WithResource(res)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
	return &own{p, k}
}

func (o *own) attach(t testing.TB, names ...string) *ueventstest.Tool {
	t.Helper()
	tool := recordtest.Attach(t, o.kernel, ueventstest.Ftrace, names...)
	return tool
}

// TestEnabled: spans are recorded while an event is enabled, whichever it is.
func TestEnabled(t *testing.T) {
	p := newOwn(t, ueventstrace.WithPerfettoSlices())
	tracer := p.Tracer("x")
	for _, event := range []string{"span_start", "span", "span_event", "span_link", "slice"} {
		for _, on := range []bool{false, true, false} {
			var tool *ueventstest.Tool
			if on {
				tool = p.attach(t, "app_"+event)
			}
			assert.Equal(t, on, p.Enabled(), event)
			ctx, s := tracer.Start(t.Context(), "s")
			assert.Equal(t, on, s.IsRecording(), event)
			assert.Same(t, p.TracerProvider, s.TracerProvider())
			assert.Equal(t, trace.SpanContext{}, s.SpanContext())
			assert.Same(t, s, trace.SpanFromContext(ctx))
			s.AddEvent("e")
			s.AddLink(trace.Link{SpanContext: remote})
			s.RecordError(assert.AnError)
			s.SetStatus(codes.Error, "")
			s.SetName("renamed")
			s.End()
			assert.False(t, s.IsRecording())
			if on {
				want := map[string]int{"span_event": 2, "slice": 2}[event]
				assert.Len(t, records(t, tool), max(want, 1), event)
				tool.Detach()
			}
		}
	}
}

// TestDetach: a span that began while an event was enabled ends without effect when it is not any more.
func TestDetach(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_span")
	_, s := p.Tracer("x").Start(t.Context(), "s")
	tool.Detach()
	assert.True(t, s.IsRecording())
	s.End()
	assert.False(t, s.IsRecording())
	assert.Zero(t, p.Stats()["app_span"])
}

// TestProviderShutdown: open spans end without effect, and later ones are not recorded.
func TestProviderShutdown(t *testing.T) {
	p := newOwn(t)
	p.attach(t, "app_*")
	kept := p.Tracer("x")
	_, open := kept.Start(t.Context(), "open")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.ForceFlush(ctx))
	require.NoError(t, p.Shutdown(ctx))
	require.NoError(t, p.Shutdown(ctx))
	open.SetName("renamed")
	open.End()
	for _, tracer := range []trace.Tracer{kept, p.Tracer("x"), p.Tracer("other")} {
		_, s := tracer.Start(t.Context(), "s")
		assert.False(t, s.IsRecording())
		s.End()
	}
	assert.False(t, p.Enabled())
	assert.EqualValues(t, 1, p.Stats()["app_span_start"].Written)
	assert.Zero(t, p.Stats()["app_span"])
}

// TestLinkFromContext: a link to a recorded span is one to its caller's span, and without ids if there is no caller.
func TestLinkFromContext(t *testing.T) {
	p := newOwn(t)
	p.attach(t, "app_*")
	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true})
	for _, want := range []trace.SpanContext{{}, caller} {
		ctx, s := p.Tracer("x").Start(trace.ContextWithSpanContext(t.Context(), want), "s")
		assert.True(t, s.IsRecording())
		assert.Equal(t, want.WithRemote(false), trace.LinkFromContext(ctx).SpanContext)
		s.End()
	}
}

// TestProviderUnusable: what is wrong is said on every machine, and the provider works.
func TestProviderUnusable(t *testing.T) {
	use := func(p *ueventstrace.TracerProvider) {
		_, s := p.Tracer("x").Start(t.Context(), "s")
		assert.False(t, s.IsRecording())
		s.AddEvent("e")
		s.End()
		require.NoError(t, p.Shutdown(t.Context()))
	}
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	p, err := ueventstrace.NewTracerProvider("app", ueventstrace.WithProvider(unsupported), nil)
	require.ErrorIs(t, err, unsupported.Err())
	use(p)
	p, err = ueventstrace.NewTracerProvider("no name", ueventstrace.WithProvider(unsupported))
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	use(p)
}

// TestResource: attributes set in code win over the environment.
func TestResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from the environment")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=node2,shard=4")
	service := func(r *resource.Resource) fields {
		p := newOwn(t, ueventstrace.WithResource(r), ueventstrace.WithResourceAttributes("host.name", "shard"))
		tool := p.attach(t, "app_span")
		_, s := p.Tracer("x").Start(t.Context(), "s")
		s.End()
		return records(t, tool)[0]
	}
	f := service(resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("host.name", "node1")))
	assert.Equal(t, "shop", f["service_name"])
	assert.JSONEq(t, `{"host.name":"node1","shard":"4"}`, f["resource"])
	set, _ := resource.Default().Set().Value("service.name") // of the environment in which the tests began
	assert.Equal(t, set.AsString(), service(nil)["service_name"])
}

// TestLimitsOfEnvironment: the limits are the SDK's, but for the number of events, which are written when they are added.
func TestLimitsOfEnvironment(t *testing.T) {
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1")
	t.Setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3")
	t.Setenv("OTEL_SPAN_EVENT_COUNT_LIMIT", "0")
	t.Setenv("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "1")
	p := newOwn(t)
	tool := p.attach(t, "app_*")
	_, s := p.Tracer("x").Start(t.Context(), "s", trace.WithAttributes(attribute.String("a", "abcdef"), attribute.Int("b", 1)))
	s.AddEvent("e", trace.WithAttributes(attribute.Int("a", 1), attribute.Int("b", 2)))
	s.End()
	list := records(t, tool)
	require.Equal(t, []string{"app_span_start", "app_span_event", "app_span"}, names(list))
	assert.Equal(t, "1", list[1]["dropped_attributes_count"])
	assert.Equal(t, "1", list[2]["dropped_attributes_count"])
	assert.Equal(t, "abc", object(t, list[2]["attributes"])["a"])
}

// TestTracers: a tracer is the same as long as there are not too many, and all of them work.
func TestTracers(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_span")
	version := trace.WithInstrumentationVersion("1")
	assert.Same(t, p.Tracer("x"), p.Tracer("x"))
	assert.Same(t, p.Tracer("x", version), p.Tracer("x", nil, version))
	assert.NotSame(t, p.Tracer("x"), p.Tracer("x", version))
	assert.NotSame(t, p.Tracer("x"), p.Tracer("y"))
	same := 0
	for i := range 2000 {
		name := fmt.Sprint(i)
		if p.Tracer(name) == p.Tracer(name) {
			same++
		}
		_, s := p.Tracer(name).Start(t.Context(), "s")
		s.End()
		f := records(t, tool)
		require.Equal(t, name, f[len(f)-1]["scope_name"])
	}
	assert.Positive(t, same)
	assert.Less(t, same, 2000, "the table is bounded")
	assert.Same(t, p.Tracer("x"), p.Tracer("x"), "kept")
}

// TestTracersConcurrently: of goroutines that ask for a new tracer at the same time, all get the first one's.
func TestTracersConcurrently(t *testing.T) {
	p := newOwn(t)
	var wg sync.WaitGroup
	var got [8]trace.Tracer
	for g := range got {
		wg.Go(func() { got[g] = p.AddTracer("x") })
	}
	wg.Wait()
	for _, tracer := range got {
		assert.Same(t, got[0], tracer)
	}
	assert.Same(t, got[0], p.Tracer("x"))
}

func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	p := newOwn(t)
	tracer, options := p.Tracer("x"), []trace.TracerOption{trace.WithInstrumentationVersion("1")}
	root, from := t.Context(), fromRemote(t.Context(), "vendor=1")
	attributes := []trace.SpanStartOption{spanAttributes, trace.WithSpanKind(trace.SpanKindServer)}
	count := func(want float64, what string, f func()) {
		t.Helper()
		assert.Equal(t, want, testing.AllocsPerRun(100, f), what)
	}
	for where, ctx := range map[string]context.Context{"without a parent": root, "with a remote parent": from} {
		count(1, "disabled, the span, which is its context, "+where, func() {
			_, s := tracer.Start(ctx, "s")
			s.End()
		})
		inside, _ := tracer.Start(ctx, "s")
		count(0, "disabled, inside of such a span, "+where, func() {
			_, s := tracer.Start(inside, "s")
			s.AddEvent("e")
			s.End()
		})
		count(1, "disabled, with options, "+where, func() {
			_, s := tracer.Start(ctx, "s", attributes...)
			s.End()
		})
		count(0, "disabled, the tracer asked for each time, "+where, func() {
			_, s := p.Tracer("my/package").Start(inside, "s")
			s.End()
			_, s = p.Tracer("my/package", options...).Start(inside, "s")
			s.End()
		})
	}
	tool := p.attach(t, "app_*")
	recording, span := tracer.Start(t.Context(), "s")
	require.True(t, span.IsRecording())
	noState := fromRemote(t.Context(), "")
	count(2, "enabled: the span and its context", func() {
		_, s := tracer.Start(noState, "s")
		s.End()
	})
	tool.Detach()
	count(1, "disabled inside of a span that records", func() {
		_, s := tracer.Start(recording, "s")
		s.End()
	})
	noops := noop.NewTracerProvider().Tracer("x")
	assert.Positive(t, testing.AllocsPerRun(100, func() { noops.Start(root, "s") }), "what OpenTelemetry's no-op tracer needs")
}

// apiCheck is something that OpenTelemetry's API asks of a tracer. They are those of the harness by which opentelemetry-go tests
// implementations, and a few more.
type apiCheck struct {
	name string
	// deviates says that the package comment lists it as a deviation: it holds only if the span is recorded and propagates its ids.
	deviates bool
	holds    func(*own) bool
}

type apiKey struct{}

// start starts a span with one tracer, inside of the span of ctx.
func start(p *own, ctx context.Context, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return p.Tracer("api").Start(ctx, "test", options...)
}

// related compares the ids of a span with those of one started in a context that has it as its parent, local or remote.
func related(p *own, remote bool, options ...trace.SpanStartOption) (sameTrace, sameSpan bool) {
	ctx, parent := start(p, context.Background())
	if remote {
		ctx = trace.ContextWithRemoteSpanContext(context.Background(), parent.SpanContext())
	}
	_, child := start(p, ctx, options...)
	a, b := parent.SpanContext(), child.SpanContext()
	return a.TraceID() == b.TraceID(), a.SpanID() == b.SpanID()
}

// concurrently calls f from several goroutines, and reports whether it was true each time.
func concurrently(f func(i int) bool) bool {
	held := make([]bool, 20)
	var wg sync.WaitGroup
	for i := range held {
		wg.Go(func() { held[i] = f(i) })
	}
	wg.Wait()
	for _, ok := range held {
		if !ok {
			return false
		}
	}
	return true
}

var apiChecks = []apiCheck{
	{"tracers are made concurrently", false, func(p *own) bool {
		return concurrently(func(i int) bool {
			return p.Tracer(fmt.Sprint(i%5), trace.WithInstrumentationVersion(fmt.Sprint(i))) != nil
		})
	}},
	{"the values of the caller's context stay", false, func(p *own) bool {
		ctx, _ := start(p, context.WithValue(context.Background(), apiKey{}, 1))
		return ctx.Value(apiKey{}) == 1
	}},
	{"the context has the span", false, func(p *own) bool {
		ctx, s := start(p, context.Background())
		return trace.SpanFromContext(ctx) == s
	}},
	{"the span context is valid", true, func(p *own) bool {
		_, s := start(p, context.Background())
		return s.SpanContext().IsValid()
	}},
	{"no span of the program is remote", false, func(p *own) bool {
		_, s := start(p, fromRemote(context.Background(), "a=b"))
		return s.SpanContext().IsValid() && !s.SpanContext().IsRemote()
	}},
	{"the trace ids of roots are unique", true, func(p *own) bool {
		_, a := start(p, context.Background())
		_, b := start(p, context.Background())
		return a.SpanContext().TraceID() != b.SpanContext().TraceID() && a.SpanContext().SpanID() != b.SpanContext().SpanID()
	}},
	{"a child has the trace id of its parent", false, func(p *own) bool {
		sameTrace, _ := related(p, false)
		return sameTrace
	}},
	{"a child has a span id of its own", true, func(p *own) bool {
		_, sameSpan := related(p, false)
		return !sameSpan
	}},
	{"a child of a remote parent has its trace id", false, func(p *own) bool {
		sameTrace, _ := related(p, true)
		return sameTrace
	}},
	{"a child of a remote parent has a span id of its own", true, func(p *own) bool {
		_, sameSpan := related(p, true)
		return !sameSpan
	}},
	{"a new root has ids of its own", true, func(p *own) bool {
		sameTrace, sameSpan := related(p, false, trace.WithNewRoot())
		return !sameTrace && !sameSpan
	}},
	{"a new root with a remote parent has ids of its own", true, func(p *own) bool {
		sameTrace, sameSpan := related(p, true, trace.WithNewRoot())
		return !sameTrace && !sameSpan
	}},
	{"children are started concurrently", true, func(p *own) bool {
		ctx, parent := start(p, context.Background())
		return concurrently(func(int) bool {
			_, child := start(p, ctx)
			a, b := parent.SpanContext(), child.SpanContext()
			return a.TraceID() == b.TraceID() && a.SpanID() != b.SpanID()
		})
	}},
	{"methods are called concurrently, End many times", false, func(p *own) bool {
		ctx, s := start(p, context.Background())
		_, other := s.TracerProvider().Tracer("second").Start(ctx, "test")
		return concurrently(func(int) bool {
			for _, s := range []trace.Span{s, other} {
				s.AddEvent("e")
				s.AddEvent("e", trace.WithTimestamp(time.Now().Add(time.Second)))
				s.SetStatus(codes.Error, "internal")
				s.SetName("renamed")
				s.SetAttributes(attribute.String("a", "b"), attribute.Int("c", 1))
				s.End()
			}
			return true
		})
	}},
}

// TestAPI: recorded spans that propagate their ids do all that the API asks. In other spans, what fails is what the package comment
// lists.
func TestAPI(t *testing.T) {
	for mode, c := range map[string]struct {
		attached bool
		opts     []ueventstrace.Option
		strict   bool
	}{
		"WithPropagation, a tool attached": {true, []ueventstrace.Option{ueventstrace.WithPropagation()}, true},
		"WithPropagation, no tool":         {false, []ueventstrace.Option{ueventstrace.WithPropagation()}, false},
		"a tool attached":                  {true, nil, false},
		"no tool":                          {false, nil, false},
	} {
		t.Run(mode, func(t *testing.T) {
			p := newOwn(t, c.opts...)
			if c.attached {
				p.attach(t, "app_*")
			}
			assert.NotSame(t, p.TracerProvider, newOwn(t).TracerProvider)
			for _, check := range apiChecks {
				assert.Equal(t, c.strict || !check.deviates, check.holds(p), check.name)
			}
		})
	}
}

// TestDisabledIsOneBranch: Start reads where the group of the events is, the address of the enable word and the word, and branches.
// Every function has a branch before, about its stack.
func TestDisabledIsOneBranch(t *testing.T) {
	list := testscale.Disassemble(t)(`ueventstrace\.\(\*tracer\)\.Start`, 2)
	t.Logf("%s", strings.Join(list, "\n"))
	for _, instruction := range list {
		assert.NotContains(t, instruction, "CALL")
	}
	assert.Equal(t, 3, testscale.Loads(list))
}

// spanAttributes are those of the spans that benchmarks make, as an option made once.
var spanAttributes = trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 200))

// BenchmarkDisabled is a span while no tool is attached.
func BenchmarkDisabled(b *testing.B) {
	tracer := newOwn(b).Tracer("x")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, s := tracer.Start(ctx, "s", spanAttributes)
		s.End()
	}
}
