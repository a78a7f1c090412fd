package otlp

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// span returns an event of a kind that belongs to the span n.
func span(kind reader.Kind, n byte, edit func(ev *reader.Event)) *reader.Event {
	return event(kind, func(ev *reader.Event) {
		ev.TraceID, ev.SpanID, ev.Timestamp = testTrace, [8]byte{n}, happened
		if edit != nil {
			edit(ev)
		}
	})
}

func TestSpan(t *testing.T) {
	c := NewConverter(nil)
	add(t, c,
		span(reader.KindSpanEvent, 0, func(ev *reader.Event) {
			ev.SpanID, ev.Message, ev.DroppedAttributes = testSpan, "exception", 1
			ev.Fields = []reader.Field{field("exception.type", reader.StringValue("E"))}
		}),
		span(reader.KindSpanLink, 0, func(ev *reader.Event) {
			ev.SpanID, ev.LinkedTraceID, ev.LinkedSpanID, ev.TraceFlags, ev.TraceState = testSpan, [16]byte{1}, [8]byte{2}, 1, "a=b"
			ev.Fields = []reader.Field{field("why", reader.StringValue("batch"))}
		}),
		span(reader.KindSpanEvent, 9, nil), // of another one
		span(reader.KindSpan, 0, func(ev *reader.Event) {
			ev.SpanID, ev.ParentSpanID, ev.ParentRemote, ev.TraceFlags, ev.TraceState = testSpan, [8]byte{1}, true, 1, "c=d"
			ev.Message, ev.SpanKind, ev.Status, ev.StatusMessage = "GET /", reader.SpanKindServer, reader.StatusError, "boom"
			ev.Duration = 1500 * time.Millisecond
			ev.DroppedAttributes, ev.DroppedEvents, ev.DroppedLinks = 1, 2, 3
			ev.Fields = []reader.Field{field("http.route", reader.StringValue("/"))}
			ev.NestedEvents = []reader.NestedEvent{{Name: "nested", Time: happened, Attributes: []reader.Field{field("n", reader.Int64Value(1))}, DroppedAttributes: 4}}
			ev.NestedLinks = []reader.NestedLink{{TraceID: [16]byte{3}, SpanID: [8]byte{4}, TraceFlags: 1, TraceState: "e=f", DroppedAttributes: 5}}
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
	add(t, c, event(reader.KindSpan, func(ev *reader.Event) { ev.Duration = time.Second }))
	s := c.TakeTraces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	assert.Equal(t, written, s.EndTimestamp().AsTime())
	assert.Equal(t, written.Add(-time.Second), s.StartTimestamp().AsTime())
}

func TestOrphans(t *testing.T) {
	c := NewConverter(nil)
	add(t, c,
		span(reader.KindSpanEvent, 1, func(ev *reader.Event) {
			ev.Message, ev.DroppedAttributes, ev.TraceFlags = "retry", 7, 1
			ev.Fields = []reader.Field{field("n", reader.Int64Value(1))}
		}),
		span(reader.KindSpanLink, 1, nil))
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

	add(t, c, span(reader.KindSpan, 1, nil))
	assert.Zero(t, c.TakeTraces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Events().Len(), "it came too late")
}

// The size of one span is bounded: further events become log records.
func TestLargeSpan(t *testing.T) {
	c := NewConverter(nil)
	big := strings.Repeat("x", 100_000)
	for range 10 {
		add(t, c, span(reader.KindSpanEvent, 1, func(ev *reader.Event) { ev.Message = big }))
		add(t, c, span(reader.KindSpanLink, 1, func(ev *reader.Event) { ev.TraceState = big }))
	}
	add(t, c, span(reader.KindSpan, 1, nil))
	_, traces, _ := takeJSON(t, c)
	assert.Greater(t, len(traces), maxSpanBytes/2)
	assert.Less(t, len(traces), maxSpanBytes+2*len(big))
	st := c.Stats()
	assert.EqualValues(t, strings.Count(traces, `"name":"`+big)+int(st.OrphanEvents), 10)
	assert.EqualValues(t, strings.Count(traces, `"traceState":"`+big)+int(st.OrphanLinks), 10)
}
