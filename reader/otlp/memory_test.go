package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
)

// heapSize returns the memory in use.
func heapSize() int {
	var st runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&st)
	return int(st.HeapAlloc)
}

// TestMemoryOfData: the memory of a converter is proportional to the sizes that it reports, for usual and for hostile events.
func TestMemoryOfData(t *testing.T) {
	testscale.HostOnly(t)
	many := func(n int) (list []reader.Field) {
		for i := range n {
			list = append(list, field(fmt.Sprintf("%x", i), reader.Value{}))
		}
		return list
	}
	ones := make([]reader.Field, 30_000)
	resource := 0
	requestOf := func(unit string) func(ev *reader.Event) {
		b := bytes.Repeat([]byte(unit), 60_000/len(unit))
		return func(ev *reader.Event) { ev.Point = &reader.Point{Type: reader.PointOTLP, Request: b} }
	}
	for name, c := range map[string]struct {
		kind reader.Kind
		edit func(ev *reader.Event)
	}{
		"small log records": {reader.KindLog, nil},
		"usual log records": {reader.KindLog, func(ev *reader.Event) {
			ev.Body, ev.Fields = reader.StringValue("GET /users/{id}"), []reader.Field{field("http.route", reader.StringValue("/")), field("n", reader.Int64Value(1))}
		}},
		"tiny attributes": {reader.KindLog, func(ev *reader.Event) { ev.Fields = many(100) }},
		"many attributes": {reader.KindLog, func(ev *reader.Event) { ev.Fields = many(10_000) }},
		"lists":           {reader.KindLog, func(ev *reader.Event) { ev.Fields = []reader.Field{field("l", reader.ListValue(ones))} }},
		"large texts":     {reader.KindLog, func(ev *reader.Event) { ev.Body = reader.StringValue(strings.Repeat("x", 60_000)) }},
		"medium texts":    {reader.KindLog, func(ev *reader.Event) { ev.Body = reader.StringValue(strings.Repeat("x", 8_000)) }},
		"spans":           {reader.KindSpan, nil},
		"points":          {reader.KindMetric, func(ev *reader.Event) { ev.Point = &reader.Point{Type: reader.PointGauge, Value: reader.Int64Value(1)} }},
		"different points": {reader.KindMetric, func(ev *reader.Event) {
			ev.Message = fmt.Sprint(resource)
			ev.PID, ev.Point = int32(resource), &reader.Point{Type: reader.PointHistogram, Bounds: []float64{1}, BucketCounts: []uint64{1, 2}}
		}},
		"resources":                    {reader.KindLog, func(ev *reader.Event) { ev.ServiceName = fmt.Sprint(resource) }},
		"scopes":                       {reader.KindSpan, func(ev *reader.Event) { ev.ScopeName = fmt.Sprint(resource) }},
		"requests of empty resources":  {reader.KindMetric, requestOf("\x0a\x00")},
		"requests of empty attributes": {reader.KindMetric, requestOf("\x0a\x04\x0a\x02\x0a\x00")},
		"requests of empty points":     {reader.KindMetric, requestOf("\x0a\x0a\x12\x08\x12\x06\x2a\x04\x0a\x02\x3a\x00")},
	} {
		t.Run(name, func(t *testing.T) {
			const size = 8 << 20
			c2 := NewConverter(nil)
			before := heapSize()
			n := 0
			for ; c2.Pending().Bytes < size; n++ {
				resource++
				add(t, c2, event(c.kind, c.edit))
			}
			used, pending := heapSize()-before, c2.Pending().Bytes
			t.Logf("%d events: %d bytes reported, %.2f times that used", n, pending, float64(used)/float64(pending))
			assert.Less(t, used, 3*pending)
			runtime.KeepAlive(c2)
		})
	}
}

// TestMemoryOfWaiting: what waits for spans takes memory in proportion to its limit, which holds for endless events.
func TestMemoryOfWaiting(t *testing.T) {
	testscale.HostOnly(t)
	const limit = 4 << 20
	for name, edit := range map[string]func(ev *reader.Event){
		"small events": nil,
		"large events": func(ev *reader.Event) { ev.Message = strings.Repeat("x", 10_000) },
		"links":        func(ev *reader.Event) { ev.Kind = reader.KindSpanLink },
		"spans":        func(ev *reader.Event) { ev.Kind, ev.EventCount = reader.KindSpan, 7 },
		"one span":     func(ev *reader.Event) { ev.SpanID = [8]byte{1} },
		"processes":    func(ev *reader.Event) { ev.PID = int32(binary.BigEndian.Uint64(ev.SpanID[:])) },
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConverter(&Options{MaxSpans: 1 << 30, MaxBytes: limit, MaxWait: time.Hour})
			add(t, c, recordsOf(0, 1, 1)...)
			before := heapSize()
			for i := range 30_000 {
				ev := span(reader.KindSpanEvent, 0, func(ev *reader.Event) { ev.SpanID = spanID(i + 1) })
				if edit != nil {
					edit(ev)
				}
				add(t, c, ev)
				c.TakeLogs()
				if i%100 == 0 {
					c.TakeTraces()
				}
				_, bytes := c.waiting.Size()
				require.LessOrEqual(t, bytes, limit)
			}
			c.TakeTraces()
			used := heapSize() - before
			spans, bytes := c.waiting.Size()
			t.Logf("%d spans wait with %d bytes, %.2f times that used", spans, bytes, float64(used)/float64(max(bytes, 1)))
			assert.Less(t, used, 3*limit)
			runtime.KeepAlive(c)
		})
	}
}

// TestKeptTexts: kept texts are valid and equal to the record's, with their sizes in JSON, however many names there are.
func TestKeptTexts(t *testing.T) {
	kept := newTexts()
	long := strings.Repeat("x", maxName)
	cases := map[string]string{"": "", long: long, long + "x": long + "x", "\xff": "\uFFFD", "a\xffb": "a\uFFFDb", "é\"\\\n": "é\"\\\n", "\x7f": "\x7f"}
	for i := range 4 * knownNames {
		cases[fmt.Sprint(i)] = fmt.Sprint(i)
	}
	for _, keep := range []func(string) (string, int){kept.keepName, kept.keepSized} {
		for range 2 {
			got := map[string]string{}
			for s, want := range cases {
				text, size := keep(s)
				got[s] = text
				encoded, err := json.Marshal(want)
				require.NoError(t, err)
				assert.GreaterOrEqual(t, size+2*strings.Count(want, "\uFFFD"), len(encoded), "%q", s)
				assert.Equal(t, jsonSize(s), size, "%q", s)
			}
			assert.Equal(t, cases, got)
		}
	}
}
