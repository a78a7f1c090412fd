package otlp

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

func TestLogRecord(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, event(record.KindLog, func(ev *record.Record) {
		ev.Severity, ev.SeverityText, ev.Message, ev.EventName = record.SeverityWarn, "WARN", "cache miss", "cache.miss"
		ev.Body = record.StringValue("cache miss")
		ev.TraceID, ev.SpanID, ev.TraceFlags = testTrace, testSpan, 1
		ev.Timestamp, ev.Observed = happened, happened.Add(time.Second)
		ev.DroppedAttributes, ev.Truncated = 2, 3
		ev.SetFields([]record.Field{
			field("key", record.StringValue("user:41")), field("shard", record.Int64Value(-3)), field("ratio", record.Float64Value(0.5)),
			field("hit", record.BoolValue(false)), field("big", record.Uint64Value(math.MaxUint64)), field("raw", record.BytesValue([]byte{1, 2})),
			field("list", record.ListValue([]record.Field{field("", record.Int64Value(1)), field("", record.StringValue("b"))})),
			field("map", record.MapValue([]record.Field{field("a", record.Value{})})),
		})
		ev.Resource = []record.Field{field("host.name", record.StringValue("web1")), field("process.pid", record.Int64Value(1))}
		ev.ScopeVersion, ev.ScopeSchemaURL = "1.2", "https://example/1"
		ev.ScopeAttributes = []record.Field{field("s", record.BoolValue(true))}
	}))
	assert.Equal(t, 1, c.Pending().LogRecords)
	logs, traces, metrics := takeJSON(t, c)
	assert.JSONEq(t, `{"resourceLogs":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"web1"}},
		{"key":"service.name","value":{"stringValue":"shop"}},
		{"key":"process.pid","value":{"intValue":"812"}},
		{"key":"process.executable.name","value":{"stringValue":"myapp"}},
		{"key":"container.id","value":{"stringValue":"c0ffee"}}]},
		"scopeLogs":[{"scope":{"name":"my/package","version":"1.2","attributes":[{"key":"s","value":{"boolValue":true}}]},"schemaUrl":"https://example/1",
		"logRecords":[{"timeUnixNano":`+happenedJSON+`,"observedTimeUnixNano":"1700000001000000007","severityNumber":13,"severityText":"WARN",
		"body":{"stringValue":"cache miss"},"eventName":"cache.miss","traceId":`+testTraceJSON+`,"spanId":`+testSpanJSON+`,"flags":1,"droppedAttributesCount":2,
		"attributes":[{"key":"key","value":{"stringValue":"user:41"}},{"key":"shard","value":{"intValue":"-3"}},
		{"key":"ratio","value":{"doubleValue":0.5}},{"key":"hit","value":{"boolValue":false}},
		{"key":"big","value":{"stringValue":"18446744073709551615"}},{"key":"raw","value":{"bytesValue":"AQI="}},
		{"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"b"}]}}},
		{"key":"map","value":{"kvlistValue":{"values":[{"key":"a","value":{}}]}}},
		`+ownJSON+`,{"key":"user_events.truncated","value":{"intValue":"3"}}]}]}]}]}`, logs)
	assert.JSONEq(t, `{}`, traces)
	assert.JSONEq(t, `{}`, metrics)
	assert.Equal(t, Stats{LogRecords: 1}, c.Stats())
}

// A record without any time has the kernel's time. A record with only an observed time keeps that. The program's
// attributes take precedence over those of the record's origin.
func TestLogRecordTimes(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, event(record.KindLog, nil), event(record.KindLog, func(ev *record.Record) { ev.Observed = happened }),
		event(record.KindLog, func(ev *record.Record) {
			ev.SetFields([]record.Field{field("thread.id", record.StringValue("main")), field("user_events.name", record.StringValue("mine"))})
		}))
	logs := c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	assert.Equal(t, written, logs.At(0).Timestamp().AsTime())
	assert.Equal(t, written, logs.At(0).ObservedTimestamp().AsTime())
	assert.Zero(t, logs.At(1).Timestamp())
	assert.Equal(t, happened, logs.At(1).ObservedTimestamp().AsTime())
	assert.Equal(t, map[string]any{"thread.id": "main", "user_events.name": "mine"}, logs.At(2).Attributes().AsRaw())
}

// TestOmittedRecordAttributes: options leave out what the converter adds, and never what a program sends.
func TestOmittedRecordAttributes(t *testing.T) {
	for _, o := range []Options{{}, {OmitThread: true}, {OmitName: true}, {OmitThread: true, OmitName: true}} {
		want := map[string]any{"thread.id": int64(815), "user_events.name": "myapp_x", "a": int64(1)}
		if o.OmitThread {
			delete(want, "thread.id")
		}
		if o.OmitName {
			delete(want, "user_events.name")
		}
		c := NewConverter(&o)
		fields := []record.Field{field("a", record.Int64Value(1))}
		add(t, c, event(record.KindLog, func(ev *record.Record) { ev.SetFields(fields) }), event(record.KindSpan, func(ev *record.Record) { ev.SetFields(fields) }))
		size := c.Pending().LogBytes
		log := c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
		assert.Equal(t, want, log.Attributes().AsRaw())
		assert.Equal(t, want, c.TakeTraces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw())

		other := NewConverter(&o)
		add(t, other, event(record.KindLog, nil))
		assert.Greater(t, size, other.Pending().LogBytes)
		own := []record.Field{field("thread.id", record.StringValue("main")), field("user_events.name", record.StringValue("mine"))}
		add(t, c, event(record.KindLog, func(ev *record.Record) { ev.SetFields(own) }))
		assert.Equal(t, map[string]any{"thread.id": "main", "user_events.name": "mine"},
			c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().AsRaw())
	}
}

func TestOtherEvents(t *testing.T) {
	c := NewConverter(nil)
	add(t, c,
		event(record.KindOther, func(ev *record.Record) {
			ev.ServiceName, ev.ScopeName, ev.Process, ev.PID, ev.TID = "", "", nil, 0, 0
			ev.SetFields([]record.Field{field("a", record.Int64Value(1)), field("a", record.Int64Value(2))})
		}),
		event(record.KindOther, func(ev *record.Record) {
			ev.ServiceName, ev.ScopeName, ev.Process, ev.PID, ev.TID = "", "", nil, 0, 0
			ev.EventName, ev.Severity = "Startup", record.SeverityError
			ev.Header = &record.Header{
				Name: "Startup", Level: 2, Opcode: 1, ID: 7, Version: 1, Tag: 0xffff, Provider: "Prov", Keyword: 1 << 63,
				ActivityID: [16]byte{1}, RelatedID: [16]byte{2},
			}
		}))
	logs, _, _ := takeJSON(t, c)
	assert.JSONEq(t, `{"resourceLogs":[{"resource":{},"scopeLogs":[{"scope":{},"logRecords":[
		{"timeUnixNano":`+writtenJSON+`,"observedTimeUnixNano":`+writtenJSON+`,"body":{},"eventName":"myapp_x",
		"attributes":[{"key":"a","value":{"intValue":"2"}},{"key":"user_events.name","value":{"stringValue":"myapp_x"}}]},
		{"timeUnixNano":`+writtenJSON+`,"observedTimeUnixNano":`+writtenJSON+`,"severityNumber":17,"body":{},"eventName":"Startup","attributes":[
		{"key":"user_events.name","value":{"stringValue":"myapp_x"}},
		{"key":"user_events.provider","value":{"stringValue":"Prov"}},
		{"key":"user_events.keyword","value":{"stringValue":"9223372036854775808"}},
		{"key":"user_events.opcode","value":{"intValue":"1"}},
		{"key":"user_events.id","value":{"intValue":"7"}},
		{"key":"user_events.version","value":{"intValue":"1"}},
		{"key":"user_events.tag","value":{"intValue":"65535"}},
		{"key":"user_events.activity_id","value":{"stringValue":"01000000-0000-0000-0000-000000000000"}},
		{"key":"user_events.related_activity_id","value":{"stringValue":"02000000-0000-0000-0000-000000000000"}}]}]}]}]}`, logs)
}

func TestSpanStart(t *testing.T) {
	start := event(record.KindSpanStart, func(ev *record.Record) {
		ev.Message, ev.Timestamp, ev.SpanKind, ev.TraceState = "GET /", happened, record.SpanKindServer, "a=b"
		ev.TraceID, ev.SpanID, ev.ParentSpanID, ev.TraceFlags = testTrace, testSpan, [8]byte{1}, 1
	})
	c := NewConverter(nil)
	add(t, c, start)
	logs, traces, _ := takeJSON(t, c)
	assert.JSONEq(t, `{"resourceLogs":[{`+resourceJSON+`,"scopeLogs":[{`+scopeJSON+`,"logRecords":[{
		"timeUnixNano":`+happenedJSON+`,"observedTimeUnixNano":`+writtenJSON+`,"severityNumber":9,"body":{"stringValue":"GET /"},"eventName":"span.start",
		"traceId":`+testTraceJSON+`,"spanId":`+testSpanJSON+`,"flags":1,
		"attributes":[`+ownJSON+`,{"key":"span.parent_id","value":{"stringValue":`+testParentJSON+`}},
		{"key":"span.kind","value":{"stringValue":"server"}},{"key":"span.trace_state","value":{"stringValue":"a=b"}}]}]}]}]}`, logs)
	assert.JSONEq(t, `{}`, traces)

	c = NewConverter(&Options{DropSpanStarts: true})
	add(t, c, start)
	assert.Equal(t, Pending{}, c.Pending())
}

// Records share a resource and a scope only if all values are equal.
func TestGroups(t *testing.T) {
	c := NewConverter(nil)
	edits := []func(*record.Record){
		nil,
		func(ev *record.Record) { ev.PID = 813 },
		func(ev *record.Record) { ev.ServiceName = "other" },
		func(ev *record.Record) { ev.Process = &record.Process{Comm: "c"} },
		func(ev *record.Record) { ev.Resource = []record.Field{field("a", record.Int64Value(1))} },
		func(ev *record.Record) { ev.ScopeName, ev.ScopeVersion = "my/", "package" },
		func(ev *record.Record) { ev.ScopeAttributes = []record.Field{field("a", record.Int64Value(1))} },
	}
	for range 2 {
		for _, edit := range edits {
			add(t, c, event(record.KindLog, edit), event(record.KindSpan, edit), event(record.KindMetric, func(ev *record.Record) {
				ev.Message, ev.Point = "m", &record.Point{Type: record.PointGauge, Value: record.Int64Value(1)}
				if edit != nil {
					edit(ev)
				}
			}))
		}
	}
	logs, traces, metrics := c.TakeLogs(), c.TakeTraces(), c.TakeMetrics()
	require.Equal(t, 5, logs.ResourceLogs().Len())
	require.Equal(t, 5, traces.ResourceSpans().Len())
	require.Equal(t, 5, metrics.ResourceMetrics().Len())
	for i := range 5 {
		scopes := 1
		if i == 0 {
			scopes = 3
		}
		require.Equal(t, scopes, logs.ResourceLogs().At(i).ScopeLogs().Len())
		require.Equal(t, scopes, traces.ResourceSpans().At(i).ScopeSpans().Len())
		require.Equal(t, scopes, metrics.ResourceMetrics().At(i).ScopeMetrics().Len())
		for j := range scopes {
			assert.Equal(t, 2, logs.ResourceLogs().At(i).ScopeLogs().At(j).LogRecords().Len())
			assert.Equal(t, 2, traces.ResourceSpans().At(i).ScopeSpans().At(j).Spans().Len())
			assert.Equal(t, 1, metrics.ResourceMetrics().At(i).ScopeMetrics().At(j).Metrics().Len(), "two points of one metric")
		}
	}
	program, ok := logs.ResourceLogs().At(3).Resource().Attributes().Get("process.executable.name")
	require.True(t, ok)
	assert.Equal(t, "c", program.Str(), "the name of the process, without the right to read its path")
}

// The memory for origins is bounded, for any number of programs.
func TestOriginsAreBounded(t *testing.T) {
	testscale.HostOnly(t)
	for size, n := range map[int]int{10: 3 * maxOrigins, 100_000: 3 * maxOriginBytes / 100_000} {
		c := NewConverter(nil)
		for i := range n {
			text := strconv.Itoa(i) + strings.Repeat("x", size)
			add(t, c, event(record.KindLog, func(ev *record.Record) { ev.ServiceName, ev.ScopeName, ev.PID = text, text, int32(i) }))
			require.LessOrEqual(t, len(c.origins.resources), maxOrigins)
			require.LessOrEqual(t, c.origins.resourceBytes, maxOriginBytes)
			require.LessOrEqual(t, c.origins.scopeBytes, maxOriginBytes)
			c.TakeLogs()
		}
	}
}

// Texts and bytes of an event share the record's memory, which changes with the next one.
func TestNothingIsKept(t *testing.T) {
	d, err := record.NewDecoder("user_events", tracepoint.Format{Name: "e", Fields: []tracepoint.FormatField{
		{Name: "text", Type: tracepoint.Array(tracepoint.Char, 8), Size: 8},
		{Name: "raw", Type: tracepoint.Array(tracepoint.U8, 3), Offset: 8, Size: 3},
	}})
	require.NoError(t, err)
	raw := []byte("before\x00\x00\x01\x02\x03")
	var ev record.Record
	require.NoError(t, d.DecodeReuse(raw, &ev))
	c := NewConverter(nil)
	add(t, c, &ev)
	clear(raw)
	text, _ := ev.Lookup("text")
	require.NotEqual(t, "before", text.Text(), "the event refers to the record")
	assert.Equal(t, map[string]any{"text": "before", "raw": []byte{1, 2, 3}, "user_events.name": "e"},
		c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().AsRaw())
}

func TestManyFields(t *testing.T) {
	c := NewConverter(nil)
	var fields []record.Field
	for i := range 10_000 {
		fields = append(fields, field(strings.Repeat("k", i%5000), record.Int64Value(int64(i))))
	}
	add(t, c, event(record.KindOther, func(ev *record.Record) { ev.SetFields(fields) }))
	attributes := c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes()
	assert.Equal(t, 5000+2, attributes.Len())
	last, _ := attributes.Get("kkk")
	assert.EqualValues(t, 5003, last.Int(), "the last value of a key")
}

// Texts of programs may have any bytes.
func TestHostileText(t *testing.T) {
	c := NewConverter(nil)
	deep := record.Int64Value(1)
	for range 3 * maxDepth {
		deep = record.ListValue([]record.Field{{Value: deep}})
	}
	hostile := "\x00\x1b[2J\"\\\u202e\xff\xfe" + strings.Repeat("\x01", 200)
	add(t, c, event(record.KindLog, func(ev *record.Record) {
		ev.Body, ev.EventName, ev.SeverityText, ev.ServiceName, ev.ScopeName = record.StringValue(hostile), hostile, hostile, hostile, hostile
		ev.SetFields([]record.Field{field(hostile, record.StringValue(hostile)), field("deep", deep), field("NaN", record.Float64Value(math.Inf(-1)))})
	}))
	logs, _, _ := takeJSON(t, c)
	assert.Contains(t, logs, `\u0000\u001b[2J\"\\`+"\u202e\uFFFD")
	assert.NotContains(t, logs, "\xff")
	assert.NotContains(t, logs, "\n")
	assert.Contains(t, logs, strings.Repeat("[", 2*maxDepth), "what is nested too deep is text")
}

// What is remembered of resources and scopes does not keep the texts of records in memory.
func TestMemoryOfOrigins(t *testing.T) {
	testscale.HostOnly(t)
	c := NewConverter(nil)
	before := heapSize()
	text := record.StringValue(strings.Repeat("x", chunkSize/8))
	for i := range 1000 {
		add(t, c, event(record.KindLog, func(ev *record.Record) {
			ev.PID, ev.ScopeName = int32(i), "scope "+strconv.Itoa(i)
			ev.ScopeAttributes = []record.Field{field("a", record.StringValue("b"))}
			for range 8 {
				ev.SetFields(append(ev.Fields(), field("text", text)))
			}
		}))
		c.TakeLogs()
	}
	after := heapSize()
	runtime.KeepAlive(c)
	assert.Less(t, after-before, 16<<20)
}

// A header without a provider has no attribute for it.
func TestHeaderWithoutProvider(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, event(record.KindOther, func(ev *record.Record) { ev.Header = &record.Header{ID: 7} }))
	logs, _, _ := takeJSON(t, c)
	assert.Contains(t, logs, `"user_events.id"`)
	assert.NotContains(t, logs, "user_events.provider")
}

// A start of a span without a time has the time of its record.
func TestStartWithoutTime(t *testing.T) {
	c := NewConverter(nil)
	add(t, c, event(record.KindSpanStart, nil))
	logs, _, _ := takeJSON(t, c)
	assert.Contains(t, logs, `"timeUnixNano":`+writtenJSON)
}

// A record that could not be decoded is kept as its bytes.
func TestUndecodable(t *testing.T) {
	c := NewConverter(nil)
	for _, undecodable := range []bool{true, false} {
		add(t, c, event(record.KindOther, func(ev *record.Record) { ev.Raw, ev.Undecodable = []byte{1, 2, 255}, undecodable }))
		logs, _, _ := takeJSON(t, c)
		const raw = `{"key":"user_events.raw","value":{"bytesValue":"AQL/"}}`
		if undecodable {
			assert.Contains(t, logs, raw)
		} else {
			assert.NotContains(t, logs, "user_events.raw")
		}
	}
}
