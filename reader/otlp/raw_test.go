package otlp

import (
	"io/fs"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/userevents/userevents-go/record"
)

// plain returns a plain event without a known process.
func plain(fields ...record.Field) *record.Record {
	return event(record.KindOther, func(ev *record.Record) {
		ev.ServiceName, ev.ScopeName, ev.Process = "", "", nil
		ev.SetFields(fields)
	})
}

func structOf(name string, members ...record.Field) record.Field {
	return field(name, record.MapValue(members))
}

// TestRaw: an event becomes a flat log record. Neither its header nor its fields are interpreted.
func TestRaw(t *testing.T) {
	c := NewConverter(&Options{Raw: true, OmitPID: true, OmitExecutableName: true, OmitContainerID: true})
	ev := plain(
		field("__csver__", record.Int64Value(0x400)),
		structOf("PartB", field("_typeName", record.StringValue("Log")), field("body", record.StringValue("hello")), structOf("ext", field("n", record.Uint64Value(math.MaxUint64)))),
		structOf("PartC", field("list", record.ListValue([]record.Field{field("", record.Int64Value(1))})), field("a", record.Int64Value(1)), field("a", record.BoolValue(true))),
		structOf("empty"),
	)
	ev.Process, ev.EventName, ev.Severity = myapp, "Log", record.SeverityError
	ev.Header = &record.Header{Name: "Log", ID: 7}
	add(t, c, ev)
	logs, traces, metrics := takeJSON(t, c)
	assert.JSONEq(t, `{"resourceLogs":[{"resource":{},"scopeLogs":[{"scope":{},"logRecords":[{
		"timeUnixNano":`+writtenJSON+`,"observedTimeUnixNano":`+writtenJSON+`,"body":{},"eventName":"user_events:myapp_x","attributes":[
		{"key":"__csver__","value":{"intValue":"1024"}},
		{"key":"PartB._typeName","value":{"stringValue":"Log"}},
		{"key":"PartB.body","value":{"stringValue":"hello"}},
		{"key":"PartB.ext.n","value":{"stringValue":"18446744073709551615"}},
		{"key":"PartC.list","value":{"arrayValue":{"values":[{"intValue":"1"}]}}},
		{"key":"PartC.a","value":{"boolValue":true}},
		{"key":"linux.user_events.process.pid","value":{"intValue":"812"}},
		{"key":"linux.user_events.thread.id","value":{"intValue":"815"}}]}]}]}]}`, logs)
	assert.JSONEq(t, `{}`, traces)
	assert.JSONEq(t, `{}`, metrics)
	assert.Equal(t, Stats{LogRecords: 1}, c.Stats())
}

// TestRawUndecodable: a record that does not fit its format keeps what the program wrote.
func TestRawUndecodable(t *testing.T) {
	c := NewConverter(&Options{Raw: true})
	ev := plain()
	ev.Raw, ev.Undecodable = []byte{0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef}, true
	add(t, c, ev)
	ev.Raw, ev.PID, ev.TID = ev.Raw[:8], 0, 0
	add(t, c, ev)
	logs, _, _ := takeJSON(t, c)
	assert.Equal(t, 1, strings.Count(logs, `{"key":"linux.user_events.payload_base64","value":{"stringValue":"3q2+7w=="}}`))
}

// TestRawNeedsPlainEvents: events whose fields have got a meaning would lose it.
func TestRawNeedsPlainEvents(t *testing.T) {
	c := NewConverter(&Options{Raw: true})
	require.ErrorIs(t, c.Add(event(record.KindLog, nil)), fs.ErrInvalid)
	assert.Equal(t, Pending{}, c.Pending())
}

// TestRawNames: the names of flat attributes are bounded, for any structs.
func TestRawNames(t *testing.T) {
	c := NewConverter(&Options{Raw: true})
	var leaves, structs []record.Field
	for range 127 {
		leaves = append(leaves, field(strconv.Itoa(len(leaves)), record.Int64Value(1)))
	}
	for i := range 127 {
		structs = append(structs, structOf(strings.Repeat("s", i), leaves...))
	}
	add(t, c, plain(structOf(strings.Repeat("n", 1000), structs...)))
	attributes := c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes()
	assert.Equal(t, 127+126+2, attributes.Len(), "the first struct, the others, and the own ones")
	names := 0
	for name := range attributes.All() {
		names += len(name)
	}
	assert.Less(t, names, maxFlatNames)
}

// request returns an event with an OTLP request.
func request(t *testing.T) *record.Record {
	t.Helper()
	sent := pmetric.NewMetrics()
	m := sent.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("requests")
	m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(3)
	b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(sent)
	require.NoError(t, err)
	return event(record.KindMetric, func(ev *record.Record) { ev.Point = &record.Point{Type: record.PointOTLP, Request: b} })
}

// TestOmittedAttributes: each attribute of the process can be left out of the resource, also out of that of requests.
func TestOmittedAttributes(t *testing.T) {
	all := []string{"process.pid", "process.executable.name", "container.id"}
	for i, o := range []Options{{OmitPID: true}, {OmitExecutableName: true}, {OmitContainerID: true}} {
		c := NewConverter(&o)
		add(t, c, event(record.KindLog, nil), request(t))
		second := event(record.KindLog, nil)
		switch i {
		case 0:
			second.PID = 4
		case 1:
			second.Process = &record.Process{Exe: "/other", ContainerID: myapp.ContainerID}
		case 2:
			second.Process = &record.Process{Exe: myapp.Exe, ContainerID: "other"}
		}
		add(t, c, second)
		logs, metrics := c.TakeLogs().ResourceLogs(), c.TakeMetrics().ResourceMetrics()
		require.Equal(t, 1, logs.Len(), "what is omitted does not separate resources")
		for j, name := range all {
			for _, attributes := range []map[string]any{logs.At(0).Resource().Attributes().AsRaw(), metrics.At(0).Resource().Attributes().AsRaw()} {
				if i == j {
					assert.NotContains(t, attributes, name)
				} else {
					assert.Contains(t, attributes, name)
				}
			}
		}
	}
}
