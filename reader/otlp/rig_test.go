package otlp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/record"
)

// Ids and times of the events in tests.
var (
	testTrace = [16]byte{0x4b, 0xf9, 15: 0x36}
	testSpan  = [8]byte{0, 0xf0, 7: 0xb7}
	written   = time.Unix(1700000100, 5).UTC()
	happened  = time.Unix(1700000000, 7).UTC()
	myapp     = &record.Process{PID: 812, Comm: "myapp-worker", Exe: "/usr/bin/myapp", ContainerID: "c0ffee"}
)

// event returns an event of myapp, changed by edit.
func event(kind record.Kind, edit func(ev *record.Record)) *record.Record {
	ev := &record.Record{
		Time: written, Monotonic: 1e9, CPU: 1, PID: 812, TID: 815, Process: myapp, System: "user_events", Name: "myapp_x", Kind: kind,
		ServiceName: "shop", ScopeName: "my/package",
	}
	if edit != nil {
		edit(ev)
	}
	return ev
}

// origins of the records of event.
const (
	resourceJSON = `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},
		{"key":"process.pid","value":{"intValue":"812"}},
		{"key":"process.executable.name","value":{"stringValue":"myapp"}},
		{"key":"container.id","value":{"stringValue":"c0ffee"}}]}`
	scopeJSON      = `"scope":{"name":"my/package"}`
	ownJSON        = `{"key":"thread.id","value":{"intValue":"815"}},{"key":"user_events.name","value":{"stringValue":"myapp_x"}}`
	happenedJSON   = `"1700000000000000007"`
	writtenJSON    = `"1700000100000000005"`
	testTraceJSON  = `"4bf90000000000000000000000000036"`
	testSpanJSON   = `"00f00000000000b7"`
	testParentJSON = `"0100000000000000"`
)

func field(name string, v record.Value) record.Field { return record.Field{Name: name, Value: v} }

func add(t *testing.T, c *Converter, events ...*record.Record) {
	t.Helper()
	for _, ev := range events {
		require.NoError(t, c.Add(ev))
	}
}

// takeJSON takes all signals as JSON. It checks that no signal exceeds its estimated size, and that the JSON is read
// back unchanged.
func takeJSON(t *testing.T, c *Converter) (logs, traces, metrics string) {
	t.Helper()
	estimate := map[string]int{"logs": c.logs.bytes, "traces": c.traces.bytes, "metrics": c.metrics.bytes}
	l, s, m := c.TakeLogs(), c.TakeTraces(), c.TakeMetrics()
	lj, err := (&plog.JSONMarshaler{}).MarshalLogs(l)
	require.NoError(t, err)
	sj, err := (&ptrace.JSONMarshaler{}).MarshalTraces(s)
	require.NoError(t, err)
	mj, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(m)
	require.NoError(t, err)
	outer := len(`{"resourceMetrics":[]}`)
	assert.LessOrEqual(t, len(lj), estimate["logs"]+outer, "%s", lj)
	assert.LessOrEqual(t, len(sj), estimate["traces"]+outer, "%s", sj)
	assert.LessOrEqual(t, len(mj), estimate["metrics"]+outer, "%s", mj)

	readLogs, err := (&plog.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalLogs(lj)
	require.NoError(t, err)
	again, err := (&plog.JSONMarshaler{}).MarshalLogs(readLogs)
	require.NoError(t, err)
	assert.Equal(t, string(lj), string(again))
	readTraces, err := (&ptrace.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalTraces(sj)
	require.NoError(t, err)
	again, err = (&ptrace.JSONMarshaler{}).MarshalTraces(readTraces)
	require.NoError(t, err)
	assert.Equal(t, string(sj), string(again))
	readMetrics, err := (&pmetric.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalMetrics(mj)
	require.NoError(t, err)
	again, err = (&pmetric.JSONMarshaler{}).MarshalMetrics(readMetrics)
	require.NoError(t, err)
	assert.Equal(t, string(mj), string(again))
	assert.Equal(t, Pending{}, c.Pending())
	return string(lj), string(sj), string(mj)
}
