package ueventstrace_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// witness is a tracer that keeps the spans of another one.
type witness struct {
	trace.Tracer
	spans []trace.Span
}

func (w *witness) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, s := w.Tracer.Start(ctx, name, options...)
	w.spans = append(w.spans, s)
	return ctx, s
}

// twin returns a provider whose spans keep their events and links, of any number: those of typed events write them when they
// are added. The same calls give its spans the same ones.
func twin(t testing.TB, p *own) *own {
	t.Helper()
	cs := newOwn(t, ueventstrace.WithCommonSchema4())
	limits := p.Limits()
	limits.EventCountLimit, limits.LinkCountLimit = -1, -1
	cs.SetLimits(limits)
	cs.attach(t, "app_L4K4")
	return cs
}

// stubs returns the spans in the order in which these records say that they ended, with the events and links of their twins.
func stubs(spans, twins []trace.Span, records []fields) (list tracetest.SpanStubs) {
	byID := map[string]tracetest.SpanStub{}
	for i, s := range spans {
		stub := stub(s, twins[i])
		byID[stub.SpanContext.SpanID().String()] = *stub
	}
	for _, f := range records {
		if f[""] == "app_span" {
			list = append(list, byID[f["span_id"]])
		}
	}
	return list
}

// TestRecordedFields compares the records with the data of the spans.
func TestRecordedFields(t *testing.T) {
	for name, make := range spans {
		t.Run(name, func(t *testing.T) {
			p := newOwn(t, ueventstrace.WithResourceAttributes("host.name", "not.there", "shard"))
			tool := p.attach(t, "app_*")
			scope := trace.WithInstrumentationVersion("v1.2.3")
			w, second := &witness{Tracer: p.Tracer("my/package", scope)}, &witness{Tracer: twin(t, p).Tracer("my/package", scope)}
			make(t, w)
			make(t, second)
			got := grouped(records(t, tool))
			assertSame(t, stubs(w.spans, second.spans, got), got)
		})
	}
}

// replay makes a span of the same data by the calls of the API.
func replay(p trace.TracerProvider, s *tracetest.SpanStub) trace.Span {
	scope := s.InstrumentationScope
	tracer := p.Tracer(scope.Name, trace.WithInstrumentationVersion(scope.Version), trace.WithSchemaURL(scope.SchemaURL), trace.WithInstrumentationAttributeSet(scope.Attributes))
	links := make([]trace.Link, 0, len(s.Links))
	for _, l := range s.Links {
		links = append(links, trace.Link{SpanContext: l.SpanContext, Attributes: l.Attributes})
	}
	_, span := tracer.Start(trace.ContextWithSpanContext(context.Background(), s.Parent), s.Name, trace.WithTimestamp(s.StartTime),
		trace.WithSpanKind(s.SpanKind), trace.WithAttributes(s.Attributes...), trace.WithLinks(links...))
	for _, e := range s.Events {
		span.AddEvent(e.Name, trace.WithTimestamp(e.Time), trace.WithAttributes(e.Attributes...))
	}
	span.SetStatus(s.Status.Code, s.Status.Description)
	span.End(trace.WithTimestamp(s.EndTime))
	return span
}

// stub returns what a span has in events, with its resource, and the events and links of its twin.
func stub(span, twin trace.Span) *tracetest.SpanStub {
	s, parts := ueventstrace.Stub(span), ueventstrace.Stub(twin)
	s.Resource, s.Events, s.Links = res, parts.Events, parts.Links
	return &s
}

// grouped returns records in the order in which an exporter writes them: for each span that has ended its links, its events and the
// span. Others come first.
func grouped(records []fields) (list []fields) {
	parts := map[string][2][]fields{}
	for _, f := range records {
		id := f["span_id"]
		of := parts[id]
		switch event := f[""]; {
		case strings.HasSuffix(event, "_span_link"):
			of[0] = append(of[0], f)
		case strings.HasSuffix(event, "_span_event"):
			of[1] = append(of[1], f)
		case strings.HasSuffix(event, "_span"):
			list = slices.Concat(list, of[0], of[1], []fields{f})
		default:
			list = append(list, f)
		}
		parts[id] = of
	}
	return list
}

// TestRecordedRandomSpans compares every field of random spans with their data, in both encodings.
func TestRecordedRandomSpans(t *testing.T) {
	testscale.HostOnly(t)
	p, cs := newOwn(t), newOwn(t, ueventstrace.WithCommonSchema4())
	tool, csTool := p.attach(t, "app_span_link", "app_span_event", "app_span"), cs.attach(t, "app_L4K4")
	r := source{rand.New(rand.NewPCG(7, 8))}
	for range 500 {
		s := r.span()
		span := replay(cs, &s)
		checkTyped(t, "app", stub(replay(p, &s), span), grouped(records(t, tool)), endSuffixes...)
		raw := csTool.Records()
		require.Len(t, raw, 1)
		checkCommonSchema(t, stub(span, span), raw[0].Declaration.Name, raw[0].Payload)
	}
}

// TestSameAsExporter: what random programs write is what the exporter writes of the same data.
func TestSameAsExporter(t *testing.T) {
	testscale.HostOnly(t)
	p := newOwn(t)
	borrowed := p.kernel.Provider()
	defer borrowed.Close()
	exporter, err := ueventstrace.NewExporter("export", ueventstrace.WithProvider(borrowed))
	require.NoError(t, err)
	ended := p.attach(t, "app_span", "app_span_event", "app_span_link")
	exported := p.attach(t, "export_*")
	for n := range 300 {
		g := generator{rand.New(rand.NewPCG(3, uint64(n)))}
		p.SetLimits(g.limits())
		w, second := newWorld(p, true), newWorld(twin(t, p), true)
		calls := g.program()
		w.run(calls)
		second.run(calls)
		got := grouped(records(t, ended))
		list := stubs(w.spans, second.spans, got)
		require.Len(t, list, len(w.spans), "each span once")
		require.NoError(t, exporter.ExportSpans(t.Context(), list.Snapshots()))
		want := records(t, exported)
		for _, f := range want {
			f[""] = "app" + f[""][len("export"):]
		}
		for _, f := range slices.Concat(got, want) {
			withoutCall(t, f)
		}
		require.Equal(t, want, got, "program %d", n)
	}
}

// withoutCall removes from an event of a span what depends on the call that added it: the time, if it is that of the call, and the
// stack.
func withoutCall(t *testing.T, f fields) {
	if f[""] != "app_span_event" {
		return
	}
	if at, err := strconv.ParseInt(f["time_unix_nano"], 10, 64); err == nil && sameTime(time.Unix(0, at), time.Now()) {
		delete(f, "time_unix_nano")
	}
	if a := object(t, f["attributes"]); a["exception.stacktrace"] != nil {
		assert.Contains(t, a["exception.stacktrace"], "RecordError")
		delete(a, "exception.stacktrace")
		f["attributes"] = string(must(t, a))
	}
}

// TestStarted: the start of a span has what is known at the start.
func TestStarted(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_*")
	_, s := p.Tracer("x").Start(fromRemote(t.Context(), ""), "name", trace.WithSpanKind(trace.SpanKindServer), spanAttributes, trace.WithTimestamp(when))
	list := records(t, tool)
	require.Equal(t, []string{"app_span_start"}, names(list), "written before Start returns")
	c := ueventstrace.Stub(s).SpanContext
	assertFields(t, "_span_start", list[0], fields{
		"trace_id": remote.TraceID().String(), "span_id": c.SpanID().String(), "parent_span_id": remote.SpanID().String(),
		"parent_is_remote": "1", "trace_flags": "1", "kind": "2", "name": "name", "scope_name": "x", "service_name": "shop",
		"attributes": `{"http.request.method":"GET","http.response.status_code":200}`,
	})
}

// TestContext: the context of a recorded span is its caller's in everything but the span.
func TestContext(t *testing.T) {
	type key struct{}
	p := newOwn(t)
	p.attach(t, "app_span")
	in, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	ctx, s := p.Tracer("x").Start(in, "s")
	inner, span := p.Tracer("x").Start(context.WithValue(ctx, "other", 1), "inner") //nolint:staticcheck // a key of a basic type
	assert.Same(t, s, trace.SpanFromContext(ctx))
	assert.Same(t, span, trace.SpanFromContext(inner))
	derived, stop := context.WithCancel(inner)
	defer stop()
	for _, c := range []context.Context{ctx, inner, derived} {
		assert.Equal(t, "value", c.Value(key{}))
		assert.Nil(t, c.Value(0))
		require.NoError(t, c.Err())
	}
	assert.Equal(t, 1, derived.Value("other"))
	cancel(assert.AnError)
	<-derived.Done()
	assert.Equal(t, assert.AnError, context.Cause(derived))
	assert.NotImplements(t, (*trace.Span)(nil), ctx)
}

// TestStartAttributes: attributes of any number of options, in any order with others, are the span's own.
func TestStartAttributes(t *testing.T) {
	p := newOwn(t)
	p.attach(t, "app_span")
	for n := range 12 {
		list := make([]attribute.KeyValue, n)
		for i := range list {
			list[i] = attribute.Int(strconv.Itoa(i), i)
		}
		want := slices.Clone(list)
		for name, options := range map[string][]trace.SpanStartOption{
			"one option":  {trace.WithAttributes(list...)},
			"with others": {nil, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(list...), trace.WithTimestamp(when)},
			"two options": {trace.WithAttributes(list[:n/2]...), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(), trace.WithAttributes(list[n/2:]...)},
		} {
			_, s := p.Tracer("x").Start(t.Context(), "s", options...)
			for i := range list {
				list[i].Key = "changed"
			}
			assert.ElementsMatch(t, want, ueventstrace.Stub(s).Attributes, "%d, %s", n, name)
			assert.Equal(t, name != "one option", ueventstrace.Stub(s).SpanKind == trace.SpanKindServer)
			copy(list, want)
			s.End()
		}
	}
}

// TestLinkAttributes: the attributes of a link that waits for its span are the span's own.
func TestLinkAttributes(t *testing.T) {
	p := newOwn(t, ueventstrace.WithCommonSchema4())
	p.attach(t, "app_L4K4")
	list := []attribute.KeyValue{attribute.Int("n", 1)}
	_, s := p.Tracer("x").Start(t.Context(), "s", trace.WithLinks(trace.Link{SpanContext: remote, Attributes: list}))
	s.AddLink(trace.Link{SpanContext: remote, Attributes: list})
	list[0] = attribute.Int("changed", 2)
	require.Len(t, ueventstrace.Stub(s).Links, 2)
	for _, link := range ueventstrace.Stub(s).Links {
		assert.Equal(t, []attribute.KeyValue{attribute.Int("n", 1)}, link.Attributes)
	}
}

// asked is an error that knows whether its text was asked for.
type asked struct{ bool }

func (a *asked) Error() string {
	a.bool = true
	return "text"
}

// TestRecordErrorAfterEnd: after End an error is not looked at.
func TestRecordErrorAfterEnd(t *testing.T) {
	p := newOwn(t)
	p.attach(t, "app_span")
	_, s := p.Tracer("x").Start(t.Context(), "s")
	var err asked
	s.End()
	s.RecordError(&err)
	assert.False(t, err.bool)
}

// panics is an error whose text cannot be had.
type panics struct{}

func (*panics) Error() string { panic("no text") }

// TestErrorThatPanics: a method Error that panics does so while no tool is attached, too, or never.
func TestErrorThatPanics(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_span_event")
	_, s := p.Tracer("x").Start(t.Context(), "s")
	options := make([]trace.EventOption, 0, 8)
	s.RecordError(&panics{}, options...)
	assert.Nil(t, options[:1][0], "the caller's options stay as they are")
	s.End()
	assert.Contains(t, object(t, records(t, tool)[0]["attributes"])["exception.message"], "no text")
}

// TestPanicGoesOn: a panic that passes End is not recorded and stays the same.
func TestPanicGoesOn(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_*")
	want := errors.New("a panic")
	var span trace.Span
	assert.PanicsWithValue(t, want, func() {
		_, span = p.Tracer("x").Start(t.Context(), "s")
		defer span.End(trace.WithStackTrace(true))
		panic(want)
	})
	assert.False(t, span.IsRecording())
	assert.Equal(t, []string{"app_span_start", "app_span"}, names(records(t, tool)))
}

// TestSharedSpans: goroutines that use and end the same spans, while a tool attaches and detaches, write each span once.
func TestSharedSpans(t *testing.T) {
	testscale.HostOnly(t)
	p := newOwn(t, ueventstrace.WithPerfettoSlices())
	tool := p.attach(t, "app_*")
	w := newWorld(p, true)
	for _, ctx := range callers {
		ctx, s := w.tracers[0].Start(ctx, "s")
		_, child := w.tracers[1].Start(ctx, "child")
		w.spans = append(w.spans, s, child)
	}
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			g := generator{rand.New(rand.NewPCG(4, seed))}
			for range 100 {
				g.use(g.IntN(len(w.spans)))(w)
				other, err := p.kernel.Attach(0, "app_span_event")
				if assert.NoError(t, err) {
					other.Detach()
				}
				p.Tracer("x").Start(trace.ContextWithSpan(t.Context(), w.spans[g.IntN(len(w.spans))]), "inside")
			}
			for i := range w.spans {
				g.end(i)(w)
			}
		})
	}
	wg.Wait()
	ended := 0
	for _, f := range names(records(t, tool)) {
		if f == "app_span" {
			ended++
		}
	}
	assert.Equal(t, len(w.spans), ended)
}

// TestProgramsConcurrently: random programs from several goroutines, and a shutdown in between.
func TestProgramsConcurrently(t *testing.T) {
	p := newOwn(t, ueventstrace.WithPerfettoSlices())
	p.attach(t, "app_*")
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			for n := range uint64(100) {
				g := generator{rand.New(rand.NewPCG(seed, n))}
				w := newWorld(p, true)
				w.run(g.program())
				if seed == 0 && n == 80 {
					assert.NoError(t, p.Shutdown(t.Context()))
				}
				for _, s := range w.spans {
					assert.False(t, s.IsRecording())
				}
			}
		})
	}
	wg.Wait()
	for name, n := range p.Stats() {
		assert.Positive(t, n.Written, name)
		assert.Zero(t, n.Refused, name)
	}
}

// TestStartedDuplicates: the start of a span has the last value of each key, as with the SDK.
func TestStartedDuplicates(t *testing.T) {
	twice := trace.WithAttributes(attribute.Int("a", 1), attribute.Int("b", 2), attribute.Int("a", 3))
	own, rig := newOwn(t), newRig(t)
	for name, c := range map[string]struct {
		tracer trace.Tracer
		tool   *ueventstest.Tool
	}{
		"own provider": {own.Tracer("x"), own.attach(t, "app_span_start")},
		"SDK":          {rig.provider.Tracer("x"), rig.attach(t, "app_span_start")},
	} {
		_, s := c.tracer.Start(t.Context(), "s", twice)
		s.End()
		assert.Equal(t, `{"a":3,"b":2}`, records(t, c.tool)[0]["attributes"], name)
	}
}

// TestPartsDuplicates: attributes of events and links have each key once, with its last value. The SDK removes duplicates
// of spans only.
func TestPartsDuplicates(t *testing.T) {
	twice := []attribute.KeyValue{attribute.Int("a", 1), attribute.Int("b", 2), attribute.Int("a", 3)}
	own, rig := newOwn(t), newRig(t)
	for name, c := range map[string]struct {
		tracer trace.Tracer
		tool   *ueventstest.Tool
	}{
		"own provider": {own.Tracer("x"), own.attach(t, "app_span_event", "app_span_link")},
		"SDK":          {rig.provider.Tracer("x"), rig.attach(t, "app_span_event", "app_span_link")},
	} {
		_, s := c.tracer.Start(t.Context(), "s")
		s.AddEvent("e", trace.WithAttributes(twice...))
		s.AddLink(trace.Link{SpanContext: remote, Attributes: twice})
		s.End()
		for _, f := range records(t, c.tool) {
			assert.Equal(t, 1, strings.Count(f["attributes"], `"a":`), "%s: %s: %s", name, f[""], f["attributes"])
			assert.EqualValues(t, 3, object(t, f["attributes"])["a"])
		}
	}
}

// TestAttributesNamedAsFields: an attribute whose key is one that records write themselves is there once.
func TestAttributesNamedAsFields(t *testing.T) {
	p := newOwn(t)
	tool := p.attach(t, "app_span")
	_, s := p.Tracer("x", trace.WithInstrumentationVersion("v1")).Start(fromRemote(t.Context(), "vendor=1"), "s",
		trace.WithAttributes(attribute.String("otel.scope.version", "forged"), attribute.String("user_events.trace_state", "forged")))
	s.End()
	object := records(t, tool)[0]["attributes"]
	for _, key := range []string{"otel.scope.version", "user_events.trace_state"} {
		assert.Equal(t, 1, strings.Count(object, `"`+key+`":`), object)
	}
}

// TestWrappedAttributes: of attributes with one key, the last one of the last option wins, whatever the type of options.
func TestWrappedAttributes(t *testing.T) {
	p := newOwn(t)
	p.attach(t, "app_span")
	_, s := p.Tracer("x").Start(t.Context(), "s", wrappedOption{trace.WithAttributes(attribute.Int("a", 1))}, trace.WithAttributes(attribute.Int("a", 2)))
	s.End()
	assert.Equal(t, []attribute.KeyValue{attribute.Int("a", 2)}, ueventstrace.Stub(s).Attributes)
}

// TestContextText: fmt prints the context of a recorded span as it prints other contexts: without the values, which other
// goroutines may be changing.
func TestContextText(t *testing.T) {
	p := newOwn(t)
	idle, _ := p.Tracer("x").Start(t.Context(), "secret")
	p.attach(t, "app_span")
	ctx, s := p.Tracer("x").Start(t.Context(), "secret", trace.WithAttributes(attribute.String("k", "secret")))
	assert.Equal(t, fmt.Sprint(idle), fmt.Sprint(ctx), "whether a tool is attached or not")
	assert.NotContains(t, fmt.Sprint(ctx), "secret")
	assert.NotContains(t, fmt.Sprint(context.WithValue(ctx, "key", 1)), "secret") //nolint:staticcheck // a key of a basic type
	done := make(chan struct{})
	go func() { // under the race detector
		defer close(done)
		s.SetName("renamed")
	}()
	_ = fmt.Sprintf("%v", ctx)
	<-done
	s.End()
}

// TestSpanKeepsNoContext: a recorded span that the program keeps does not keep the values of its context, also inside of one that is not
// recorded.
func TestSpanKeepsNoContext(t *testing.T) {
	type key struct{}
	p := newOwn(t)
	freed := make(chan struct{})
	start := func() trace.Span {
		value := new([1 << 16]byte)
		runtime.AddCleanup(value, func(c chan struct{}) { close(c) }, freed)
		ctx, _ := p.Tracer("x").Start(context.WithValue(t.Context(), key{}, value), "idle")
		p.attach(t, "app_span")
		_, s := p.Tracer("x").Start(ctx, "s")
		return s
	}
	s := start()
	testscale.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-freed:
			return true
		default:
			return false
		}
	}, "the context's value is kept")
	s.End()
}
