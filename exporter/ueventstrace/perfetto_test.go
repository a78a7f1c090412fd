package ueventstrace_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// drawn is what Perfetto makes of the records, by its own rules: B opens a slice on a track, which is
// the event's, of a name and a scope, and E ends the one that was opened last there, whatever E says.
type drawn struct {
	stacks map[string][]fields // what is open, by track
	pieces []piece
}

// piece is a slice that has ended.
type piece struct {
	name, track string
	inside      string // name of the slice around it
}

func draw(t *testing.T, list []fields) *drawn {
	t.Helper()
	d := &drawn{stacks: map[string][]fields{}}
	for _, f := range list {
		track := f["track_name"] + " " + f["scope_track"]
		stack := d.stacks[track]
		switch f["track_event_type"] {
		case "66": // B
			d.stacks[track] = append(stack, f)
		case "69": // E
			require.NotEmpty(t, stack, "%v ends nothing", f)
			last := stack[len(stack)-1]
			require.Equal(t, f["span_id"], last["span_id"], "the end of %s ends %s", f["slice_name"], last["slice_name"])
			p := piece{name: last["slice_name"], track: track}
			if len(stack) > 1 {
				p.inside = stack[len(stack)-2]["slice_name"]
			}
			d.pieces = append(d.pieces, p)
			d.stacks[track] = stack[:len(stack)-1]
		default:
			require.Fail(t, "neither begins nor ends", "%v", f)
		}
	}
	for track, stack := range d.stacks {
		require.Empty(t, stack, track)
	}
	return d
}

// inside returns the pieces as name and name of what is around it, in the order of their ends.
func (d *drawn) inside() (list [][2]string) {
	for _, p := range d.pieces {
		list = append(list, [2]string{p.name, p.inside})
	}
	return list
}

// TestOpenSlices: a slice is open from the beginning of its span to the end, so that spans take no lock while there is none.
func TestOpenSlices(t *testing.T) {
	rig := newRig(t, ueventstrace.WithPerfettoSlices())
	tool := rig.attach(t, "app_slice")
	assert.Zero(t, rig.OpenSlices())
	for range 3 {
		_, s := rig.tracer().Start(t.Context(), "s")
		_, other := rig.tracer().Start(t.Context(), "other")
		assert.EqualValues(t, 2, rig.OpenSlices())
		other.End()
		assert.EqualValues(t, 1, rig.OpenSlices())
		s.End()
		assert.Zero(t, rig.OpenSlices())
	}
	tool.Detach()
}

func TestSlices(t *testing.T) {
	rig := newRig(t, ueventstrace.WithPerfettoSlices())
	tracer := rig.tracer()
	_, before := tracer.Start(t.Context(), "before")
	tr := rig.attach(t, "app_slice")
	before.End() // its slice never began

	ctx, root := tracer.Start(t.Context(), "root")
	inner, a := tracer.Start(ctx, "a")
	_, b := tracer.Start(ctx, "b") // beside a
	_, c := tracer.Start(inner, "c")
	c.End()
	b.End()
	a.End()
	_, d := tracer.Start(ctx, "d")
	d.End()
	root.End()
	_, other := tracer.Start(t.Context(), "other")
	other.End()

	list := records(t, tr)
	for _, f := range list {
		assert.Equal(t, "shop", f["track_name"])
		assert.Equal(t, "app_slice", f[""])
	}
	drawn := draw(t, list)
	assert.Equal(t, [][2]string{{"c", "a"}, {"b", ""}, {"a", "root"}, {"d", "root"}, {"root", ""}, {"other", ""}}, drawn.inside())
	assert.Len(t, drawn.stacks, 3, "root with a, c and d; b; other")
	assert.NotContains(t, newRig(t).Stats(), "app_slice", "opt-in")
}

// What goes on after its parent goes on on a track of its own, with what is inside of it.
func TestSlicesThatOutliveTheirParents(t *testing.T) {
	rig := newRig(t, ueventstrace.WithPerfettoSlices())
	tr := rig.attach(t, "app_slice")
	tracer := rig.tracer()
	ctx, root := tracer.Start(t.Context(), "root")
	inRoot, a := tracer.Start(ctx, "a")
	inA, b := tracer.Start(inRoot, "b")
	_, c := tracer.Start(inA, "c")
	a.End()
	_, d := tracer.Start(ctx, "d") // where a was
	c.End()
	root.End()
	d.End()
	b.End()

	drawn := draw(t, records(t, tr))
	assert.Equal(t, [][2]string{
		{"c", "b"},
		{"b", "a"},
		{"a", "root"}, // a ends
		{"c", "b"},
		{"d", "root"},
		{"root", ""}, // root ends
		{"d", ""},
		{"b", ""},
	}, drawn.inside())
	var tracks []string
	for _, p := range drawn.pieces {
		if p.name == "b" {
			tracks = append(tracks, p.track)
		}
	}
	require.Len(t, tracks, 2)
	assert.NotEqual(t, tracks[0], tracks[1])
}

// Whatever goroutines do with the same spans, every end ends the slice that it is the end of.
func TestSlicesConcurrently(t *testing.T) {
	testscale.HostOnly(t)
	rig := newRig(t, ueventstrace.WithPerfettoSlices())
	tr := rig.attach(t, "app_slice")
	tracer := rig.tracer()
	again := 0
	for round := range uint64(20) {
		ctx, root := tracer.Start(t.Context(), "root")
		var all sync.WaitGroup
		shared := &parents{list: []context.Context{ctx}}
		for g := range uint64(8) {
			all.Go(func() { startAndEnd(shared, tracer, rand.New(rand.NewPCG(round, g))) })
		}
		root.End()
		all.Wait()

		list := records(t, tr)
		require.Zero(t, tr.Lost())
		drawn := draw(t, list)
		// Pieces of a span follow each other.
		ended := map[string]bool{}
		for _, f := range list {
			span, ends := f["span_id"], f["track_event_type"] == "69"
			was, before := ended[span]
			require.True(t, ends || was || !before, "%v is drawn twice", f)
			ended[span] = ends
		}
		again += len(drawn.pieces) - len(ended)
	}
	assert.Positive(t, again, "no span went on elsewhere")
}

// The place of a sibling that ends is free when its end is written, not before.
func TestSlicesOfSiblings(t *testing.T) {
	rig := newRig(t, ueventstrace.WithPerfettoSlices())
	tr := rig.attach(t, "app_slice")
	tracer := rig.tracer()
	for range testscale.CountConcurrent(40, 8) {
		ctx, root := tracer.Start(t.Context(), "root")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 50 {
					_, span := tracer.Start(ctx, "span")
					span.End()
				}
			})
		}
		all.Wait()
		root.End()
		draw(t, records(t, tr))
		require.Zero(t, tr.Lost())
	}
}

// parents are spans that others are started in, ended or not.
type parents struct {
	mu   sync.Mutex
	list []context.Context
}

// any returns one of the last four.
func (p *parents) any(random *rand.Rand) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.list)
	return p.list[n-1-random.IntN(min(4, n))]
}

func (p *parents) add(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, ctx)
}

// startAndEnd starts spans inside of those of all goroutines, and ends its own in any order.
func startAndEnd(shared *parents, tracer trace.Tracer, random *rand.Rand) {
	var spans []trace.Span
	for range 100 {
		if n := len(spans); n > 0 && random.IntN(2) == 0 {
			i := random.IntN(n)
			spans[i].End()
			spans[i] = spans[n-1]
			spans = spans[:n-1]
			continue
		}
		ctx, span := tracer.Start(shared.any(random), "span")
		shared.add(ctx)
		spans = append(spans, span)
	}
	for _, span := range spans {
		span.End()
	}
}

// neverEnd starts spans that never end, each in the one before, and keeps none of them.
func neverEnd(t *testing.T, tracer trace.Tracer, tool *ueventstest.Tool, spans int) {
	t.Helper()
	ctx := t.Context()
	for i := range spans {
		_, span := tracer.Start(ctx, "endless")
		ctx = trace.ContextWithSpanContext(t.Context(), span.SpanContext())
		if i%1000 == 0 {
			tool.Records()
		}
	}
	tool.Records()
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what pools hold goes with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSlicesOfSpansThatNeverEnd: they take neither the place of later ones nor memory without bound, and are counted.
func TestSlicesOfSpansThatNeverEnd(t *testing.T) {
	testscale.HostOnly(t)
	rig := newRig(t, ueventstrace.WithPerfettoSlices())
	tool := rig.attach(t, "app_slice")
	tracer := rig.newProvider().Tracer("x")
	ctx, early := tracer.Start(t.Context(), "early")
	_, inEarly := tracer.Start(ctx, "in early")
	neverEnd(t, tracer, tool, 1<<16)
	more := testscale.Count(1<<18, 1<<16)
	assert.EqualValues(t, 2, rig.Stats()["app_slice"].Refused, "the two oldest ones")
	before := heap()
	neverEnd(t, tracer, tool, more)
	assert.Less(t, float64(heap()), 1.1*float64(before))
	assert.EqualValues(t, 2+more, rig.Stats()["app_slice"].Refused)

	inEarly.End()
	early.End()
	assert.Empty(t, tool.Records(), "their slices were dropped")
	ctx, root := tracer.Start(t.Context(), "root")
	_, child := tracer.Start(ctx, "child")
	child.End()
	root.End()
	assert.Equal(t, [][2]string{{"child", "root"}, {"root", ""}}, draw(t, records(t, tool)).inside())
	assert.EqualValues(t, 2+more+2, rig.Stats()["app_slice"].Refused)
}

// TestSlicesOfAChain: spans inside of each other that end from the outermost one on take a number of records that grows
// with that of the spans, and not with its square: End holds a lock and makes a system call for each.
func TestSlicesOfAChain(t *testing.T) {
	p := newOwn(t, ueventstrace.WithPerfettoSlices())
	tool := p.attach(t, "app_slice")
	const n = 500
	var list []trace.Span
	ctx := t.Context()
	for range n {
		var s trace.Span
		ctx, s = p.Tracer("x").Start(ctx, "s")
		list = append(list, s)
	}
	for _, s := range list {
		s.End()
	}
	stats := p.Stats()["app_slice"]
	assert.Less(t, stats.Written, uint64(100*n))
	assert.EqualValues(t, n-1-64, stats.Refused, "those around the 64 innermost ones, when the first one ended")
	require.Zero(t, tool.Lost())
	draw(t, records(t, tool))
}
