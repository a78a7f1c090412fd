package ueventstrace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// propagated is what a program sends on in a context.
func propagated(ctx context.Context) map[string]string {
	carrier := propagation.MapCarrier{}
	propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}).Inject(ctx, carrier)
	return carrier
}

// TestNeutral: random programs propagate the same while disabled, while enabled, and while a tool attaches and detaches. Spans
// of the SDK inside of theirs have the same parents.
func TestNeutral(t *testing.T) {
	programs := testscale.Count(1_000, 30)
	disabled, enabled, changing := newOwn(t), newOwn(t), newOwn(t)
	tool := enabled.attach(t, "app_*")
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample())).Tracer("x")
	for n := range programs {
		g := generator{rand.New(rand.NewPCG(2, uint64(n)))}
		calls := g.program()
		worlds := [...]*world{newWorld(disabled, true), newWorld(enabled, true), newWorld(changing, true)}
		var attached *ueventstest.Tool
		for _, c := range calls {
			for _, w := range worlds {
				c(w)
			}
			if attached == nil {
				attached = changing.attach(t, "app_*")
			} else if g.IntN(3) == 0 {
				attached.Detach()
				attached = nil
			}
		}
		if attached != nil {
			attached.Detach()
		}
		tool.Records()
		want := worlds[0]
		for _, got := range worlds[1:] {
			for i := range want.spans {
				require.Equal(t, want.spans[i].SpanContext(), got.spans[i].SpanContext(), "program %d, span %d", n, i)
			}
			for i := 1; i < len(want.contexts); i++ { // the first is nil
				a, b := want.contexts[i], got.contexts[i]
				require.Equal(t, trace.SpanContextFromContext(a), trace.SpanContextFromContext(b), "program %d, context %d", n, i)
				require.Equal(t, propagated(a), propagated(b), "program %d, context %d", n, i)
				_, inside := sdk.Start(b, "s")
				require.Equal(t, trace.SpanContextFromContext(a), inside.(sdktrace.ReadOnlySpan).Parent(), "program %d, context %d", n, i)
				inside.End()
			}
		}
	}
}

// TestNewRoot: a new root passes nothing of its caller on, recorded or not, and starts a new trace.
func TestNewRoot(t *testing.T) {
	p := newOwn(t)
	tracer := p.Tracer("x")
	check := func(ctx context.Context) (trace.Span, string) {
		ctx, s := tracer.Start(ctx, "s", trace.WithSpanKind(trace.SpanKindServer), nil, trace.WithNewRoot())
		assert.Empty(t, propagated(ctx))
		assert.Equal(t, trace.SpanContext{}, s.SpanContext())
		assert.Equal(t, s, trace.SpanFromContext(ctx))
		return s, fmt.Sprint(eventspan.FromContext(ctx).TraceID())
	}
	in := fromRemote(t.Context(), "vendor=1")
	idle, _ := check(in)
	assert.False(t, idle.IsRecording())
	p.attach(t, "app_*")
	outer, _ := tracer.Start(in, "outer")
	span, id := check(outer)
	assert.True(t, span.IsRecording())
	assert.NotEqual(t, remote.TraceID().String(), id)
	assert.False(t, ueventstrace.Stub(span).Parent.IsValid())
}

// TestRecordedAncestor: spans and log records inside of spans that were not recorded refer to the nearest one that was.
func TestRecordedAncestor(t *testing.T) {
	for name, in := range map[string]context.Context{"a root": t.Context(), "with a remote parent": fromRemote(t.Context(), "vendor=1")} {
		t.Run(name, func(t *testing.T) {
			p := newOwn(t)
			tracer := p.Tracer("x")
			tool := p.attach(t, "app_span")
			ctx, root := tracer.Start(in, "root")
			tool.Detach()
			ids := eventspan.FromContext(ctx)
			assert.Equal(t, ueventstrace.Stub(root).SpanContext, ids)

			idle := ctx
			for range 2 {
				var s trace.Span
				idle, s = tracer.Start(idle, "idle")
				assert.False(t, s.IsRecording())
				assert.Same(t, p.TracerProvider, s.TracerProvider())
				assert.Equal(t, ids, eventspan.FromContext(idle))
				assert.Equal(t, trace.SpanContextFromContext(in).WithRemote(false), s.SpanContext())
				s.SetName("renamed")
				s.End()
			}
			assert.True(t, root.IsRecording(), "what is done to the idle span has no effect on it")

			p.attach(t, "app_span")
			_, child := tracer.Start(idle, "child")
			got := ueventstrace.Stub(child)
			assert.Equal(t, ids, got.Parent)
			assert.Equal(t, ids.TraceID(), got.SpanContext.TraceID())
			assert.NotEqual(t, ids.SpanID(), got.SpanContext.SpanID())
			assert.Equal(t, trace.SpanContextFromContext(in).WithRemote(false), child.SpanContext())
		})
	}
}

// TestWithPropagation: recorded spans propagate their own ids, with the caller's flag and state.
func TestWithPropagation(t *testing.T) {
	p := newOwn(t, ueventstrace.WithPropagation())
	tracer := p.Tracer("x")
	in := fromRemote(t.Context(), "vendor=1")
	ctx, _ := tracer.Start(in, "idle")
	assert.Equal(t, propagated(in), propagated(ctx))
	tool := p.attach(t, "app_span")
	ctx, s := tracer.Start(in, "recorded")
	assert.Equal(t, map[string]string{
		"traceparent": fmt.Sprintf("00-%s-%s-01", remote.TraceID(), s.SpanContext().SpanID()), "tracestate": "vendor=1",
	}, propagated(ctx))
	assert.Equal(t, ueventstrace.Stub(s).SpanContext, s.SpanContext())
	root, s := tracer.Start(t.Context(), "root")
	assert.Equal(t, map[string]string{"traceparent": fmt.Sprintf("00-%s-%s-01", s.SpanContext().TraceID(), s.SpanContext().SpanID())}, propagated(root))
	tool.Detach()
	idle, _ := tracer.Start(ctx, "idle inside")
	assert.Equal(t, propagated(ctx), propagated(idle))
}

// TestProvidersWithAndWithoutPropagation: a span inside of one of another provider propagates the same as that one, which
// may be its own ids.
func TestProvidersWithAndWithoutPropagation(t *testing.T) {
	with, without := newOwn(t, ueventstrace.WithPropagation()), newOwn(t)
	with.attach(t, "app_span")
	without.attach(t, "app_span")
	in := fromRemote(t.Context(), "vendor=1")
	outer, s := with.Tracer("x").Start(in, "with")
	require.NotEqual(t, propagated(in), propagated(outer))
	inner, inside := without.Tracer("x").Start(outer, "without")
	assert.Equal(t, propagated(outer), propagated(inner))
	assert.Equal(t, s.SpanContext(), inside.SpanContext())

	outer, _ = without.Tracer("x").Start(in, "without")
	assert.Equal(t, propagated(in), propagated(outer))
	inner, inside = without.Tracer("x").Start(outer, "without")
	assert.Equal(t, propagated(in), propagated(inner))
	own := ueventstrace.Stub(inside).SpanContext.SpanID()
	inner, _ = with.Tracer("x").Start(inner, "with")
	assert.NotEqual(t, propagated(in), propagated(inner))
	assert.NotContains(t, propagated(inner)["traceparent"], own.String())
}

// TestWrappedNewRoot: an option may be one of another type that embeds one of OpenTelemetry's. It has the same effect while
// no tool is attached.
func TestWrappedNewRoot(t *testing.T) {
	p := newOwn(t)
	for range 2 {
		ctx, _ := p.Tracer("x").Start(fromRemote(t.Context(), "vendor=1"), "s", wrappedOption{trace.WithNewRoot()})
		assert.Empty(t, propagated(ctx), "enabled: %v", p.Enabled())
		p.attach(t, "app_span")
	}
}

type wrappedOption struct{ trace.SpanStartOption }

// TestWrappedSpan: a program may put a span of a type of its own around one of this package, and into the context. Spans
// and log records inside of it refer to the recorded span nevertheless.
func TestWrappedSpan(t *testing.T) {
	for name, in := range map[string]context.Context{"a root": t.Context(), "with a remote parent": fromRemote(t.Context(), "vendor=1")} {
		p := newOwn(t)
		tracer := p.Tracer("x")
		tool := p.attach(t, "app_span")
		ctx, outer := tracer.Start(in, "outer")
		ids := ueventstrace.Stub(outer).SpanContext
		bare := trace.ContextWithSpanContext(ctx, trace.SpanContext{})
		wrapped := trace.ContextWithSpan(ctx, wrappedSpan{outer})
		assert.Equal(t, ids, eventspan.FromContext(wrapped), name)
		_, inner := tracer.Start(wrapped, "inner")
		assert.Equal(t, ids, ueventstrace.Stub(inner).Parent, name)
		assert.Equal(t, outer.SpanContext(), inner.SpanContext(), name)

		for _, out := range []context.Context{bare, trace.ContextWithSpan(ctx, nil)} {
			assert.Empty(t, eventspan.FromContext(out), "%s: the program has taken the context out of the span", name)
			_, root := tracer.Start(out, "root")
			assert.False(t, ueventstrace.Stub(root).Parent.IsValid(), name)
		}
		tool.Detach()
		idle, _ := tracer.Start(wrapped, "idle")
		newRoot, s := tracer.Start(wrapped, "new root", trace.WithNewRoot())
		newRoot = trace.ContextWithSpan(newRoot, wrappedSpan{s})
		p.attach(t, "app_span")
		_, inner = tracer.Start(idle, "inside of one that is not recorded")
		assert.Equal(t, ids, ueventstrace.Stub(inner).Parent, name)
		_, inner = tracer.Start(newRoot, "inside of a new root")
		assert.NotEqual(t, ids.TraceID(), ueventstrace.Stub(inner).SpanContext.TraceID(), name)
		assert.Equal(t, eventspan.FromContext(newRoot).TraceID(), ueventstrace.Stub(inner).SpanContext.TraceID(), "the root has a trace id since it is needed")
	}
}

type wrappedSpan struct{ trace.Span }

// TestProviderOfSpan: instrumentation asks the span that it has for the provider, as otelhttp's Transport does. After a tool
// has attached, it gets one that records, though the span was not recorded.
func TestProviderOfSpan(t *testing.T) {
	p := newOwn(t)
	ctx, s := p.Tracer("x").Start(t.Context(), "before")
	assert.False(t, s.IsRecording())
	p.attach(t, "app_span")
	_, child := s.TracerProvider().Tracer("library").Start(ctx, "child")
	assert.True(t, child.IsRecording())
}
