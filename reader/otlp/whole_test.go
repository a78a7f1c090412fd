package otlp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

// spanID returns the id of span n.
func spanID(n int) (id [8]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(n+1))
	return id
}

// recordsOf returns the records of span n in the order in which a program writes them: with numbered events and links.
func recordsOf(n, events, links int) (list []*reader.Event) {
	ids := func(ev *reader.Event) { ev.SpanID = spanID(n) }
	for i := range events {
		list = append(list, span(reader.KindSpanEvent, 0, func(ev *reader.Event) {
			ids(ev)
			ev.Message = fmt.Sprintf("event %d of %d", i, n)
		}))
	}
	for i := range links {
		list = append(list, span(reader.KindSpanLink, 0, func(ev *reader.Event) {
			ids(ev)
			ev.LinkedSpanID = spanID(1000*n + i)
		}))
	}
	return append(list, span(reader.KindSpan, 0, func(ev *reader.Event) {
		ids(ev)
		ev.Message, ev.EventCount, ev.LinkCount = fmt.Sprintf("span %d", n), uint32(events), uint32(links)
	}))
}

// checkWhole checks that a span of recordsOf has its own events and links, all of them, once.
func checkWhole(t *testing.T, s ptrace.Span, events, links int) {
	t.Helper()
	id := s.SpanID()
	n := int(binary.BigEndian.Uint64(id[:])) - 1
	require.Equal(t, fmt.Sprintf("span %d", n), s.Name())
	require.Equal(t, events, s.Events().Len(), s.Name())
	require.Equal(t, links, s.Links().Len(), s.Name())
	var gotEvents, wantEvents []string
	for i, e := range s.Events().All() {
		gotEvents, wantEvents = append(gotEvents, e.Name()), append(wantEvents, fmt.Sprintf("event %d of %d", i, n))
	}
	require.ElementsMatch(t, wantEvents, gotEvents)
	var gotLinks, wantLinks [][8]byte
	for i, l := range s.Links().All() {
		gotLinks, wantLinks = append(gotLinks, l.SpanID()), append(wantLinks, spanID(1000*n+i))
	}
	require.ElementsMatch(t, wantLinks, gotLinks)
}

// TestSpansArriveWhole: spans arrive whole, though their records are interleaved and some events and links come after
// their span, as records of several CPUs do.
func TestSpansArriveWhole(t *testing.T) {
	n := testscale.Count(10_000, 1_000)
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 1))
		type record struct {
			at int
			ev *reader.Event
		}
		var records []record
		events, links := make([]int, n), make([]int, n)
		at := 0
		for i := range n {
			events[i], links[i] = random.IntN(4), random.IntN(3)
			begin := at + random.IntN(50) // spans of several threads
			for _, ev := range recordsOf(i, events[i], links[i]) {
				records = append(records, record{begin + random.IntN(20), ev})
				begin++
			}
			at++
		}
		slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.at, b.at) })
		c := NewConverter(nil)
		add(t, c, recordsOf(n, 1, 1)...) // there are such events
		seen := 0
		take := func() {
			for _, r := range c.TakeTraces().ResourceSpans().All() {
				for _, s := range r.ScopeSpans().All() {
					for _, s := range s.Spans().All() {
						if s.SpanID() == spanID(n) {
							continue
						}
						id := s.SpanID()
						i := int(binary.BigEndian.Uint64(id[:])) - 1
						checkWhole(t, s, events[i], links[i])
						seen++
					}
				}
			}
		}
		for i, r := range records {
			r.ev.Monotonic = uint64(1e9 + i)
			add(t, c, r.ev)
			if i%1000 == 0 {
				take()
			}
		}
		take()
		assert.Equal(t, n, seen)
		assert.Equal(t, Stats{Spans: uint64(n + 1)}, c.Stats())
		waiting, bytes := c.waiting.Size()
		assert.Zero(t, waiting+bytes)
	}
}

// TestIncompleteSpans: a span without all its events and links arrives after the longest wait, on Flush, when another one
// has its ids, or when too much waits.
func TestIncompleteSpans(t *testing.T) {
	first := recordsOf(0, 1, 1)
	incomplete := recordsOf(1, 2, 1)[1:] // without its first event
	for name, release := range map[string]func(c *Converter){
		"Flush": (*Converter).Flush,
		"Idle":  func(c *Converter) { c.Idle(time.Hour) },
		"age": func(c *Converter) {
			add(t, c, event(reader.KindLog, func(ev *reader.Event) { ev.Monotonic = 1e9 + uint64(3*time.Second) }))
			c.TakeLogs()
		},
		"same ids": func(c *Converter) {
			add(t, c, incomplete[len(incomplete)-1])
			assert.Equal(t, 2, c.Pending().Spans)
			c.Flush()
		},
		"size": func(c *Converter) { c.waiting.Evict() },
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConverter(nil)
			add(t, c, first...)
			add(t, c, incomplete...)
			assert.Equal(t, 1, c.Pending().Spans)
			_, bytes := c.waiting.Size()
			assert.Positive(t, bytes)
			release(c)
			assert.GreaterOrEqual(t, c.Pending().Spans, 2)
			assert.Zero(t, c.Pending().LogRecords)
			s := c.TakeTraces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1)
			assert.Equal(t, "span 1", s.Name())
			assert.Equal(t, 1, s.Events().Len())
			assert.Equal(t, 1, s.Links().Len())
			_, bytes = c.waiting.Size()
			assert.Zero(t, bytes)
		})
	}
}

// TestSpansAlone: a span does not wait for events and links if no tool is attached to these, or if they are in its record.
func TestSpansAlone(t *testing.T) {
	c := NewConverter(nil)
	records := recordsOf(0, 2, 1)
	add(t, c, records[len(records)-1])
	assert.Equal(t, 1, c.Pending().Spans)
	add(t, c, recordsOf(1, 1, 1)...)
	assert.Equal(t, 2, c.Pending().Spans)
	nested := *records[len(records)-1]
	nested.Header = &reader.Header{}
	add(t, c, &nested)
	assert.Equal(t, 3, c.Pending().Spans)
}
