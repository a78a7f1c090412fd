package ueventstrace_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
)

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
