package reader

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

// planned are the declarations of events of this module's adapters, of a program of others and of EventHeader.
var planned = map[string]string{
	"slog":     "shop_info u64 time_unix_nano; s32 level; u8 truncated; u8 duplicate; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] message; __rel_loc char[] source; __rel_loc char[] attributes",
	"debug":    "shop_debug u64 time_unix_nano; s32 level; u8 truncated; u8 duplicate; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] message; __rel_loc char[] source; __rel_loc char[] attributes",
	"declared": "shop_request u64 time_unix_nano; s32 level; u8 truncated; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] source; __rel_loc char[] attributes; __rel_loc char[] http_route; u16 status; s64 latency; u8 cached; __rel_loc char[] ratio; u64 big",
	"span": "shop_span u64 start_time_unix_nano; u64 duration_ns; u8 kind; u8 status_code; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] parent_span_id; __rel_loc char[] name; __rel_loc char[] attributes; u32 events; u32 links; u16 truncated; " +
		"__rel_loc char[] status_message; __rel_loc char[] scope_name; __rel_loc char[] service_name; __rel_loc char[] resource; u32 trace_flags; u32 dropped_attributes_count",
	"otel":   "shop_log_info u64 time_unix_nano; u64 observed_time_unix_nano; s32 severity_number; u8 duplicate; __rel_loc char[] trace_id; __rel_loc char[] span_id; __rel_loc char[] severity_text; __rel_loc char[] event_name; __rel_loc char[] body; __rel_loc char[] attributes",
	"other":  "game_move s8 x; u64 score; __data_loc char[] player; char[8] fixed; __data_loc u8[] blob; u8 level; u8 Up9Z_",
	"header": "shop_L3K1 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level",
}

func plannedDecoder(t *testing.T, name string) *Decoder {
	d, err := NewDecoder(tracepoint.System, tracepoint.MustParse(planned[name]).Format())
	require.NoError(t, err)
	require.Equal(t, name == "other", d.layout == nil && !d.isHeader, name)
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
		cond, err := ParseCondition(c.condition)
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
	assert.Equal(t, ConditionPlan{Kernel: "status == 500", Reader: []string{"http_route == x"}}, where("status == 500 and http_route == x").Plan(d, false))
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
			plan := where(condition).Plan(d, true)
			assert.LessOrEqual(t, len(plan.Kernel), maxFilter)
			assert.Equal(t, exact, len(plan.Reader) == 0, "%d: %s", n, plan.Kernel)
		}
		check(in, n <= maxFilter)
		check("not ("+in+")", n <= maxFilter-3)
		check(in+" and status == 1", n <= maxFilter-len("() && status == 1"))
		check(in+" or status == 1", n <= maxFilter-len("() || status == 1"))
		assert.Equal(t, "status == 1", where("status == 1 and "+in).Plan(d, true).Kernel[:len("status == 1")])
	}
}
