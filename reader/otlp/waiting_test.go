package otlp

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

// at returns an event of the span n of a process, so long after the first one.
func at(d time.Duration, pid int32, kind record.Kind, n int, edit func(ev *record.Record)) *record.Record {
	return span(kind, 0, func(ev *record.Record) {
		ev.Monotonic, ev.Time, ev.PID, ev.SpanID = uint64(time.Second+d), written.Add(d), pid, spanID(n)
		if edit != nil {
			edit(ev)
		}
	})
}

// hasParts makes a span one with so many events and links.
func hasParts(events, links uint32) func(ev *record.Record) {
	return func(ev *record.Record) { ev.EventCount, ev.LinkCount = events, links }
}

// taken returns the numbers of events and links of the spans since the last call, which are of one origin.
func taken(c *Converter) (list [][2]int) {
	for _, rs := range c.TakeTraces().ResourceSpans().All() {
		for _, s := range rs.ScopeSpans().At(0).Spans().All() {
			list = append(list, [2]int{s.Events().Len(), s.Links().Len()})
		}
	}
	return list
}

// requireEmpty requires that nothing waits.
func requireEmpty(t *testing.T, c *Converter) {
	t.Helper()
	spans, bytes := c.waiting.Size()
	require.Zero(t, spans+bytes+c.leaving.Len())
}

// TestLongSpan: a span has all its parts, however long it takes, and whatever comes meanwhile.
func TestLongSpan(t *testing.T) {
	const minutes = 10
	c := NewConverter(nil)
	add(t, c, at(0, 812, record.KindSpanLink, 1, nil))
	for i := range minutes * 60 {
		d := time.Duration(i) * time.Second
		add(t, c,
			at(d, 812, record.KindSpanEvent, 1, nil),
			at(d, 812, record.KindSpanEvent, 2+i, nil), at(d, 812, record.KindSpan, 2+i, hasParts(1, 0)), // short spans of the same program
			at(d, 7, record.KindLog, 0, nil))
		c.Idle(time.Second)
	}
	assert.Zero(t, c.Stats().OrphanEvents)
	c.TakeTraces()
	add(t, c, at(minutes*time.Minute, 812, record.KindSpan, 1, hasParts(minutes*60, 1)))
	assert.Equal(t, [][2]int{{minutes * 60, 1}}, taken(c))
	assert.Equal(t, Stats{LogRecords: minutes * 60, Spans: minutes*60 + 1}, c.Stats(), "no part was given up")
	requireEmpty(t, c)
}

// TestLateParts: a span waits for parts that did not come before it, such as those of other CPUs, until the last one has come, and for MaxWait at
// most: a tool that has attached in the middle of the span never gets them.
func TestLateParts(t *testing.T) {
	c := NewConverter(&Options{MaxWait: 2 * time.Second})
	add(t, c,
		at(0, 812, record.KindSpanEvent, 1, nil), at(0, 812, record.KindSpanLink, 2, nil), // an event and a link: both events are enabled
		at(time.Minute, 812, record.KindSpan, 1, hasParts(2, 1)),
		at(time.Minute, 812, record.KindSpan, 2, hasParts(0, 2)))
	assert.Empty(t, taken(c))
	add(t, c, at(time.Minute+2*time.Second, 812, record.KindSpanEvent, 1, nil))
	assert.Empty(t, taken(c), "its link is missing, and it has waited for 2 s and not for more")
	add(t, c, at(time.Minute+2*time.Second, 812, record.KindSpanLink, 1, nil))
	assert.Equal(t, [][2]int{{2, 1}}, taken(c), "it is complete")
	c.Idle(0)
	assert.Empty(t, taken(c))
	c.Idle(1)
	assert.Equal(t, [][2]int{{0, 1}}, taken(c), "its second link does not come")
	requireEmpty(t, c)

	// The time is that of events, too, and begins with the record of the span.
	add(t, c, at(time.Hour, 812, record.KindSpan, 3, hasParts(1, 0)), at(time.Hour+2*time.Second+1, 7, record.KindSpanEvent, 4, nil))
	assert.Equal(t, [][2]int{{0, 0}}, taken(c))
	assert.Equal(t, Stats{Spans: 3}, c.Stats())
}

// TestLateSpansAreBounded: spans that wait for missing parts are as many as MaxWait allows.
func TestLateSpansAreBounded(t *testing.T) {
	const n = 1000
	c := NewConverter(&Options{MaxSpans: 1 << 30, MaxBytes: 1 << 30, MaxWait: 9 * time.Millisecond})
	add(t, c, at(0, 812, record.KindSpanEvent, n, nil))
	for i := range n {
		add(t, c, at(time.Duration(i)*time.Millisecond, 812, record.KindSpan, i, hasParts(1, 0)))
		spans, _ := c.waiting.Size()
		require.LessOrEqual(t, spans, 1+10)
		require.Equal(t, spans-1, c.leaving.Len())
	}
	assert.Equal(t, Stats{Spans: n - 10}, c.Stats())
	add(t, c, at(n*time.Millisecond, 812, record.KindSpanEvent, n-1, nil))
	assert.Len(t, taken(c), n-10+1+1, "one has waited long enough, one is complete")
}

// TestExited: after the end of a process, the spans that it has left open are given up, but its late records still find them.
func TestExited(t *testing.T) {
	c := NewConverter(nil)
	for n := range 3 {
		add(t, c, at(0, 812, record.KindSpanEvent, n, nil), at(0, 812, record.KindSpanLink, n, nil))
	}
	add(t, c, at(0, 7, record.KindSpanEvent, 0, nil), at(time.Minute, 7, record.KindLog, 0, nil))
	c.Exited(812)
	c.Exited(812)
	c.Exited(9)
	assert.Equal(t, Stats{LogRecords: 1}, c.Stats())
	add(t, c, at(time.Minute+time.Millisecond, 812, record.KindSpanEvent, 0, nil), at(time.Minute+time.Millisecond, 812, record.KindSpan, 0, hasParts(2, 1)))
	assert.Equal(t, [][2]int{{2, 1}}, taken(c))
	c.Idle(2 * time.Second)
	assert.Equal(t, Stats{LogRecords: 3, Spans: 1, OrphanEvents: 2, OrphanLinks: 2}, c.Stats())
	spans, _ := c.waiting.Size()
	require.Equal(t, 1, spans, "that of the other process")
	add(t, c, at(time.Hour, 7, record.KindSpan, 0, hasParts(1, 0)))
	assert.Equal(t, [][2]int{{1, 0}}, taken(c))
	requireEmpty(t, c)
}

// TestEventWithoutSpan: an event that belongs to no recorded span waits for none.
func TestEventWithoutSpan(t *testing.T) {
	c := NewConverter(nil)
	ev := at(0, 812, record.KindSpanEvent, 1, nil)
	ev.SpanID = [8]byte{}
	add(t, c, ev)
	assert.Equal(t, Stats{LogRecords: 1, OrphanEvents: 1}, c.Stats())
	requireEmpty(t, c)
	logged := c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	assert.EqualValues(t, ev.TraceID, logged.TraceID())
	assert.True(t, logged.SpanID().IsEmpty())
}

// TestLinkWithoutSpan: a link that belongs to no span waits for none.
func TestLinkWithoutSpan(t *testing.T) {
	c := NewConverter(nil)
	ev := at(0, 812, record.KindSpanLink, 1, nil)
	ev.SpanID = [8]byte{}
	add(t, c, ev)
	assert.Equal(t, Stats{OrphanLinks: 1}, c.Stats())
	requireEmpty(t, c)
}

// TestTimeZero: a record without a time does not keep others from being given up.
func TestTimeZero(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, at(0, 812, record.KindSpanEvent, 9, nil), at(0, 666, record.KindSpan, 1, func(ev *record.Record) { ev.Monotonic, ev.EventCount = 0, 1 }))
	for i := range 100 {
		add(t, c, at(time.Duration(i)*time.Minute, 812, record.KindSpan, 10+i, hasParts(1, 0)))
	}
	c.Idle(time.Hour)
	assert.Zero(t, c.leaving.Len())
}

// TestSizes: the sizes are those of the JSON whichever way a span is completed, and bounded for one span.
func TestSizes(t *testing.T) {
	big := func(ev *record.Record) { ev.Message = strings.Repeat("x", 5000) }
	c := NewConverter(nil)
	add(t, c, at(0, 812, record.KindSpanEvent, 9, nil), at(0, 812, record.KindSpan, 1, func(ev *record.Record) { big(ev); ev.EventCount = 1 }))
	_, bytes := c.waiting.Size()
	assert.Greater(t, bytes, 5000, "a span that waits counts")
	add(t, c, at(0, 812, record.KindSpanEvent, 1, big))
	assert.Greater(t, c.Pending().SpanBytes, 10_000, "with the part that completes it")
	for _, kind := range []record.Kind{record.KindSpanEvent, record.KindSpanLink} {
		c := NewConverter(nil)
		for range 300 {
			add(t, c, at(0, 812, kind, 2, func(ev *record.Record) {
				big(ev)
				ev.TraceState = ev.Message
			}))
		}
		_, bytes = c.waiting.Size()
		assert.LessOrEqual(t, bytes, maxSpanBytes+partsSize, "what was released does not count")
		assert.Greater(t, bytes, maxSpanBytes-10_000)
	}
}

// TestReusedPID: the spans of a process are not given up with those of an ended one that had the same id.
func TestReusedPID(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, at(0, 812, record.KindSpanEvent, 1, nil))
	c.Exited(812)
	add(t, c, at(time.Second, 812, record.KindSpanEvent, 2, nil))
	add(t, c, at(time.Minute, 7, record.KindLog, 0, nil))
	assert.Equal(t, uint64(1), c.Stats().OrphanEvents)
	add(t, c, at(time.Hour, 812, record.KindSpan, 2, hasParts(1, 0)))
	assert.Equal(t, [][2]int{{1, 0}}, taken(c))
	add(t, c, at(time.Hour, 812, record.KindSpanEvent, 3, nil))
	c.Exited(812)
	c.Idle(time.Minute)
	assert.Equal(t, uint64(2), c.Stats().OrphanEvents)
	requireEmpty(t, c)
}

// TestFlush: at the end, nothing waits.
func TestFlush(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, at(0, 812, record.KindSpanEvent, 1, nil), at(0, 7, record.KindSpanEvent, 1, nil), at(0, 7, record.KindSpan, 2, hasParts(1, 0)))
	c.Exited(812)
	c.Flush()
	assert.Equal(t, Stats{LogRecords: 2, Spans: 1, OrphanEvents: 2}, c.Stats())
	requireEmpty(t, c)
	c.Flush()
	assert.Equal(t, 2, c.Pending().LogRecords)
}

// TestWaitingIsBounded: the data that waits for spans is bounded in number and size. The oldest spans are released first.
func TestWaitingIsBounded(t *testing.T) {
	testscale.HostOnly(t)
	const n = 1000
	big := strings.Repeat("x", 10_000)
	for name, o := range map[string]Options{
		"spans": {MaxSpans: 10, MaxBytes: 1 << 30},
		"bytes": {MaxSpans: 1 << 30, MaxBytes: 10 * 11_000},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConverter(&o)
			at := func(i int, kind record.Kind) *record.Record {
				return at(time.Duration(i)*time.Millisecond, 812, kind, i, func(ev *record.Record) { ev.Message = big })
			}
			for i := range n {
				add(t, c, at(i, record.KindSpanEvent))
				spans, bytes := c.waiting.Size()
				require.LessOrEqual(t, spans, 10)
				require.LessOrEqual(t, bytes, 10*11_000)
			}
			spans, _ := c.waiting.Size()
			assert.Equal(t, 10, spans)
			last := at(n-1, record.KindSpan)
			add(t, c, last)
			assert.Equal(t, Stats{LogRecords: n - 10, Spans: 1, OrphanEvents: n - 10}, c.Stats())
			assert.Equal(t, [][2]int{{1, 0}}, taken(c))
		})
	}
}

// TestEndlessSpans: a process that ends no span takes the room that others leave it, and not theirs. So do many such processes.
func TestEndlessSpans(t *testing.T) {
	testscale.HostOnly(t)
	for name, c := range map[string]struct {
		attacks int
		pid     func(i int) int32
	}{
		"one process":    {testscale.Count(1_000_000, 50_000), func(int) int32 { return 7 }},
		"many processes": {testscale.Count(100_000, 50_000), func(i int) int32 { return int32(1000 + i%1000) }},
	} {
		t.Run(name, func(t *testing.T) {
			attacks, pid := c.attacks, c.pid
			c := NewConverter(&Options{MaxSpans: 10_000, MaxBytes: 1 << 20})
			add(t, c, at(0, 812, record.KindSpanEvent, 1, nil), at(0, 812, record.KindSpanLink, 1, nil))
			ev := at(0, 7, record.KindSpanEvent, 0, nil)
			for i := range attacks {
				ev.PID, ev.Monotonic = pid(i), ev.Monotonic+uint64(time.Millisecond)
				binary.BigEndian.PutUint64(ev.TraceID[:], uint64(i))
				if err := c.Add(ev); err != nil {
					require.NoError(t, err)
				}
				if spans, bytes := c.waiting.Size(); spans > 10_000 || bytes > 1<<20 {
					require.Fail(t, "too much waits", "%d spans with %d bytes", spans, bytes)
				}
				if i%1000 == 0 {
					c.TakeLogs()
				}
			}
			spans, bytes := c.waiting.Size()
			assert.Greater(t, bytes, 1<<20-10_000, "%d spans", spans)
			assert.EqualValues(t, attacks-(spans-1), c.Stats().OrphanEvents)
			add(t, c, at(time.Hour, 812, record.KindSpan, 1, hasParts(1, 1)))
			assert.Equal(t, [][2]int{{1, 1}}, taken(c))
		})
	}
}
