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
	"github.com/userevents/userevents-go/record"
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
	many := func(n int) (list []record.Field) {
		for i := range n {
			list = append(list, field(fmt.Sprintf("%x", i), record.Value{}))
		}
		return list
	}
	ones := make([]record.Field, 30_000)
	resource := 0
	requestOf := func(unit string) func(ev *record.Record) {
		b := bytes.Repeat([]byte(unit), 60_000/len(unit))
		return func(ev *record.Record) { ev.Point = &record.Point{Type: record.PointOTLP, Request: b} }
	}
	for name, c := range map[string]struct {
		kind record.Kind
		edit func(ev *record.Record)
	}{
		"small log records": {record.KindLog, nil},
		"usual log records": {record.KindLog, func(ev *record.Record) {
			ev.Body = record.StringValue("GET /users/{id}")
			ev.SetFields([]record.Field{field("http.route", record.StringValue("/")), field("n", record.Int64Value(1))})
		}},
		"tiny attributes": {record.KindLog, func(ev *record.Record) { ev.SetFields(many(100)) }},
		"many attributes": {record.KindLog, func(ev *record.Record) { ev.SetFields(many(10_000)) }},
		"lists":           {record.KindLog, func(ev *record.Record) { ev.SetFields([]record.Field{field("l", record.ListValue(ones))}) }},
		"large texts":     {record.KindLog, func(ev *record.Record) { ev.Body = record.StringValue(strings.Repeat("x", 60_000)) }},
		"medium texts":    {record.KindLog, func(ev *record.Record) { ev.Body = record.StringValue(strings.Repeat("x", 8_000)) }},
		"spans":           {record.KindSpan, nil},
		"points": {record.KindMetric, func(ev *record.Record) {
			ev.Point = &record.Point{Type: record.PointGauge, Value: record.Int64Value(1)}
		}},
		"different points": {record.KindMetric, func(ev *record.Record) {
			ev.Message = fmt.Sprint(resource)
			ev.PID, ev.Point = int32(resource), &record.Point{Type: record.PointHistogram, Bounds: []float64{1}, BucketCounts: []uint64{1, 2}}
		}},
		"resources":                    {record.KindLog, func(ev *record.Record) { ev.ServiceName = fmt.Sprint(resource) }},
		"scopes":                       {record.KindSpan, func(ev *record.Record) { ev.ScopeName = fmt.Sprint(resource) }},
		"requests of empty resources":  {record.KindMetric, requestOf("\x0a\x00")},
		"requests of empty attributes": {record.KindMetric, requestOf("\x0a\x04\x0a\x02\x0a\x00")},
		"requests of empty points":     {record.KindMetric, requestOf("\x0a\x0a\x12\x08\x12\x06\x2a\x04\x0a\x02\x3a\x00")},
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
	for name, edit := range map[string]func(ev *record.Record){
		"small events": nil,
		"large events": func(ev *record.Record) { ev.Message = strings.Repeat("x", 10_000) },
		"links":        func(ev *record.Record) { ev.Kind = record.KindSpanLink },
		"spans":        func(ev *record.Record) { ev.Kind, ev.EventCount = record.KindSpan, 7 },
		"one span":     func(ev *record.Record) { ev.SpanID = [8]byte{1} },
		"processes":    func(ev *record.Record) { ev.PID = int32(binary.BigEndian.Uint64(ev.SpanID[:])) },
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConverter(&Options{MaxSpans: 1 << 30, MaxBytes: limit, MaxWait: time.Hour})
			add(t, c, recordsOf(0, 1, 1)...)
			before := heapSize()
			for i := range 30_000 {
				ev := span(record.KindSpanEvent, 0, func(ev *record.Record) { ev.SpanID = spanID(i + 1) })
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
