package where

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// conditionSamples are a log record, a span, a data point and a record of the kernel.
var conditionSamples = map[string]*record.Record{
	"log": withFields(record.Record{
		Kind: record.KindLog, Name: "shop_warn", System: "user_events", Severity: record.SeverityWarn + 1, Message: "payment of \"user 7\"\ntimed out",
		PID: 812, TID: 813, CPU: 1, TraceID: [16]byte{0x4b, 0xf9, 0x2f, 0x35, 15: 1}, SpanID: [8]byte{1, 7: 2}, ServiceName: "shop",
		Process:  &record.Process{PID: 812, Comm: "payment-service", Exe: "/opt/payment-service-v2", Cgroup: "/system.slice/shop.service"},
		Resource: []record.Field{{Name: "host.name", Value: record.StringValue("node-1")}, {Name: "status", Value: record.StringValue("resource")}},
	}, []record.Field{
		{Name: "status", Value: record.Int64Value(503)},
		{Name: "http.route", Value: record.StringValue("/users/{id}")},
		{Name: "code", Value: record.StringValue("500")},
		{Name: "ratio", Value: record.Float64Value(0.25)},
		{Name: "cached", Value: record.BoolValue(false)},
		{Name: "latency", Value: record.Int64Value(250e6)},
		{Name: "wait_ms", Value: record.Int64Value(1500)},
		{Name: "wait_s", Value: record.Float64Value(1.5)},
		{Name: "big", Value: record.Uint64Value(1 << 63)},
		{Name: "db", Value: record.MapValue([]record.Field{{Name: "table", Value: record.StringValue("orders")}, {Name: "rows", Value: record.Int64Value(3)}, {Name: "pool.size", Value: record.Int64Value(8)}})},
		{Name: "tags", Value: record.ListValue([]record.Field{{Value: record.StringValue("a")}, {Value: record.StringValue("b")}})},
		{Name: "empty", Value: record.StringValue("")},
		{Name: "user_id", Value: record.Int64Value(7)},
		{Name: "odd key", Value: record.Int64Value(1)},
		{Name: "in", Value: record.Int64Value(2)},
		{Name: "has", Value: record.Int64Value(3)},
		{Name: "not", Value: record.Int64Value(4)},
		{Name: "nothing", Value: record.Value{}},
		{Name: "path", Value: record.StringValue(`C:\temp`)},
		{Name: "snow", Value: record.StringValue("☃")},
		{Name: "one", Value: record.Int64Value(1)},
		{Name: "zero", Value: record.Int64Value(0)},
		{Name: "two", Value: record.Uint64Value(2)},
		{Name: "took", Value: record.StringValue("150ms")},
		{Name: "raw", Value: record.BytesValue([]byte{1})},
	}),
	"span": withFields(record.Record{
		Kind: record.KindSpan, Name: "shop_span", Message: "GET /users", Duration: 120 * time.Millisecond, Status: record.StatusError, StatusMessage: "no route",
		SpanKind: record.SpanKindServer, ParentSpanID: [8]byte{9}, HasTraceFlags: true,
		Process: &record.Process{PID: 812, Comm: "payment-service"},
	}, []record.Field{{Name: "http.response.status_code", Value: record.Int64Value(500)}}),
	"declared": {Kind: record.KindLog, Name: "shop_request", EventName: "shop_request"},
	"point":    {Kind: record.KindMetric, Message: "shop.orders", Point: &record.Point{Type: record.PointSum, Unit: "s", Value: record.Int64Value(12), Sum: record.Float64Value(1.5)}},
	"other":    withFields(record.Record{Kind: record.KindOther, Name: "sched_switch", System: "sched"}, []record.Field{{Name: "prev_comm", Value: record.StringValue("bash")}, {Name: "level", Value: record.StringValue("error")}, {Name: "message", Value: record.StringValue("own")}}),
}

func withFields(rec record.Record, fields []record.Field) *record.Record {
	rec.SetFields(fields)
	return &rec
}

// conditionMatches are conditions, and the samples that they select.
var conditionMatches = map[string]string{
	"kind == log": "log declared", "kind in (span, metric)": "span point", "kind != log": "span point other", "kind ~ s*": "span", "kind == Span": "span", "kind == span_link": "",
	"level >= warn": "log", "level == warn": "log", "level == warn2": "log", "level == warn3": "", "level > warn": "", "level <= warn": "log", "level < warn": "", "level < warn3": "log",
	"level != error": "log", "level in (debug, WARNING)": "log", "level == err": "", "severity_number == 14": "log", "severity_number >= 17": "", "has level": "log", "not has(level)": "span point other declared",
	`message ~ "*timed out"`: "log", `message =~ "^GET"`: "span", `message == "payment of "`: "", "message == 'GET /users'": "span", `message =~ 'user \d'`: "log", `message =~ 'user.*\\n'`: "log",
	"name ~ shop.*": "point", "body ~ GET*": "span", "message == own": "other", "message != own": "log span point declared", `message == ""`: "", `message != ""`: "log span point other declared", "event == shop_warn": "log", "system ~ sched": "other",
	"status == 503": "log", "status >= 500": "log", "status >= 500.5": "log", "status > 503": "", "status < 503.5": "log", "status = 503": "log", "status != 503": "span", `status == "503"`: "log", "status ~ 5*": "log", "status =~ ^5": "log",
	"status in (500, 503)": "log", "status not in (500, 503)": "span", "status & 1": "log", "user_id == true": "", "one == true": "log", "one != false": "log", "zero == false": "log", "zero == true": "", "two != true": "log", "took > 100ms": "log", "took > 200ms": "", "metric.value > 11s": "point", "metric.value < 12500ms": "point",
	"severity == warn": "log", "status != 1": "log span", "has(truncated)": "log span point declared", "truncated == 0": "log span point declared", "dropped_attributes == 0 and kind == span": "span", "trace_flags == 0": "span", "has trace_flags": "span", "parent_remote == false": "span", "parent_remote == true": "", "fields.message == own": "other", "AND == 1 or status == 503": "log", "status == 503 AND NOT has(nosuch)": "log", "message == shop_request": "declared", "message != x": "log span point other declared", "fields.message != x": "other", "status & 8": "", "status == error": "span", "status == unset": "", "span_kind != client": "span", "fields.status == 503": "log", "resource.status == resource": "log", "resource.status == 503": "",
	"status >= 0x1f7": "log", "status == 503.0": "log", "status == 5e2": "", "status == -1": "",
	"http.route == /users/{id}": "log", `http.route ~ "/users/*"`: "log", "http_route ~ /users/*": "log", "http.route ~ /users/?id?": "log", "http.route ~ /users/[{]*": "log", "http.route ~ '/users/[!{]*'": "", "http.route ~ [^a-z]users*": "log", "has(http.route)": "log",
	"http_response_status_code >= 500": "span", "http.response.status_code >= 500": "span",
	"code == 500": "log", "code >= 499": "log", "code > 500": "", "ratio == 0.25": "log", "ratio < 1": "log", "ratio > .3": "", "cached == false": "log", "cached == true": "", "cached != true": "log", "big > 9223372036854775807": "log", "big == 9223372036854775808": "log", "big < -1": "",
	"latency > 200ms": "log", "latency > 1s": "", "latency == 250ms": "log", "wait_ms == 1.5s": "log", "wait_s == 1500ms": "log", "wait_ms > 1501ms": "", "duration > 100ms": "span", "duration_ns == 120000000": "span", "duration < 100ms": "",
	"db.table == orders": "log", "db.rows >= 3": "log", "db.pool.size == 8": "log", "db.nothing == 1": "", "has db": "log", "has db.table and not has db.name": "log", `db =~ orders`: "log",
	"tags == a": "log", "tags in (x, b)": "log", "tags == c": "", "tags != a": "", "tags != c": "log", "tags ~ ?": "log", "tags =~ b": "log",
	"has empty": "log", `empty == ""`: "log", "has nothing": "", "nothing == null": "", "has nosuch": "", "nosuch != 1": "", "not (nosuch == 1)": "log span point other declared",
	"trace_id == 4bf92f35000000000000000000000001": "log", "trace_id == 4BF92F35": "log", "trace_id == 4bf92f36": "", "trace_id != 4bf92f35": "", "trace_id ~ 4bf9*": "log", "has(trace_id)": "log", "span_id in (0100, 0200)": "log", "parent_span_id == 09": "span",
	"pid == 812": "log", "pid in (811, 813)": "", "tid == 813": "log", "cpu == 1": "log", "program == payment-service": "log span", "program == payment-service-v2": "log span", "program == payment-service-v3": "span", "program ~ payment*": "log span",
	"program != payment-service-v2": "", "program != payment-service-v3": "log", "program in (x, payment-service-v2)": "log span", "program =~ v2$": "log", "comm == payment-service": "log span", "exe ~ /opt/*": "log", "cgroup ~ */shop.service": "log",
	"service == shop": "log", "service_name == shop": "log", "host.name == node-1": "log", "resource.host.name ~ node*": "log", "fields.host.name ~ node*": "", "status_message ~ no*": "span", "span_kind == server": "span",
	"metric.value > 10": "point", "metric.sum == 1.5": "point", "metric.type == sum": "point", "metric.unit == s": "point", "metric.value > 12": "",
	"prev_comm == bash": "other", "fields.level == error": "other",
	`"odd key" == 1`: "log", "in == 2": "log", "has == 3": "log", "not == 4": "log", "has(in)": "log", "has has": "log", "'in' in (2)": "log",
	`path == "C:\\temp"`: "log", `path ~ "C:*temp"`: "log", `path == "C:\temp"`: "", "snow == ☃": "log", "snow ~ ?": "log", `raw == "AQ=="`: "log",
	"status == 503 and cached == true or kind == span": "span", "kind == span or status == 503 and cached == false": "log span", "(kind == span or status == 503) and level >= warn": "log",
	"not kind == log and not kind == other": "span point", "!(kind == log || kind == other) && !has(duration)": "point", "NOT == 1 or status == 503": "log",
	"  kind==log\n": "log declared", "kind==log&&status==503": "log", "status&1": "log", "status>=500||kind==span": "log span",
}

func TestCondition(t *testing.T) {
	for text, want := range conditionMatches {
		c, err := Parse(text)
		if !assert.NoError(t, err, text) {
			continue
		}
		assert.Equal(t, text, c.String())
		var got []string
		for _, name := range []string{"log", "span", "point", "other", "declared"} {
			if c.Match(conditionSamples[name]) {
				got = append(got, name)
			}
		}
		assert.Equal(t, strings.Fields(want), append([]string{}, got...), text)
	}
}

func parsed(text string) *Condition {
	c, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

// TestConditionErrors: an error says what is wrong, and where.
func TestConditionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "the name of a value expected, such as level, message or an attribute's, at byte 1", "  ": "the name of a value expected, such as level, message or an attribute's, at byte 3",
		"status":    "an operator expected: == != < <= > >= ~ =~ & or in; has status selects records that have it, at byte 7",
		"status ==": "a value expected: a number, a time such as 10ms, a word, or a text in quotes, at byte 10", "duration > 1 ms": "and or or expected; a time has no blank before its unit, at byte 14", "time > 5": "conditions do not compare times of records, at byte 8", "status == 500 600": "and or or expected; a text of several words needs quotes, at byte 15",
		"message ~ [!a]*": "and or or expected; a text of several words needs quotes, at byte 12", "level == 1 ms": "and or or expected; a time has no blank before its unit, at byte 12",
		"(status == 500": "( without ), at byte 1", "status == 500)": ") without (, at byte 14", `message == "x`: "a quote without the second one, at byte 12", "status in 500": "( expected: status in (a, b), at byte 11",
		"status in (500": ", or ) expected, at byte 15", "status in ()": "a value expected: a number, a time such as 10ms, a word, or a text in quotes, at byte 12", "a not == 1": "in expected behind not, or not before a, at byte 3",
		"message !~ x": "no operator: write not message ~ PATTERN, or not message =~ EXPRESSION, at byte 9", "level >= loud": `"loud" is none of trace, debug, info, warn, error and fatal; severity_number is compared with numbers, at byte 10`,
		"level >= 17": `"17" is none of trace, debug, info, warn, error and fatal; severity_number is compared with numbers, at byte 10`, "level ~ w*": "level is compared with == != < and so on, not with ~, at byte 9",
		"kind == logs": "logs is none of other, log, span, span start, span event, span link, metric, at byte 9", "trace_id == xyz": `"xyz" is no trace_id, nor the beginning of one: it has 32 hexadecimal digits; an attribute is fields.trace_id, at byte 13`,
		"span_id == 00112233445566778": `"00112233445566778" is no span_id, nor the beginning of one: it has 16 hexadecimal digits; an attribute is fields.span_id, at byte 12`, "trace_id < 4b": "trace_id is compared with == or !=, not with <, at byte 12",
		"pid == shop": `"shop" is no number that pid can be compared with, at byte 8`, "status > high": `"high" is no number that status can be compared with, at byte 10`, "message > 5": "message is no number: it is compared with == != ~ or =~, not with >, at byte 11",
		"status & 1.5": "& takes an integer, at byte 10", `message =~ "("`: "error parsing regexp: missing closing ): `(`, at byte 12", "message ~ [a": "a pattern with [ needs ], and one with a backslash a character behind it, at byte 11",
		"a == 1 and": "the name of a value expected, such as level, message or an attribute's, at byte 11", "a == 1 & b == 2": "and or or expected; a text of several words needs quotes, at byte 8", strings.Repeat("(", 200): "more than 100 parentheses and negations, at byte 101",
		"a == \xff": "the condition is not UTF-8, at byte 1", "kind == log and\nlevel >= lod": `"lod" is none of trace, debug, info, warn, error and fatal; severity_number is compared with numbers, at byte 26`,
	} {
		_, err := Parse(text)
		if assert.Error(t, err, text) {
			assert.ErrorIs(t, err, fs.ErrInvalid)
			assert.ErrorContains(t, err, want+" of", text)
		}
	}
	_, err := Parse("a == " + strings.Repeat("x", 1<<16))
	assert.ErrorContains(t, err, "the condition has more than 65536 bytes")
	_, err = Parse("a in (" + strings.Repeat("1,", 1000) + "1)")
	assert.ErrorContains(t, err, "more than 1000 values")
}

// TestConditionMissing: names that records were asked for, and that none had, may be misspelt.
func TestConditionMissing(t *testing.T) {
	c := parsed("statsu >= 500 or status == 1 or kind == metric and unasked == 1 or duration > 1h")
	assert.Empty(t, c.UnknownNames())
	assert.False(t, c.Match(conditionSamples["log"]))
	assert.Equal(t, []string{"statsu", "duration"}, c.UnknownNames())
	assert.False(t, c.Match(conditionSamples["span"]))
	assert.Equal(t, []string{"statsu"}, c.UnknownNames())
}

// TestConditionAllocations: records are compared without allocating.
func TestConditionAllocations(t *testing.T) {
	for _, text := range []string{
		"level >= warn and kind == log", `status_message ~ "no*" or status_message =~ "^no" or http.route =~ "^x"`, "trace_id == 4bf92f35", "http.route ~ /users/* and status >= 500", "db.table == orders",
		"program in (a, b) and pid == 812", "tags == b", "duration > 100ms", "code >= 499 and ratio < 1 and big > 1", "has(nosuch) or nosuch == 1",
	} {
		c := parsed(text)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			for _, rec := range conditionSamples {
				c.Match(rec)
			}
		}), text)
	}
}

// FuzzCondition: exactly one of condition and error; an error is about a place in the text; a condition and its negation select
// different events.
func FuzzCondition(f *testing.F) {
	for text := range conditionMatches {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.True(t, c == nil && e.At >= 0 && e.At <= len(text) && e.text == text && e.Problem != "", "%#v", e)
			return
		}
		not, err := Parse("not (" + text + "\n)")
		if err != nil {
			return // it is too long, or too deep
		}
		for _, rec := range conditionSamples {
			require.NotEqual(t, c.Match(rec), not.Match(rec), text)
		}
	})
}

// planned are the declarations of events of this module's adapters, of a program of others and of EventHeader.
var planned = map[string]string{
	"slog":     "shop_info u64 time_unix_nano; s32 level; u8 truncated; u8 duplicate; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] message; __rel_loc char[] source; __rel_loc char[] attributes",
	"debug":    "shop_debug u64 time_unix_nano; s32 level; u8 truncated; u8 duplicate; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] message; __rel_loc char[] source; __rel_loc char[] attributes",
	"declared": "shop_request u64 time_unix_nano; s32 level; u8 truncated; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] source; __rel_loc char[] attributes; __rel_loc char[] http_route; u16 status; s64 latency; u8 cached; __rel_loc char[] ratio; u64 big",
	"span": "shop_span u64 start_time_unix_nano; u64 duration_ns; u8 kind; u8 status_code; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] parent_span_id; __rel_loc char[] name; __rel_loc char[] attributes; u32 events; u32 links; u16 truncated; " +
		"__rel_loc char[] status_message; __rel_loc char[] scope_name; __rel_loc char[] service_name; __rel_loc char[] resource; u32 trace_flags; u32 dropped_attributes_count",
	"otel":       "shop_log_info u64 time_unix_nano; u64 observed_time_unix_nano; s32 severity_number; u8 duplicate; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] severity_text; __rel_loc char[] event_name; __rel_loc char[] body; __rel_loc char[] attributes",
	"otel debug": "shop_log_debug u64 time_unix_nano; u64 observed_time_unix_nano; s32 severity_number; u8 duplicate; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] severity_text; __rel_loc char[] event_name; __rel_loc char[] body; __rel_loc char[] attributes",
	"other":      "game_move s8 x; u64 score; __data_loc char[] player; char[8] fixed; __data_loc u8[] blob; u8 level; u8 Up9Z_",
	"unit": "shop_payment u64 time_unix_nano; s32 level; u8 truncated; __rel_loc char[] trace_id; __rel_loc char[] span_id; " +
		"__rel_loc char[] source; __rel_loc char[] attributes; s64 latency_ns; s64 wait_time_ns",
	"header": "shop_L3K1 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level",
}

func plannedDecoder(t *testing.T, name string) *record.Decoder {
	d, err := record.NewDecoder(tracepoint.System, tracepoint.MustParse(planned[name]).Format())
	require.NoError(t, err)
	require.Equal(t, name == "other", d.Source() == record.SourceUnknown, name)
	return d
}

func TestConditionPlan(t *testing.T) {
	for _, c := range []struct{ event, condition, kernel, reader string }{
		{"slog", "kind == log", "", ""},
		{"slog", "kind == span", "never", ""},
		{"slog", "event ~ shop*", "", ""},
		{"slog", "event == shop", "never", ""},
		{"slog", "level >= info", "", ""},
		{"slog", "level >= warn", "never", ""},
		{"slog", "level > info", "never", ""},
		{"slog", "level >= info2", "level >= 1 && level <= 3", ""},
		{"slog", "not (level >= info2)", "!(level >= 1 && level <= 3)", ""},
		{"slog", "level in (info, error)", "", ""},
		{"debug", "level >= debug", "level >= -4 && level <= -1", ""},
		{"debug", "level == trace", "level <= -5", ""},
		{"debug", "level in (trace, debug2)", "level <= -5 || level >= -3 && level <= -3", ""},
		{"otel", "level >= info", "severity_number >= 9 && severity_number <= 12", ""},
		{"otel", "has(level)", "severity_number >= 9 && severity_number <= 12", ""},
		{"otel", "level == error", "never", ""},
		{"span", "level >= info", "never", ""},
		{"span", "not (level >= info)", "", ""},
		{"other", "level >= info", "never", ""},
		{"other", "fields.level >= 3", "level >= 3", ""},
		{"header", "level >= warn", "", "level >= warn"},
		{"header", "level == trace", "", "level == trace"},
		{"header", "level >= error", "never", ""},
		{"header", "level >= warn2", "", "level >= warn2"},
		{"header", "message == x", "", "message == x"},

		{"slog", `message == "a b"`, `message == "a b"`, ""},
		{"slog", `message != x`, `message != "x" && message != ""`, ""},
		{"slog", `message == ""`, `!(message != "")`, ""},
		{"slog", `has message`, `message != ""`, ""},
		{"slog", `message ~ "*timeout*"`, `message ~ "*timeout*"`, ""},
		{"slog", `message ~ "timeout"`, `message == "timeout"`, ""},
		{"slog", `message ~ "*timeout"`, `message ~ "**timeout"`, ""},
		{"slog", `message ~ "5*"`, `message ~ "[5]*"`, ""},
		{"slog", `message ~ "!a*"`, `message ~ "\!a*"`, ""},
		{"slog", `message ~ 'say "*'`, `message ~ 'say "*'`, ""},
		{"slog", "message ~ `say \"'*`", "", "message ~ `say \"'*`"},
		{"slog", `message ~ "a?"`, "", `message ~ "a?"`},
		{"slog", `message == "a\n"`, "", `message == "a\n"`},
		{"slog", `message ~ "0*"`, `message ~ "[0]*"`, ""},
		{"slog", `message ~ "9*"`, `message ~ "[9]*"`, ""},
		{"slog", `message ~ "/*"`, `message ~ "/*"`, ""},
		{"slog", `message ~ ":*"`, `message ~ ":*"`, ""},
		{"slog", `message ~ "**"`, `message ~ "**" && message != ""`, ""},
		{"slog", `message in ("", x)`, `message == "x"`, ""},
		{"slog", `message in (x, "a\n")`, "", `message in (x, "a\n")`},
		{"slog", `message == "ä☃"`, `message == "ä☃"`, ""},
		{"slog", `message =~ time.*out`, "", "message =~ time.*out"},
		{"slog", "message == " + strings.Repeat("x", 255), "message == \"" + strings.Repeat("x", 255) + "\"", ""},
		{"slog", "message == " + strings.Repeat("x", 256), "", "message == " + strings.Repeat("x", 256)},
		{"slog", "status >= 500", "", "status >= 500"},
		{"slog", "program == shop", "", "program == shop"},
		{"slog", "trace_id == 4bf92f3577b34da6a3ce929d0e0e4736", `trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"`, ""},
		{"slog", "trace_id == 4BF92F3577B34DA6A3CE929D0E0E4736", `trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"`, ""},
		{"slog", "trace_id ~ 4bf92f35*", `trace_id ~ "[4]bf92f35*"`, ""},
		{"slog", "trace_id == 4bf92f35", `trace_id ~ "[4]bf92f35*"`, ""},
		{"slog", "trace_id == bf92f35", `trace_id ~ "bf92f35*"`, ""},
		{"slog", "trace_id != 4bf92f35", "", "trace_id != 4bf92f35"},
		{"slog", "parent_span_id == 12", "never", ""},
		{"slog", "duration > 1s", "", "duration > 1s"},

		{"declared", "status >= 500", "status >= 500", ""},
		{"declared", "status >= 499.5", "status >= 500", ""},
		{"declared", "status > 499.5", "status > 499", ""},
		{"declared", "status == 499.5", "never", ""},
		{"declared", "status != 499.5", "", ""},
		{"declared", "status == 500.0", "status == 500", ""},
		{"declared", "status < 70000", "", ""},
		{"declared", "status == 70000", "never", ""},
		{"declared", "status > -1", "", ""},
		{"declared", "status <= -1", "never", ""},
		{"declared", `status == "500"`, "status == 500", ""},
		{"declared", `status == "0500"`, "never", ""},
		{"declared", "status == high", "never", ""},
		{"declared", "status in (500, 503, high)", "status == 500 || status == 503", ""},
		{"declared", "status & 4", "status & 0x4", ""},
		{"declared", "status & 0xffff", "status & 0xffff", ""},
		{"declared", "status & 0x10000", "", "status & 0x10000"},
		{"declared", "status & 0", "", "status & 0"},
		{"declared", `big == "9223372036854775808"`, "big == 9223372036854775808", ""},
		{"declared", `big == "0x8000000000000000"`, "never", ""},
		{"declared", `latency == "-5"`, "latency == -5", ""},
		{"declared", `latency == "0x5"`, "never", ""},
		{"declared", "status ~ 5*", "", "status ~ 5*"},
		{"declared", "has status", "", ""},
		{"declared", "big > 9223372036854775808", "big > 9223372036854775808", ""},
		{"declared", "latency > 100ms", "latency > 100000000", ""},
		{"declared", "latency > 1e300", "never", ""},
		{"declared", "latency > 1e17", "", "latency > 1e17"},
		{"declared", "cached == true", "cached == 1", ""},
		{"declared", "http.route ~ /users/*", `http_route ~ "/users/*"`, ""},
		{"unit", "latency > 100ms", "latency_ns > 100000000", ""},
		{"declared", "http_route == /users", `http_route == "/users"`, ""},
		{"declared", "has http.route", "", ""},
		{"declared", "ratio > 0.5", "", "ratio > 0.5"},
		{"declared", "nosuch == 1", "", "nosuch == 1"},
		{"declared", "resource.status == 1", "never", ""},
		{"declared", "message == x", "never", ""},
		{"declared", "message ~ shop_*", "", ""},
		{"declared", "fields.message == x", "", "fields.message == x"},
		{"otel", "message == x", "", "message == x"},

		{"span", "duration > 100ms", "duration_ns > 100000000", ""},
		{"span", "name ~ GET*", `name ~ "GET*"`, ""},
		{"span", "status == error", "", "status == error"},
		{"span", "duration > 100ms and status == error", "duration_ns > 100000000", "status == error"},
		{"span", "duration > 100ms or status == error", "", "status == error"},
		{"span", "truncated > 0", "", "truncated > 0"},
		{"span", "metric.value > 0", "", "metric.value > 0"},

		{"other", "x < 0", "x < 0", ""},
		{"other", "x < -129", "never", ""},
		{"other", "x < -100", "x < -100", ""},
		{"other", "x > 100", "x > 100", ""},
		{"other", "Up9Z_ == 1", "Up9Z_ == 1", ""},
		{"other", "player.name == 1", "", "player.name == 1"},
		{"other", "playername == 1", "never", ""},
		{"other", "score > 100", "score > 100", ""},
		{"other", "player == bob", `player == "bob"`, ""},
		{"other", "player ~ b*", `player ~ "b*"`, ""},
		{"other", "player ~ a*b", "", "player ~ a*b"},
		{"other", "player ~ *b", "", "player ~ *b"},
		{"other", "fixed == a", "", "fixed == a"},
		{"other", "blob == AQ", "", "blob == AQ"},
		{"other", "nosuch == 1", "never", ""},
		{"other", "not (nosuch == 1)", "", ""},
		{"other", "message == x", "never", ""},

		{"declared", "status == 500 and kind == log and user =~ x", "status == 500", "user =~ x"},
		{"declared", "status == 500 and kind == span", "never", ""},
		{"declared", "status == 500 or kind == span", "status == 500", ""},
		{"declared", "status == 500 or kind == log", "", ""},
		{"declared", "not (status == 500 or latency > 5)", "!(status == 500) && !(latency > 5)", ""},
		{"declared", "not (status == 500 and latency > 5)", "!(status == 500) || !(latency > 5)", ""},
		{"declared", "not (status == 500 and program == x)", "", "program == x"},
		{"declared", "(status == 500 or status == 503) and (latency > 5 or cached == true)", "(status == 500 || status == 503) && (latency > 5 || cached == 1)", ""},
		{"declared", "status == 500 or status > -1", "", ""},
		{"declared", "not (program == x) and status > -1", "", "program == x"},
		{"declared", "program == x or status < -1", "", "program == x"},
	} {
		cond, err := Parse(c.condition)
		if !assert.NoError(t, err, c.condition) {
			continue
		}
		plan := cond.Plan(plannedDecoder(t, c.event), true)
		assert.Equal(t, c.kernel == "never", plan.Never, "%s: %s", c.event, c.condition)
		if !plan.Never {
			assert.Equal(t, c.kernel, plan.Kernel, "%s: %s", c.event, c.condition)
		}
		assert.Equal(t, c.reader, strings.Join(plan.Reader, ", "), "%s: %s", c.event, c.condition)
	}
}

// TestConditionPlanNumbers: kernels before Linux 6.4 compare numbers alone.
func TestConditionPlanNumbers(t *testing.T) {
	d := plannedDecoder(t, "declared")
	assert.Equal(t, Plan{Kernel: "status == 500", Reader: []string{"http_route == x"}}, parsed("status == 500 and http_route == x").Plan(d, false))
}

// TestConditionPlanLength: a filter is at most as long as kernels take. What does not fit is evaluated by the reader.
func TestConditionPlanLength(t *testing.T) {
	d := plannedDecoder(t, "declared")
	text := func(n int) string { // whose comparison with big is a filter of n bytes
		const number, first = "10000000000000000000", len("big == 10000000000000000000")
		list := number
		for n -= first; n >= 2*first+8; n -= first + 4 {
			list += ", " + number
		}
		n -= 4 + len("big == ")
		require.Positive(t, n)
		for n > 20 { // two more
			list += ", 1"
			n -= 4 + len("big == 1")
		}
		return list + ", 1" + strings.Repeat("0", n-1)
	}
	for n := maxFilter - 20; n < maxFilter+20; n++ {
		in := "big in (" + text(n) + ")"
		check := func(condition string, exact bool) {
			t.Helper()
			plan := parsed(condition).Plan(d, true)
			assert.LessOrEqual(t, len(plan.Kernel), maxFilter)
			assert.Equal(t, exact, len(plan.Reader) == 0, "%d: %s", n, plan.Kernel)
		}
		check(in, n <= maxFilter)
		check("not ("+in+")", n <= maxFilter-3)
		check(in+" and status == 1", n <= maxFilter-len("() && status == 1"))
		check(in+" or status == 1", n <= maxFilter-len("() || status == 1"))
		assert.Equal(t, "status == 1", parsed("status == 1 and "+in).Plan(d, true).Kernel[:len("status == 1")])
	}
}

// TestValue: the names of conditions are parts of the record, attributes, and attributes of the resource.
func TestValue(t *testing.T) {
	rec := conditionSamples["log"]
	for name, want := range map[string]string{
		"level": "WARN2", "severity_number": "14", "kind": "log", "status": "503", "db.rows": "3", "host.name": "node-1", "trace_id": "4bf92f35000000000000000000000001",
		"program": "payment-service", "duration": "", "nosuch": "", "truncated": "0", "trace_flags": "", "fields.status": "503", "resource.status": "resource", "severity": "WARN2", "service": "shop",
	} {
		v, ok := ValueOf(name)(rec)
		assert.Equal(t, want != "", ok, name)
		if ok {
			assert.Equal(t, want, v.String(), name)
		}
	}
	_, ok := ValueOf("level")(conditionSamples["span"])
	assert.False(t, ok)
}

// TestFieldOf: the field of a tracepoint that has the value of a name in all its records.
func TestFieldOf(t *testing.T) {
	for _, c := range []struct{ event, name, want string }{
		{"slog", "level", "level"},
		{"slog", "message", "message"},
		{"slog", "status", ""},
		{"slog", "attributes", "attributes"},
		{"slog", "time_unix_nano", "time_unix_nano"},
		{"slog", "trace_id", "trace_id"},
		{"otel", "level", "severity_number"},
		{"otel", "message", "body"},
		{"span", "duration", "duration_ns"},
		{"span", "name", "name"},
		{"span", "status", ""},
		{"span", "status_code", "status_code"},
		{"span", "kind", ""},
		{"declared", "status", "status"},
		{"declared", "http.route", "http_route"},
		{"unit", "latency", "latency_ns"},
		{"unit", "wait.time", "wait_time_ns"},
		{"declared", "duration", ""},
		{"other", "score", "score"},
		{"other", "level", "level"},
		{"header", "level", ""},
		{"other", "nosuch", ""},
	} {
		f, ok := FieldOf(plannedDecoder(t, c.event), c.name)
		assert.Equal(t, c.want != "", ok, "%s: %s", c.event, c.name)
		assert.Equal(t, c.want, f.Name, "%s: %s", c.event, c.name)
	}
}
