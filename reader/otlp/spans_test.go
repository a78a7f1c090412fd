package otlp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

// span returns an event of a kind that belongs to the span n.
func span(kind record.Kind, n byte, edit func(ev *record.Record)) *record.Record {
	return event(kind, func(ev *record.Record) {
		ev.TraceID, ev.SpanID, ev.Timestamp = testTrace, [8]byte{n}, happened
		if edit != nil {
			edit(ev)
		}
	})
}

func TestSpan(t *testing.T) {
	c := NewConverter(nil)
	add(t, c,
		span(record.KindSpanEvent, 0, func(ev *record.Record) {
			ev.SpanID, ev.Message, ev.DroppedAttributes = testSpan, "exception", 1
			ev.SetFields([]record.Field{field("exception.type", record.StringValue("E"))})
		}),
		span(record.KindSpanLink, 0, func(ev *record.Record) {
			ev.SpanID, ev.LinkedTraceID, ev.LinkedSpanID, ev.TraceFlags, ev.TraceState = testSpan, [16]byte{1}, [8]byte{2}, 1, "a=b"
			ev.SetFields([]record.Field{field("why", record.StringValue("batch"))})
		}),
		span(record.KindSpanEvent, 9, nil), // of another one
		span(record.KindSpan, 0, func(ev *record.Record) {
			ev.SpanID, ev.ParentSpanID, ev.ParentRemote, ev.TraceFlags, ev.TraceState = testSpan, [8]byte{1}, true, 1, "c=d"
			ev.Message, ev.SpanKind, ev.Status, ev.StatusMessage = "GET /", record.SpanKindServer, record.StatusError, "boom"
			ev.Duration = 1500 * time.Millisecond
			ev.DroppedAttributes, ev.DroppedEvents, ev.DroppedLinks = 1, 2, 3
			ev.SetFields([]record.Field{field("http.route", record.StringValue("/"))})
			ev.NestedEvents = []record.NestedEvent{{Name: "nested", Time: happened, Attributes: []record.Field{field("n", record.Int64Value(1))}, DroppedAttributes: 4}}
			ev.NestedLinks = []record.NestedLink{{TraceID: [16]byte{3}, SpanID: [8]byte{4}, TraceFlags: 1, TraceState: "e=f", DroppedAttributes: 5}}
		}))
	assert.Equal(t, Pending{Spans: 1, SpanBytes: c.traces.bytes, Bytes: c.traces.bytes}, c.Pending())
	logs, traces, _ := takeJSON(t, c)
	assert.JSONEq(t, `{}`, logs)
	assert.JSONEq(t, `{"resourceSpans":[{`+resourceJSON+`,"scopeSpans":[{`+scopeJSON+`,"spans":[{
		"traceId":`+testTraceJSON+`,"spanId":`+testSpanJSON+`,"parentSpanId":`+testParentJSON+`,"flags":769,"traceState":"c=d","name":"GET /","kind":2,
		"startTimeUnixNano":`+happenedJSON+`,"endTimeUnixNano":"1700000001500000007","status":{"code":2,"message":"boom"},
		"droppedAttributesCount":1,"droppedEventsCount":2,"droppedLinksCount":3,
		"attributes":[{"key":"http.route","value":{"stringValue":"/"}},`+ownJSON+`],
		"events":[{"name":"nested","timeUnixNano":`+happenedJSON+`,"droppedAttributesCount":4,"attributes":[{"key":"n","value":{"intValue":"1"}}]},
		{"name":"exception","timeUnixNano":`+happenedJSON+`,"droppedAttributesCount":1,"attributes":[{"key":"exception.type","value":{"stringValue":"E"}}]}],
		"links":[{"traceId":"03000000000000000000000000000000","spanId":"0400000000000000","flags":1,"traceState":"e=f","droppedAttributesCount":5},
		{"traceId":"01000000000000000000000000000000","spanId":"0200000000000000","flags":1,"traceState":"a=b","attributes":[
		{"key":"why","value":{"stringValue":"batch"}}]}]}]}]}]}`, traces)
	assert.Equal(t, Stats{Spans: 1}, c.Stats())
}

// A span without a start ended when its record was written.
func TestSpanWithoutTime(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, event(record.KindSpan, func(ev *record.Record) { ev.Duration = time.Second }))
	s := c.TakeTraces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	assert.Equal(t, written, s.EndTimestamp().AsTime())
	assert.Equal(t, written.Add(-time.Second), s.StartTimestamp().AsTime())
}

func TestOrphans(t *testing.T) {
	c := NewConverter(nil)
	add(t, c,
		span(record.KindSpanEvent, 1, func(ev *record.Record) {
			ev.Message, ev.DroppedAttributes, ev.TraceFlags = "retry", 7, 1
			ev.SetFields([]record.Field{field("n", record.Int64Value(1))})
		}),
		span(record.KindSpanLink, 1, nil))
	assert.Equal(t, Pending{}, c.Pending())
	c.Flush()
	logs, traces, _ := takeJSON(t, c)
	assert.JSONEq(t, `{"resourceLogs":[{`+resourceJSON+`,"scopeLogs":[{`+scopeJSON+`,"logRecords":[{
		"timeUnixNano":`+happenedJSON+`,"observedTimeUnixNano":`+writtenJSON+`,"severityNumber":9,"body":{},"eventName":"retry",
		"traceId":`+testTraceJSON+`,"spanId":`+testParentJSON+`,"flags":1,"droppedAttributesCount":7,
		"attributes":[{"key":"n","value":{"intValue":"1"}},`+ownJSON+`]}]}]}]}`, logs)
	assert.JSONEq(t, `{}`, traces)
	assert.Equal(t, Stats{LogRecords: 1, OrphanEvents: 1, OrphanLinks: 1}, c.Stats())
	spans, bytes := c.waiting.Size()
	require.Zero(t, spans+bytes)

	add(t, c, span(record.KindSpan, 1, nil))
	assert.Zero(t, c.TakeTraces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Events().Len(), "it came too late")
}

// The size of one span is bounded: further events become log records.
func TestLargeSpan(t *testing.T) {
	c := NewConverter(nil)
	big := strings.Repeat("x", 100_000)
	for range 10 {
		add(t, c, span(record.KindSpanEvent, 1, func(ev *record.Record) { ev.Message = big }))
		add(t, c, span(record.KindSpanLink, 1, func(ev *record.Record) { ev.TraceState = big }))
	}
	add(t, c, span(record.KindSpan, 1, nil))
	_, traces, _ := takeJSON(t, c)
	assert.Greater(t, len(traces), maxSpanBytes/2)
	assert.Less(t, len(traces), maxSpanBytes+2*len(big))
	st := c.Stats()
	assert.EqualValues(t, strings.Count(traces, `"name":"`+big)+int(st.OrphanEvents), 10)
	assert.EqualValues(t, strings.Count(traces, `"traceState":"`+big)+int(st.OrphanLinks), 10)
}

// spanID returns the id of span n.
func spanID(n int) (id [8]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(n+1))
	return id
}

// recordsOf returns the records of span n in the order in which a program writes them: with numbered events and links.
func recordsOf(n, events, links int) (list []*record.Record) {
	ids := func(ev *record.Record) { ev.SpanID = spanID(n) }
	for i := range events {
		list = append(list, span(record.KindSpanEvent, 0, func(ev *record.Record) {
			ids(ev)
			ev.Message = fmt.Sprintf("event %d of %d", i, n)
		}))
	}
	for i := range links {
		list = append(list, span(record.KindSpanLink, 0, func(ev *record.Record) {
			ids(ev)
			ev.LinkedSpanID = spanID(1000*n + i)
		}))
	}
	return append(list, span(record.KindSpan, 0, func(ev *record.Record) {
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
		type placed struct {
			at int
			ev *record.Record
		}
		var records []placed
		events, links := make([]int, n), make([]int, n)
		at := 0
		for i := range n {
			events[i], links[i] = random.IntN(4), random.IntN(3)
			begin := at + random.IntN(50) // spans of several threads
			for _, ev := range recordsOf(i, events[i], links[i]) {
				records = append(records, placed{begin + random.IntN(20), ev})
				begin++
			}
			at++
		}
		slices.SortStableFunc(records, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
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
			add(t, c, event(record.KindLog, func(ev *record.Record) { ev.Monotonic = 1e9 + uint64(3*time.Second) }))
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
	nested.Header = &record.Header{}
	add(t, c, &nested)
	assert.Equal(t, 3, c.Pending().Spans)
}
