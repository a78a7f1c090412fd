package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
)

// events are events of each kind, with all fields set.
func events() []record.Record {
	at := time.Unix(1700000000, 123456789).UTC()
	list := []record.Field{
		{Name: "s\xff", Value: record.StringValue("a\x00\x1b\u202e\xfe\"")},
		{Name: "u", Value: record.Uint64Value(math.MaxUint64)},
		{Name: "f", Value: record.Float64Value(0.5)},
		{Name: "m", Value: record.MapValue([]record.Field{{Name: "l", Value: record.ListValue([]record.Field{{Value: record.BoolValue(true)}, {}})}})},
	}
	common := record.Record{
		Time: at, Monotonic: 12345, CPU: 3, PID: 812, TID: 813, CgroupID: 99, Callchain: []uint64{1, math.MaxUint64}, System: "user_events", Name: "myapp_x",
		Process:  &record.Process{PID: 812, Comm: "my\x1bapp", Exe: "/usr/bin/myapp", Cgroup: "/system.slice", Unit: "my.service", ContainerID: "c0ffee", PodUID: "f00d", ServiceName: "sh\x1bop"},
		Severity: record.SeverityWarn + 1, SeverityText: "WARN+1", EventName: "cache.miss", TraceID: [16]byte{1, 15: 2}, SpanID: [8]byte{3}, ParentSpanID: [8]byte{4},
		LinkedTraceID: [16]byte{5}, LinkedSpanID: [8]byte{6}, TraceFlags: 1, HasTraceFlags: true, TraceState: "a=b", ParentRemote: true, SpanKind: record.SpanKindClient,
		Status: record.StatusError, StatusMessage: "boom", Duration: -5, EventCount: 1, LinkCount: 2, DroppedEvents: 3, DroppedLinks: 4, DroppedAttributes: 5,
		Truncated: 6, Duplicate: true, Timestamp: at.Add(-1), Observed: at.Add(1), ServiceName: "shop", ScopeName: "pkg", ScopeVersion: "1", ScopeSchemaURL: "u",
		ScopeAttributes: list[1:2], Resource: list[2:3],
		NestedEvents: []record.NestedEvent{{Name: "e", Time: at, Attributes: list, DroppedAttributes: 1}, {}},
		NestedLinks:  []record.NestedLink{{TraceID: [16]byte{7}, SpanID: [8]byte{8}, TraceFlags: 1, TraceState: "c=d", Attributes: list, DroppedAttributes: 2}},
	}
	common.SetFields(list)
	var all []record.Record
	add := func(edit func(ev *record.Record)) {
		ev := common
		edit(&ev)
		all = append(all, ev)
	}
	for kind := range record.KindMetric {
		add(func(ev *record.Record) { ev.Kind, ev.Message = kind, "text" })
	}
	all[record.KindLog].Body = record.StringValue("text")
	add(func(ev *record.Record) {
		ev.Kind, ev.Message, ev.Body = record.KindLog, `{"a":1}`, record.MapValue(list[1:2])
	})
	add(func(ev *record.Record) {
		ev.Name = "Prov_L2K1f"
		ev.Header = &record.Header{
			Name: "Startup", Level: 2, Opcode: 6, ID: 7, Version: 1, Tag: 0xffff, Provider: "Prov", Keyword: 0x1f,
			ActivityID: [16]byte{1}, RelatedID: [16]byte{2},
		}
	})
	for _, p := range []record.Point{
		{Type: record.PointGauge, Unit: "s", Value: record.Int64Value(math.MinInt64)},
		{Type: record.PointSum, Temporality: record.TemporalityDelta, Monotonic: true, StartTime: at, Value: record.Float64Value(math.Inf(-1))},
		{
			Type: record.PointHistogram, Temporality: record.TemporalityCumulative, Count: 3, Sum: record.Float64Value(1.5), Min: record.Int64Value(1), Max: record.Float64Value(math.Inf(1)),
			Bounds: []float64{0.5, math.Inf(1)}, BucketCounts: []uint64{1, math.MaxUint64},
		},
		{
			Type: record.PointExponentialHistogram, Count: 3, Scale: -2, ZeroCount: 1, ZeroThreshold: 0.25, Positive: record.Buckets{Offset: -3, Counts: []uint64{1}},
			Negative: record.Buckets{Offset: 2, Counts: []uint64{2}},
		},
		{Type: record.PointSummary, Count: 3, Quantiles: []record.Quantile{{Quantile: 0.5, Value: 1.25}}},
		{Type: record.PointExemplar, Value: record.Float64Value(0.5), FilteredAttributes: list},
		{Type: record.PointOTLP, Request: []byte{0, 1, 255}},
	} {
		add(func(ev *record.Record) { ev.Kind, ev.Message, ev.Point = record.KindMetric, "requests", &p })
	}
	all = append(all, record.Record{Time: at}) // an empty event
	all = append(all, record.Record{Time: at, System: "user_events", Name: "cut", Undecodable: true, Raw: []byte{0, 1, 255}})
	return all
}

// Events written as JSON are read back unchanged.
func TestRoundTrip(t *testing.T) {
	var file bytes.Buffer
	w, err := output.New("json", &file, output.Options{})
	require.NoError(t, err)
	all := events()
	for i := range all {
		require.NoError(t, w.Write(&all[i]))
	}
	require.NoError(t, w.Lost("user_events:myapp_x", 7, time.Unix(5, 6)))
	require.NoError(t, w.Close())
	lost := 0
	r := NewReader(&file)
	r.Lost = func(name string, n uint64, at time.Time) error {
		assert.Equal(t, "user_events:myapp_x", name)
		assert.EqualValues(t, 7, n)
		assert.True(t, at.Equal(time.Unix(5, 6)))
		lost++
		return nil
	}
	var ev record.Record
	for i := range all {
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, all[i], *ev.Clone(), "event %d", i)
	}
	require.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
	assert.Equal(t, 1, lost)
}

// Events that are read back are written as before, even if JSON changed the type of a value.
func TestSecondTrip(t *testing.T) {
	for _, body := range []record.Value{record.Float64Value(math.NaN()), record.BytesValue([]byte("\xff")), record.StringValue("text"), {}} {
		ev := record.Record{Kind: record.KindLog, Body: body, Message: string(body.AppendJSON(nil))}
		if body.Type() == record.TypeString {
			ev.Message = body.Text()
		}
		line := func() string {
			var file bytes.Buffer
			w, err := output.New("json", &file, output.Options{})
			require.NoError(t, err)
			require.NoError(t, w.Write(&ev))
			return file.String()
		}
		first := line()
		require.NoError(t, NewReader(strings.NewReader(first)).Next(&ev))
		assert.Equal(t, first, line())
	}
}

// A line that is not part of a recording is an error. The reader then continues with the next line.
func TestMalformed(t *testing.T) {
	for line, want := range map[string]string{
		"nonsense":                                                "line 1: not a record as uevents writes it: no JSON object",
		`[1]`:                                                     "no JSON object",
		`{"resourceLogs":[]}`:                                     "no member is one of a record",
		`{"kind":"xyz"}`:                                          `kind: unknown: xyz`,
		`{"kind":"metric"}`:                                       "a metric without a point",
		`{"metric":{"type":"xyz"}}`:                               `metric: unknown: xyz`,
		`{"metric":{"request":"*"}}`:                              "metric: illegal base64",
		`{"metric":{"value":"0x10"}}`:                             "metric: no number: 0x10",
		`{"metric":{"sum":"1_000"}}`:                              "metric: no number: 1_000",
		`{"metric":{"min":"inf"}}`:                                "metric: no number: inf",
		`{"metric":{"max":"+Infinity"}}`:                          "metric: no number: +Infinity",
		`{"metric":{"value":"12"}}`:                               "metric: no number: 12",
		`{"metric":{"value":null}}`:                               "metric: no number: null",
		`{"metric":{"bounds":[1,"x"]}}`:                           "metric: no number: x",
		`{"metric":{"zero_threshold":{}}}`:                        "metric: no number: {}",
		`{"metric":{"count":-1}}`:                                 "metric: no count: -1",
		`{"metric":{"count":1.5}}`:                                "metric: no count: 1.5",
		`{"metric":{"zero_count":"1"}}`:                           "metric: no count: 1",
		`{"metric":{"bucket_counts":[1,-1]}}`:                     "metric: no count: -1",
		`{"metric":{"positive":{"counts":["1"]}}}`:                "metric: no count: 1",
		`{"metric":{"negative":{"counts":[-1]}}}`:                 "metric: no count: -1",
		`{"metric":{"quantiles":[{"value":1}]}}`:                  "metric: no quantile",
		`{"metric":{"quantiles":[{"quantile":1,"value":"Inf"}]}}`: "metric: no number: Inf",
		`{"time":"yesterday"}`:                                    "time: no time: yesterday",
		`{"trace_id":"12"}`:                                       "trace_id: no id of 16 bytes: 12",
		`{"span_id":"xx34567890123456"}`:                          "span_id: no id of 8 bytes",
		`{"span_id":5}`:                                           "span_id: no id of 8 bytes",
		`{"severity_number":0}`:                                   "severity_number: not from 1 to 24: 0",
		`{"severity_number":25}`:                                  "severity_number: not from 1 to 24: 25",
		`{"severity_number":300}`:                                 "severity_number: not from 1 to 24: 300",
		`{"severity_number":-247}`:                                "severity_number: not from 1 to 24: -247",
		`{"severity_number":"x"}`:                                 `severity_number: not from 1 to 24: x`,
		`{"callchain":["1"]}`:                                     "callchain: no address: 1",
		`{"links":[{"span_id":"1"}]}`:                             "links: no id",
		`{"events":[{"timestamp":1}]}`:                            "events: no time",
		`{"header":{"activity_id":""}}`:                           "header: no id",
		`{"kind":"lost","time":1}`:                                "no time",
		`{"undecodable":"*"}`:                                     "undecodable: illegal base64",
		strings.Repeat(" ", maxLine+1):                            "longer than",
	} {
		r := NewReader(strings.NewReader(line + "\n\n" + `{"message":"after","later":1}` + "\n" + `{"message":"cut`))
		var ev record.Record
		err := r.Next(&ev)
		require.ErrorIs(t, err, ErrFormat)
		require.ErrorContains(t, err, want)
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, "after", ev.Message)
		require.ErrorContains(t, r.Next(&ev), "line 4: not a record as uevents writes it: the line has no end")
		require.ErrorIs(t, r.Next(&ev), io.EOF)
	}
}

// Records of one process share it, and what is kept of processes is limited.
func TestProcesses(t *testing.T) {
	const processes = 12_000
	var file strings.Builder
	for i := range processes {
		fmt.Fprintf(&file, `{"pid":%d,"program":"myapp"}`+"\n", i%2+i/100*2)
	}
	r := NewReader(strings.NewReader(file.String()))
	known := map[int32]*record.Process{}
	for range processes {
		var ev record.Record
		require.NoError(t, r.Next(&ev))
		require.Equal(t, &record.Process{PID: ev.PID, Comm: "myapp"}, ev.Process)
		if p := known[ev.PID]; p != nil {
			require.Same(t, p, ev.Process)
		}
		known[ev.PID] = ev.Process
	}
}

// The longest line that is read does not take much more memory than its size.
func TestMemory(t *testing.T) {
	testscale.HostOnly(t)
	line := `{"body":[` + strings.Repeat("0,", maxLine/2-10) + "0]}\n"
	require.Less(t, len(line), maxLine)
	var ev record.Record
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, NewReader(strings.NewReader(line)).Next(&ev))
	runtime.ReadMemStats(&after)
	require.Len(t, ev.Body.Fields(), maxLine/2-9)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30))
	assert.Greater(t, maxLine, 1<<20, "records become longer in JSON: a control character takes six bytes")
}

func FuzzReader(f *testing.F) {
	var file bytes.Buffer
	w, err := output.New("json", &file, output.Options{})
	require.NoError(f, err)
	all := events()
	for i := range all {
		require.NoError(f, w.Write(&all[i]))
	}
	for line := range bytes.Lines(file.Bytes()) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		for {
			var ev record.Record
			if err := r.Next(&ev); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				require.ErrorIs(t, err, ErrFormat)
			}
		}
	})
}

// TestUnwanted: records of some times are omitted, whatever their lines have behind the time, and lines about losses never.
func TestUnwanted(t *testing.T) {
	const lines = `{"time":"2026-01-02T03:04:05.000000000Z","kind":"log","message":"early"}
{"time":"2026-01-02T03:04:06.000000000Z","kind":"log","message":"one"}
{"time":"2026-01-02T03:04:05.999999999Z","kind":"log","mess
{"time":"2026-01-02T03:04:05.000000000Z","kind":"lost","event":"a:b","count":3}
{"kind":"log","message":"two","time":"2026-01-02T03:04:05.000000000Z"}
{"time":"2026-01-02T03:04:05Z","kind":"log","message":"three"}
{"kind":"log","message":"four"}
`
	r := NewReader(strings.NewReader(lines))
	var lost uint64
	r.Lost = func(_ string, n uint64, _ time.Time) error {
		lost += n
		return nil
	}
	omitted := 0
	r.Unwanted = func(at time.Time) bool {
		if at.Before(time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)) {
			omitted++
			return true
		}
		return false
	}
	var ev record.Record
	var messages []string
	for r.Next(&ev) == nil {
		messages = append(messages, ev.Message)
	}
	assert.Equal(t, []string{"one", "two", "three", "four"}, messages)
	assert.Equal(t, 2, omitted)
	assert.EqualValues(t, 3, lost)
}

// TestConditions: a condition selects a record and its JSON line alike, whatever the type of the value.
func TestConditions(t *testing.T) {
	var values []record.Value
	for _, f := range []float64{0, 1, -1, 3, 0.5, 1.001, 1e15, 1 << 53, -1 << 53, 1 << 63, 1 << 64, -1 << 63, 1e300, 5e-324, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)} {
		values = append(values, record.Float64Value(f))
	}
	for _, s := range []string{"", "5", "1234", "150ms", "0s", "x\\y", "a\nb", "true", "Infinity", "NaN", "0x10", "9007199254740993"} {
		values = append(values, record.StringValue(s))
	}
	for _, b := range [][]byte{{}, {0xd7, 0x6d, 0xf8}, {0xd7, 0x4d, 0x34, 0xd3, 0x4d, 0x34}, {0xd7, 0x4d, 0x34, 0xb2, 0x69, 0xac}, {1}} { // the second is 1234
		values = append(values, record.BytesValue(b))
	}
	values = append(values, record.BoolValue(true), record.BoolValue(false), record.Int64Value(math.MinInt64), record.Uint64Value(math.MaxUint64), record.Int64Value(1), record.Int64Value(0))
	var conditions []*where.Condition
	for _, name := range []string{"x", "x_ms", "metric.value"} {
		for _, operand := range []string{"0", "1", "5", "1000", "-1.5", "1e16", "9007199254740993", "9007199254740992", "9223372036854775808", "18446744073709551615", "1e300", "0s", "1ns", "100ms", "1001ms", "1h"} {
			for _, op := range []string{"==", "!=", "<", "<=", ">", ">=", "&"} {
				if c, err := where.Parse(name + " " + op + " " + operand); op != "&" {
					require.NoError(t, err)
					conditions = append(conditions, c)
				} else if err == nil { // of integers alone
					conditions = append(conditions, c)
				}
			}
		}
		if name != "metric.value" {
			for _, operand := range []string{"true", "false", "Infinity", "NaN", "1234", `"a\nb"`, `"x\\y"`} {
				c, err := where.Parse(name + " == " + operand + " or " + name + " ~ '*" + operand[:1] + "*'")
				require.NoError(t, err)
				conditions = append(conditions, c)
			}
		}
	}
	matched := 0
	for _, v := range values {
		ev := &record.Record{
			Kind: record.KindMetric, Time: time.Unix(1, 0), Name: "m",
			Point: &record.Point{Type: record.PointGauge, Unit: "s", Value: v},
		}
		ev.SetFields([]record.Field{{Name: "x", Value: v}, {Name: "x_ms", Value: v}})
		if v.Type() != record.TypeFloat64 && v.Type() != record.TypeInt64 && v.Type() != record.TypeUint64 {
			ev.Point.Value = record.Float64Value(1.001)
		}
		var line bytes.Buffer
		w, err := output.New("json", &line, output.Options{})
		require.NoError(t, err)
		require.NoError(t, w.Write(ev))
		var read record.Record
		require.NoError(t, NewReader(&line).Next(&read))
		for _, c := range conditions {
			want := c.Match(ev)
			if want {
				matched++
			}
			assert.Equal(t, want, c.Match(&read), fmt.Sprintf("%s: %v %v", c, v.Type(), v))
		}
	}
	assert.Greater(t, matched, 1000)
}
