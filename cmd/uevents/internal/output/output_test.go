package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

func id16(b byte) (id [16]byte) { return [16]byte{b, 1, 2, 3, 15: 0xff} }

func at(ns int) time.Time { return time.Date(2026, 11, 22, 20, 41, 7, ns, time.UTC) }

var myapp = &record.Process{PID: 812, Comm: "myapp", Exe: "/usr/bin/myapp", Cgroup: "/system.slice/myapp.service"}

func logEvent() *record.Record {
	ev := &record.Record{
		Time: at(318_000_042), Monotonic: 5_000_000_001, CPU: 3, PID: 812, TID: 815, Process: myapp,
		System: "user_events", Name: "myapp_debug", Kind: record.KindLog, Severity: record.SeverityDebug, SeverityText: "DEBUG",
		Message: "cache miss", Timestamp: at(317_000_000),
		Raw: []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xca, 0xfe},
	}
	ev.SetFields([]record.Field{{Name: "key", Value: record.StringValue("user:41")}, {Name: "shard", Value: record.Int64Value(3)}})
	return ev
}

func spanEvent() *record.Record {
	return &record.Record{
		Time: at(320_000_000), Monotonic: 5_002_500_000, PID: 812, TID: 812, Process: myapp,
		System: "user_events", Name: "myapp_span", Kind: record.KindSpan, Message: "GET /users/{id}", Duration: 12_400 * time.Microsecond,
		Status: record.StatusError, StatusMessage: "time out", SpanKind: record.SpanKindServer,
		TraceID: id16(0x4b), SpanID: [8]byte{7: 9}, ParentSpanID: [8]byte{1}, ServiceName: "shop", Truncated: 2,
		NestedEvents: []record.NestedEvent{{Name: "retry", Time: at(5)}},
		NestedLinks:  []record.NestedLink{{TraceID: id16(1), SpanID: [8]byte{2}}},
	}
}

func metricEvent() *record.Record {
	return &record.Record{
		Time: at(0), Monotonic: 4_999_000_000, System: "user_events", Name: "myapp_metric_histogram", Kind: record.KindMetric, Message: "latency",
		Point: &record.Point{
			Type: record.PointHistogram, Unit: "s", Temporality: record.TemporalityDelta, Count: 3, Sum: record.Float64Value(1.5),
			Min: record.Float64Value(0.25), Max: record.Float64Value(1), Bounds: []float64{0.5}, BucketCounts: []uint64{2, 1},
		},
	}
}

func otherEvent() *record.Record {
	ev := &record.Record{Time: at(0), System: "sched", Name: "sched_switch", PID: 1}
	ev.SetFields([]record.Field{{Name: "prev_comm", Value: record.StringValue("a b")}, {Name: "none", Value: record.StringValue("")}})
	return ev
}

// written returns the output of a format for events. Each event is one call of Write.
func written(t *testing.T, format string, o Options, events ...*record.Record) string {
	t.Helper()
	var lines lineWriter
	w, err := New(format, &lines, o)
	require.NoError(t, err)
	for _, ev := range events {
		require.NoError(t, w.Write(ev))
	}
	require.NoError(t, w.Close())
	assert.Len(t, lines, len(events))
	return strings.Join(lines, "")
}

type lineWriter []string

func (l *lineWriter) Write(b []byte) (int, error) {
	*l = append(*l, string(b))
	return len(b), nil
}

func TestText(t *testing.T) {
	assert.Equal(t, `20:41:07.318Z DEBUG myapp[812] cache miss             key=user:41 shard=3
20:41:07.320Z SPAN  myapp[812] GET /users/{id} 12.4ms status=error error="time out" trace=4b010203 truncated=2
20:41:07.000Z METRIC ?[0]       latency histogram count=3 sum=1.5 min=0.25 max=1.0 unit=s
20:41:07.000Z -      ?[1]       sched_switch           prev_comm="a b" none=""
`, written(t, "text", Options{Time: UTC}, logEvent(), spanEvent(), metricEvent(), otherEvent()))
	bare := &record.Record{Kind: record.KindLog, SeverityText: "NOTICE", EventName: "started", Time: at(0)}
	assert.Equal(t, "20:41:07.000Z NOTICE ?[0] started\n", written(t, "", Options{Time: UTC}, bare), "no spaces at the end")
	link := &record.Record{Kind: record.KindSpanLink, Name: "myapp_span_link", LinkedTraceID: id16(0xab), Time: at(0)}
	assert.Equal(t, "20:41:07.000Z LINK  ?[0] myapp_span_link to ab010203\n", written(t, "text", Options{Time: UTC}, link))
}

func TestTextTimes(t *testing.T) {
	events := []*record.Record{logEvent(), spanEvent(), metricEvent()}
	times := func(o Time) (list []string) {
		for line := range strings.Lines(written(t, "text", Options{Time: o}, events...)) {
			first, _, _ := strings.Cut(line, " ")
			list = append(list, first)
		}
		return list
	}
	assert.Equal(t, []string{"+0.000000", "+0.002499", "-0.003500"}, times(Delta))
	assert.Equal(t, []string{"5.000000", "5.002500", "4.999000"}, times(Mono))
	assert.Equal(t, at(318_000_042).Local().Format("15:04:05.000"), times(Local)[0])
	for _, name := range timeNames {
		parsed, err := ParseTime(name)
		require.NoError(t, err)
		assert.Equal(t, name, parsed.String())
	}
	_, err := ParseTime("gps")
	assert.ErrorIs(t, err, errFormat)
}

func TestTextFields(t *testing.T) {
	fields := []string{"severity", "message", "shard", "duration", "status", "nosuch", "trace_id"}
	assert.Equal(t, "DEBUG cache miss shard=3 - - -\n- GET /users/{id} 12.4ms error 4b0102030000000000000000000000ff\n",
		written(t, "text", Options{Fields: fields}, logEvent(), spanEvent()))
	assert.Equal(t, "shard=3 myapp\n", written(t, "text", Options{Fields: []string{"shard", "program"}}, logEvent()))
	// A field with the name of a column is selected if the column is empty.
	ev := new(record.Record)
	ev.SetFields([]record.Field{{Name: "status", Value: record.Int64Value(404)}})
	assert.Equal(t, "status=404\n", written(t, "text", Options{Fields: []string{"status"}}, ev))
	assert.Equal(t, "{\"status\":404}\n", written(t, "json", Options{Fields: []string{"status"}}, ev))
	assert.Equal(t, "{}\n", written(t, "json", Options{Fields: []string{"message"}}, ev))
}

func TestColor(t *testing.T) {
	got := written(t, "text", Options{Color: true, Time: UTC}, logEvent())
	assert.Contains(t, got, Faint+"DEBUG"+reset)
	assert.Contains(t, got, Faint+"key="+reset+"user:41")
	assert.Contains(t, written(t, "text", Options{Color: true}, spanEvent()), Red+"SPAN "+reset)
	labels := map[string]*record.Record{
		bold + Red: {Severity: record.SeverityFatal}, Red: {Severity: record.SeverityError}, Yellow: {Severity: record.SeverityWarn},
		Green: {Severity: record.SeverityInfo}, "": {}, cyan: {Kind: record.KindMetric},
	}
	for want, ev := range labels {
		assert.Equal(t, want, colorOf(ev))
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	assert.Equal(t, []bool{true, true, false, false}, []bool{
		UseColor("always", false), UseColor("auto", true), UseColor("auto", false), UseColor("never", true),
	})
	t.Setenv("TERM", "dumb")
	assert.False(t, UseColor("auto", true))
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	assert.False(t, UseColor("auto", true))
	assert.True(t, UseColor("always", true))
}

func TestJSON(t *testing.T) {
	assert.Equal(t, `{"time":"2026-11-22T20:41:07.318000042Z","monotonic_ns":5000000001,"system":"user_events","event":"myapp_debug","kind":"log",`+
		`"severity":"DEBUG","severity_number":5,"severity_text":"DEBUG","message":"cache miss","program":"myapp","pid":812,"exe":"/usr/bin/myapp",`+
		`"cgroup":"/system.slice/myapp.service","tid":815,"cpu":3,"timestamp":"2026-11-22T20:41:07.317000000Z","fields":{"key":"user:41","shard":3}}`+"\n",
		written(t, "json", Options{}, logEvent()))
	assert.Equal(t, `{"time":"2026-11-22T20:41:07.320000000Z","monotonic_ns":5002500000,"system":"user_events","event":"myapp_span","kind":"span",`+
		`"message":"GET /users/{id}","program":"myapp","pid":812,"exe":"/usr/bin/myapp","cgroup":"/system.slice/myapp.service","tid":812,"cpu":0,`+
		`"trace_id":"4b0102030000000000000000000000ff","span_id":"0000000000000009","parent_span_id":"0100000000000000","span_kind":"server",`+
		`"status":"error","status_message":"time out","duration_ns":12400000,"truncated":2,"service":"shop",`+
		`"events":[{"name":"retry","timestamp":"2026-11-22T20:41:07.000000005Z"}],"links":[{"trace_id":"010102030000000000000000000000ff","span_id":"0200000000000000"}]}`+"\n",
		written(t, "json", Options{}, spanEvent()))
	var metric map[string]any
	require.NoError(t, json.Unmarshal([]byte(written(t, "json", Options{}, metricEvent())), &metric))
	assert.Equal(t, map[string]any{
		"type": "histogram", "unit": "s", "temporality": "delta", "count": 3., "sum": 1.5, "min": .25, "max": 1.,
		"bounds": []any{.5}, "bucket_counts": []any{2., 1.},
	}, metric["metric"])
	exp := &record.Record{Kind: record.KindMetric, Point: &record.Point{
		Type: record.PointExponentialHistogram, Monotonic: true, StartTime: at(1), Scale: -1, ZeroCount: 2, ZeroThreshold: .5,
		Positive: record.Buckets{Offset: -3, Counts: []uint64{1}}, Quantiles: []record.Quantile{{Quantile: .99, Value: math.Inf(1)}},
		Value: record.Uint64Value(math.MaxUint64), Request: []byte("x"), FilteredAttributes: []record.Field{{Name: "a", Value: record.BoolValue(true)}},
	}, Callchain: []uint64{0xdeadbeef, 1}, Body: record.ListValue([]record.Field{{Value: record.Int64Value(1)}})}
	assert.Equal(t, `{"time":"0001-01-01T00:00:00.000000000Z","kind":"metric","body":[1],"cpu":0,"metric":{"type":"exponential histogram","monotonic":true,`+
		`"start_time":"2026-11-22T20:41:07.000000001Z","value":18446744073709551615,"scale":-1,"zero_count":2,"zero_threshold":0.5,`+
		`"positive":{"offset":-3,"counts":[1]},"quantiles":[{"quantile":0.99,"value":"Infinity"}],"filtered_attributes":{"a":true},"request":"eA=="},`+
		`"callchain":["0xdeadbeef","0x1"]}`+"\n", written(t, "json", Options{}, exp))
}

// TestJSONSequence: an object has the members of its own event only, not those of earlier ones.
func TestJSONSequence(t *testing.T) {
	other := logEvent()
	other.Process = &record.Process{PID: 900, Comm: "other"}
	other.PID = 900
	renamed := logEvent()
	renamed.Name = "myapp_info"
	system := logEvent()
	system.System = "user_events_multi"
	kind := logEvent()
	kind.Kind = record.KindOther
	unknown := logEvent()
	unknown.Process = nil
	severe := logEvent()
	severe.Severity = record.SeverityError
	called := logEvent()
	called.SeverityText = "FINE"
	thread := logEvent()
	thread.PID = 813
	tid, cpu, first := logEvent(), logEvent(), logEvent()
	tid.TID, cpu.CPU, first.TID, first.CPU = 816, 4, 0, 0
	events := []*record.Record{
		logEvent(), logEvent(), other, logEvent(), renamed, logEvent(), system, logEvent(), kind, kind, unknown, unknown, thread, thread,
		tid, logEvent(), cpu, cpu, first, logEvent(), first,
		severe, called, logEvent(),
		spanEvent(), metricEvent(), otherEvent(), spanEvent(), logEvent(),
	}
	var want strings.Builder
	for _, ev := range events {
		want.WriteString(written(t, "json", Options{}, ev))
	}
	assert.Equal(t, want.String(), written(t, "json", Options{}, events...))
}

// TestFieldsJSON: fields that are JSON already are copied.
func TestFieldsJSON(t *testing.T) {
	ev := logEvent()
	want := written(t, "json", Options{}, ev)
	assert.Equal(t, want, written(t, "json", Options{}, withFieldsJSON(t, ev, ev.Fields())))
	assert.Contains(t, want, `"fields":{"key":"user:41","shard":3}`)
}

func TestJSONLost(t *testing.T) {
	var b bytes.Buffer
	w, err := New("json", &b, Options{})
	require.NoError(t, err)
	require.NoError(t, w.Lost("user_events:myapp_debug", 1204, at(0)))
	assert.Equal(t, `{"time":"2026-11-22T20:41:07.000000000Z","kind":"lost","event":"user_events:myapp_debug","count":1204}`+"\n", b.String())
}

func TestRawAndTemplate(t *testing.T) {
	testscale.HostOnly(t)
	assert.Equal(t, "5.000000 user_events:myapp_debug myapp[812] cpu 3 cafe\n5.002500 user_events:myapp_span myapp[812] cpu 0 \n",
		written(t, "raw", Options{Time: Mono}, logEvent(), spanEvent()))
	assert.Equal(t, "5.000000 DEBUG cache miss 3 \n5.002500  GET /users/{id}  12.4ms\n",
		written(t, "{{.time}} {{.severity}} {{.message}} {{.shard}} {{.duration}}", Options{Time: Mono}, logEvent(), spanEvent()))
	for format, o := range map[string]Options{
		"xml": {}, "{{.time": {}, "{{nosuch}}": {}, "{{.time}}": {Fields: []string{"time"}}, "raw": {Fields: []string{"time"}},
	} {
		_, err := New(format, nil, o)
		assert.ErrorIs(t, err, errFormat, format)
	}
	w, err := New("{{index .message 99}}", &bytes.Buffer{}, Options{})
	require.NoError(t, err)
	assert.ErrorIs(t, w.Write(logEvent()), errFormat)

	var out bytes.Buffer
	w, err = New("{{range 9999999999}}{{$.message}}{{end}}", &out, Options{})
	require.NoError(t, err)
	err = w.Write(logEvent())
	assert.ErrorIs(t, err, errFormat)
	assert.ErrorContains(t, err, "it makes more than 16 MiB of one event")
	assert.Zero(t, out.Len())
}

// TestHostileTexts: a record is one line of printable characters, for any text in any field.
func TestHostileTexts(t *testing.T) {
	testscale.HostOnly(t)
	for _, s := range []string{
		"\x1b[2J\x1b]0;owned\x07", "a\nfake 20:00:00 ERROR", "\r", "safe\u202egnp.exe", "\u2066\u2028\u2029\ufeff", "\xff\xfe", "\x00", "\u0085\u009b1m",
		"\"}{\"kind\":\"forged\"", strings.Repeat("x\n", 2048), "\U000e0041", "{{.time}}", `back\slash`,
	} {
		v := record.StringValue(s)
		f := []record.Field{{Name: s, Value: v}, {Name: "b", Value: record.BytesValue([]byte(s))}, {Name: "l", Value: record.ListValue([]record.Field{{Value: v}})}}
		ev := &record.Record{
			System: s, Name: s, SeverityText: s, Message: s, EventName: s, TraceState: s, StatusMessage: s, ServiceName: s, ScopeName: s,
			Status: record.StatusError, Resource: f, ScopeAttributes: f, Body: v, Kind: record.KindLog,
			Process:      &record.Process{Comm: s, Exe: s, Cgroup: s, Unit: s, ContainerID: s, PodUID: s, ServiceName: s},
			NestedEvents: []record.NestedEvent{{Name: s, Attributes: f}}, NestedLinks: []record.NestedLink{{TraceState: s, Attributes: f}},
			Point: &record.Point{Type: record.PointGauge, Unit: s, Value: v},
		}
		ev.SetFields(f)
		selected := append(ColumnNames(), s)
		for _, format := range []string{"text", "json", "raw", "{{range $k, $v := .}}{{$v}}{{end}}"} {
			for _, o := range []Options{{}, {Color: true}, {Fields: selected}} {
				if len(o.Fields) > 0 && format != "text" && format != "json" {
					continue
				}
				for _, kind := range []record.Kind{record.KindLog, record.KindOther, record.KindMetric} {
					ev.Kind = kind
					line, ok := strings.CutSuffix(written(t, format, o, ev), "\n")
					require.True(t, ok)
					if o.Color {
						line = strings.NewReplacer(reset, "", Faint, "", Red, "", cyan, "").Replace(line)
					}
					assert.True(t, isPrintable(line), "%s of %q: %q", format, s, line)
					if format == "json" {
						assert.True(t, json.Valid([]byte(line)), "%s", line)
					}
				}
			}
		}
		assert.True(t, isPrintable(strings.TrimSuffix((&Table{Rows: [][]string{{s}}}).String(), "\n")))
	}
}

func isPrintable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == 0xfeff || r >= 0xe0000
	}) < 0
}

// TestWriteErrors: errors of the destination are returned.
func TestWriteErrors(t *testing.T) {
	for _, format := range []string{"text", "json", "raw", "{{.time}}"} {
		w, err := New(format, brokenWriter{}, Options{})
		require.NoError(t, err)
		assert.ErrorIs(t, w.Write(logEvent()), errBroken)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestAppendDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ns", 999: "999ns", 1000: "1.00us", 12_340: "12.3us", 123_456: "123us", 999_499: "999us", 999_500: "1.00ms", 12_400_000: "12.4ms",
		1_500 * time.Millisecond: "1.50s", 90 * time.Second: "90.0s", 999 * time.Second: "999s", 2 * time.Hour: "2h0m0s", -12_400_000: "-12.4ms",
		math.MinInt64: "-2562047h47m16.854775807s",
	} {
		assert.Equal(t, want, string(AppendDuration(nil, d)), "%d", d)
	}
}

func TestTable(t *testing.T) {
	table := Table{Header: []string{"EVENT", "RATE"}, Right: map[int]bool{1: true}}
	table.Add("myapp_debug", 5)
	table.Add("größe", Count(1234567))
	assert.Equal(t, "EVENT             RATE\nmyapp_debug          5\ngröße        1,234,567\n", table.String())
}

// TestJSONAllocations: writing a common record does not allocate.
func TestJSONAllocations(t *testing.T) {
	for _, format := range []string{"json", "text", "raw"} {
		w, err := New(format, discard{}, Options{})
		require.NoError(t, err)
		ev := logEvent()
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = w.Write(ev) }), format)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkJSON(b *testing.B) {
	w, err := New("json", discard{}, Options{})
	require.NoError(b, err)
	ev := logEvent()
	for b.Loop() {
		_ = w.Write(ev)
	}
}

func TestCount(t *testing.T) {
	assert.Equal(t, []string{"0", "999", "1,000", "1,234,567"}, []string{Count(0), Count(999), Count(1000), Count(1234567)})
	assert.Equal(t, []string{"0 CPUs", "1 process", "1,204 processes"}, []string{Plural(0, "CPU"), Plural(1, "process"), Plural(uint64(1204), "process")})
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 98_200_000: "98.2 MB", 5e12: "5.0 TB"} {
		assert.Equal(t, want, FileSize(n))
	}
	for n, want := range map[int]string{4096: "4 KiB", 512 << 10: "512 KiB", 1 << 20: "1 MiB", 1 << 30: "1024 MiB"} {
		assert.Equal(t, want, RingSize(n))
	}
	for s, want := range map[string]int{"1": 1, "4096": 4096, "512K": 512 << 10, "2M": 2 << 20, "1G": 1 << 30, "64KiB": 64 << 10} {
		n, err := ParseSize(s)
		require.NoError(t, err)
		assert.Equal(t, want, n)
	}
	for _, s := range []string{"", "0", "-1", "K", "1T", "2G", "1kk", "1.5M", "1 M"} {
		_, err := ParseSize(s)
		assert.Error(t, err, s)
	}
}

// FuzzParseSize: a size is in the range, and printed by RingSize is parsed again.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1", "64K", "512KiB", "1G", "2097151K", "0M", "1KiBK", "-1", "1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			require.Zero(t, n)
			return
		}
		require.True(t, n >= 1 && n <= MaxSize, "%q is %d", s, n)
		if n%(1<<20) == 0 {
			again, err := ParseSize(strings.ReplaceAll(RingSize(n), " ", ""))
			require.NoError(t, err)
			require.Equal(t, n, again)
		}
	})
}
