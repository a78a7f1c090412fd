package perfetto

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

// Spans come in the order of their ends. Those of one goroutine nest; those that overlap are on separate tracks.
func TestNesting(t *testing.T) {
	for name, test := range map[string]struct {
		spans []*record.Record
		want  map[int]int // the enclosing span of each, 0 for none
	}{
		"calls": {
			[]*record.Record{span(3, 2, 20, 30, nil), span(2, 1, 15, 40, nil), span(5, 4, 51, 52, nil), span(4, 1, 50, 60, nil), span(1, 0, 10, 70, nil)},
			map[int]int{1: 0, 2: 1, 3: 2, 4: 1, 5: 4},
		},
		"concurrent children": {
			[]*record.Record{span(2, 1, 15, 40, nil), span(3, 1, 20, 50, nil), span(1, 0, 10, 70, nil)},
			map[int]int{1: 0, 2: 1, 3: 0},
		},
		"a child that outlives its parent": {
			[]*record.Record{span(1, 0, 10, 20, nil), span(2, 1, 15, 30, nil)},
			map[int]int{1: 0, 2: 0},
		},
		"a child of a child that is on another track": {
			[]*record.Record{span(2, 1, 15, 40, nil), span(4, 3, 42, 44, nil), span(3, 1, 30, 50, nil), span(1, 0, 10, 70, nil)},
			map[int]int{1: 0, 2: 1, 3: 0, 4: 1},
		},
		"a sibling inside of a sibling": {
			[]*record.Record{span(2, 1, 20, 30, nil), span(3, 1, 15, 40, nil), span(1, 0, 10, 70, nil)},
			map[int]int{1: 0, 2: 1, 3: 0},
		},
		"one after the other, the same moment between": {
			[]*record.Record{span(1, 0, 10, 20, nil), span(2, 0, 20, 30, nil), span(3, 0, 30, 30, nil), span(4, 0, 30, 40, nil)},
			map[int]int{1: 0, 2: 0, 3: 0, 4: 0},
		},
		"the same times": {
			[]*record.Record{span(2, 1, 10, 20, nil), span(1, 0, 10, 20, nil)},
			map[int]int{1: 0, 2: 0},
		},
		"the same end": {
			[]*record.Record{span(2, 1, 15, 20, nil), span(1, 0, 10, 20, nil)},
			map[int]int{1: 0, 2: 1},
		},
		"the parent first, by writers that race": {
			[]*record.Record{span(1, 0, 10, 20, nil), span(2, 1, 12, 20, nil), span(3, 0, 5, 8, nil)},
			map[int]int{1: 0, 2: 0, 3: 0},
		},
		"other traces and processes": {
			[]*record.Record{
				span(2, 1, 20, 30, nil), span(3, 1, 21, 29, func(ev *record.Record) { ev.TraceID = trace(2) }),
				span(4, 1, 15, 35, func(ev *record.Record) { ev.PID = 7 }), span(1, 0, 10, 70, nil),
			},
			map[int]int{1: 0, 2: 1, 3: 0, 4: 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := slicesIn(t, written(t, test.spans...))
			require.Len(t, found, len(test.want))
			for n, around := range test.want {
				got := 0
				if s := found[hexOf(n)].around; s != nil {
					_, err := fmt.Sscanf(s.id, "%x", &got)
					require.NoError(t, err)
				}
				assert.Equal(t, around, got, "around span %d", n)
			}
		})
	}
}

// node is a span of a random trace.
type node struct {
	id, parent int
	begin, end uint64
}

// randomTrace returns spans in the order of their ends. Most are within their parents; some outlive them.
func randomTrace(r *rand.Rand, size int) []node {
	list := []node{{1, 0, 0, 1 << 30}}
	for id := 2; id <= size; id++ {
		p := list[r.IntN(len(list))]
		length := p.end - p.begin
		if length < 4 {
			continue
		}
		n := node{id: id, parent: p.id, begin: p.begin + r.Uint64N(length)}
		n.end = n.begin + r.Uint64N(p.end-n.begin+1)
		if r.IntN(10) == 0 {
			n.end += r.Uint64N(length)
		}
		list = append(list, n)
	}
	slices.SortStableFunc(list, func(a, b node) int { return int(a.end>>10) - int(b.end>>10) }) // some out of order
	return list
}

// In random traces each end closes its own slice, and only ancestors enclose a slice.
func TestNestingOfRandomTraces(t *testing.T) {
	for seed := range uint64(testscale.Count(50, 5)) {
		r := rand.New(rand.NewPCG(seed, 0))
		list := randomTrace(r, 200)
		parents := map[int]int{}
		var events []*record.Record
		for _, n := range list {
			parents[n.id] = n.parent
			events = append(events, span(n.id, n.parent, n.begin, n.end, func(ev *record.Record) { ev.Monotonic, ev.Time = boot+1<<36, wall(1<<36) }))
		}
		found := slicesIn(t, written(t, events...))
		require.Len(t, found, len(list))
		nested := 0
		for _, n := range list {
			s := found[hexOf(n.id)]
			require.Equal(t, boot+n.begin, s.begin)
			require.Equal(t, boot+n.end, s.end)
			if s.around == nil {
				continue
			}
			nested++
			ancestor := n.parent
			for ancestor != 0 && hexOf(ancestor) != s.around.id {
				ancestor = parents[ancestor]
			}
			require.NotZero(t, ancestor, "span %d is inside of %s (seed %d)", n.id, s.around.id, seed)
		}
		require.Greater(t, nested, len(list)/10, "seed %d", seed)
	}
}

// The memory is bounded for any number of traces, tracks and slices.
func TestNestingIsBounded(t *testing.T) {
	onHost(t)
	var opened uint64
	n := newNesting(func(int32) uint64 { opened++; return opened })
	for i := range 3 * maxTraces {
		n.place(traceKey{1, trace(i)}, id(1), id(2), uint64(i), uint64(i)+1)
		require.LessOrEqual(t, len(n.recent)+len(n.old), 2*maxTraces)
	}
	kept := 0
	for i := range 3 * maxSlices { // traces with many slices
		n.place(traceKey{2, trace(i / 200)}, id(i), id(2), uint64(10*i), uint64(10*i)+5)
		kept = max(kept, n.slices)
	}
	assert.LessOrEqual(t, kept, maxSlices+200)
	key := traceKey{1, trace(1)}
	for i := range 10 * maxTracksOfTrace { // all at the same time
		n.place(key, id(i), id(2), uint64(i), 1<<40+uint64(i))
		require.LessOrEqual(t, len(n.recent[key]), maxTracksOfTrace)
	}
	key = traceKey{1, trace(2)}
	before := opened
	for i := range 10 * maxSlicesOfTracks { // one after the other
		n.place(key, id(i+10), id(2), uint64(10*i), uint64(10*i)+5)
		require.LessOrEqual(t, len(n.recent[key][0].slices), maxSlicesOfTracks)
	}
	assert.Equal(t, before+1, opened, "on one track")
	last := n.place(key, id(2), spanID{}, 0, 1<<30)
	assert.Equal(t, opened, last, "it holds all of its children")
}

// TestNestingOfKnownTraces: the slices of traces that stay known are bounded, too.
func TestNestingOfKnownTraces(t *testing.T) {
	onHost(t)
	if testscale.Race {
		t.Skip("not under the race detector: it takes minutes, in one goroutine")
	}
	n := newNesting(func(int32) uint64 { return 1 })
	for i := range maxSlicesOfTracks {
		for k := range 64 {
			for range maxTracksOfTrace {
				n.place(traceKey{1, trace(k)}, id(1), id(2), uint64(10*i), uint64(10*i)+5)
			}
		}
		require.LessOrEqual(t, n.slices, maxSlices+maxTracksOfTrace*maxSlicesOfTracks)
	}
	recent, kept := 0, map[*sliceTrack]bool{}
	for _, traces := range []map[traceKey][]*sliceTrack{n.recent, n.old} {
		for _, tracks := range traces {
			for _, track := range tracks {
				kept[track] = true
			}
		}
	}
	all := 0
	for track := range kept {
		all += len(track.slices)
	}
	for _, tracks := range n.recent {
		for _, track := range tracks {
			recent += len(track.slices)
		}
	}
	assert.Equal(t, recent, n.slices)
	assert.LessOrEqual(t, all, 2*(maxSlices+maxTracksOfTrace*maxSlicesOfTracks))
	assert.NotEmpty(t, n.old)
}

// onHost skips tests that fill tables of many thousand entries where the processor is emulated.
func onHost(t *testing.T) {
	testscale.HostOnly(t)
}

// The data that waits for spans is bounded in number and size.
func TestWaitingIsBounded(t *testing.T) {
	testscale.HostOnly(t)
	onHost(t)
	for size, n := range map[int]int{10: 2 * maxWaiting, 100_000: 500} {
		var events int
		w := NewWriter(writer(func(b []byte) (int, error) { events++; return len(b), nil }), machine)
		text := record.StringValue(string(make([]byte, size)))
		for i := range n {
			require.NoError(t, w.Write(event(record.KindSpanEvent, uint64(i), func(ev *record.Record) {
				ev.SpanID = id(i + 1)
				ev.SetFields([]record.Field{{Name: "text", Value: text}})
			})))
			spans, bytes := w.waiting.Size()
			require.LessOrEqual(t, spans, maxWaiting)
			require.LessOrEqual(t, bytes, maxWaitingBytes)
			require.NoError(t, w.Write(event(record.KindSpanStart, uint64(i), func(ev *record.Record) {
				ev.SpanID = id(i + 1)
				ev.SetFields([]record.Field{{Name: "text", Value: text}})
			})))
			spans, bytes = w.started.Size()
			require.LessOrEqual(t, spans, maxUnfinished)
			require.LessOrEqual(t, bytes, maxWaitingBytes)
		}
		assert.NotNil(t, w.waiting.Next())
		require.NoError(t, w.Close())
		assert.Nil(t, w.waiting.Next())
		assert.Nil(t, w.started.Next())
		assert.Greater(t, events, n/3, "they were written meanwhile")
	}
}

// TestLargeStart: a start of a span that is larger than all that may wait does not wait.
func TestLargeStart(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, machine)
	for i, want := range []int{1, 0, 1} {
		size := []int{10, maxWaitingBytes + 1, 10}[i]
		require.NoError(t, w.Write(event(record.KindSpanStart, uint64(i), func(ev *record.Record) {
			ev.SpanID = id(i + 1)
			ev.SetFields([]record.Field{{Name: "text", Value: record.StringValue(string(make([]byte, size)))}})
		})))
		spans, _ := w.started.Size()
		require.Equal(t, want, spans)
	}
	require.NoError(t, w.Close())
	assert.Contains(t, slicesIn(t, decode(t, file.Bytes())), hexOf(3))
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestWriteFails(t *testing.T) {
	w := NewWriter(writer(func([]byte) (int, error) { return 0, assert.AnError }), machine)
	require.ErrorIs(t, w.Write(event(record.KindLog, 1, nil)), assert.AnError)
	require.ErrorIs(t, w.Lost("e", 1, wall(1)), assert.AnError)
	require.ErrorIs(t, w.Write(span(1, 0, 1, 2, nil)), assert.AnError)
}
