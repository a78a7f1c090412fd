package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestKernelKeys: numbers with a sign, levels and two keys of the kernel's text are as people write them.
func TestKernelKeys(t *testing.T) {
	const head, totals = "# x\n\n", "\nTotals:\n    Hits: 5\n    Entries: 2\n    Dropped: 0\n"
	for _, c := range []struct {
		by   []histField
		text string
		want [][]string
	}{
		{[]histField{fieldOf("s32", "level")}, "{ level: 18446744073709551612 } hitcount:          3\n{ level:          8 } hitcount:          2\n", [][]string{{"DEBUG"}, {"ERROR"}}},
		{[]histField{fieldOf("s32", "delta")}, "{ delta: 4294967295 } hitcount:          3\n{ delta:          8 } hitcount:          2\n", [][]string{{"-1"}, {"8"}}},
		{[]histField{fieldOf("u8", "n")}, "{ n:        255 } hitcount:          3\n{ n:          8 } hitcount:          2\n", [][]string{{"255"}, {"8"}}},
		{
			[]histField{fieldOf("__data_loc char[]", "route"), fieldOf("u16", "status")},
			"{ route: /a, b      , status:        200 } hitcount:          3\n{ route: x, status: 5, status:        500 } hitcount:          2\n",
			[][]string{{"/a, b", "200"}, {"x, status: 5", "500"}},
		},
		{
			[]histField{fieldOf("u16", "status"), fieldOf("__data_loc char[]", "route")},
			"{ status:        200, route: /a, route: b      } hitcount:          3\n{ status:        500, route: x       } hitcount:          2\n",
			[][]string{{"200", "/a, route: b"}, {"500", "x"}},
		},
		{ // a text of two lines, whose first one ends in what an entry ends in
			[]histField{fieldOf("__data_loc char[]", "route"), fieldOf("u16", "status")},
			"{ route: x, status: y } hitcount:          3\nz      , status:        200 } hitcount:          3\n{ route: x      , status:        500 } hitcount:          2\n",
			[][]string{{`x, status: y } hitcount:          3\nz`, "200"}, {"x", "500"}},
		},
	} {
		h := &histogram{Event: "user_events:h"}
		require.NoError(t, h.parse(head+c.text+totals, &histTask{by: c.by}), c.text)
		var got [][]string
		for _, r := range h.Rows {
			got = append(got, r.Keys)
		}
		assert.Equal(t, c.want, got)
	}
}

// TestKernelLevels: levels of one name are one row, and records without a level are in none, as uevents itself counts them.
func TestKernelLevels(t *testing.T) {
	const totals = "\nTotals:\n    Hits: 10\n    Entries: 3\n    Dropped: 0\n"
	h := &histogram{Event: "user_events:h"}
	require.NoError(t, h.parse("# x\n\n"+`{ level: 18446744073709551608 } hitcount:          3  n:         30
{ level: 18446744073709551604 } hitcount:          2  n:         20
{ level:          0 } hitcount:          5  n:         50
`+totals, &histTask{by: []histField{fieldOf("s32", "level")}, sum: "n"}))
	assert.Equal(t, []histRow{histRowOf(5, 50, "INFO"), histRowOf(5, 50, "TRACE")}, h.Rows)

	h = &histogram{Event: "user_events:h"}
	severity := fieldOf("u8", "severity_number")
	severity.name = "level"
	require.NoError(t, h.parse("# x\n\n"+`{ severity_number:          0 } hitcount:          3
{ severity_number:          9 } hitcount:          2
{ severity_number:         17 } hitcount:          5
`+totals, &histTask{by: []histField{severity}}))
	assert.Equal(t, []histRow{histRowOf(5, 0, "ERROR"), histRowOf(2, 0, "INFO")}, h.Rows)
	assert.EqualValues(t, 3, h.Without)
}

// TestKernelTask: what the kernel counts, and why not.
func TestKernelTask(t *testing.T) {
	format := tracepoint.MustParse("myapp_request u64 time_unix_nano; s32 level; u8 truncated; __rel_loc char[] trace_id; __rel_loc char[] span_id; " +
		"__rel_loc char[] source; __rel_loc char[] attributes; __rel_loc char[] route; u16 status; s64 latency_ns; __data_loc u8[] blob").Format()
	where := func(text string) *where.Condition {
		c, err := where.Parse(text)
		require.NoError(t, err)
		return c
	}
	for _, c := range []struct {
		f               histFlags
		trigger, reason string
	}{
		{histFlags{by: []string{"route", "status"}, sum: "latency_ns"}, "hist:keys=route,status:vals=latency_ns:size=8192", ""},
		{histFlags{by: []string{"latency_ns"}, log2: true, condition: where("status >= 500 and route ~ /a*")}, `hist:keys=latency_ns.log2:size=8192 if status >= 500 && route ~ "/a*"`, ""},
		{histFlags{by: []string{"level"}, condition: where("level >= warn")}, "hist:keys=level:size=8192 if level >= 4", ""},
		{histFlags{by: []string{"user"}}, "", "user is no field of the event"},
		{histFlags{by: []string{"blob"}}, "", "blob is neither a number nor a text"},
		{histFlags{by: []string{"route"}, sum: "route"}, "", "route is no number among the fields of the event"},
		{histFlags{by: []string{"route"}, condition: where("status >= 500 and user == 7")}, "", "it does not evaluate user == 7"},
		{histFlags{by: []string{"route"}, condition: where("kind == span")}, "", "it does not evaluate kind == span"},
		{histFlags{by: []string{"route"}, percentiles: true}, "", "it has no percentiles"},
	} {
		task, reason, err := kernelTask(format, tracepoint.System, true, &c.f)
		require.NoError(t, err)
		assert.Equal(t, c.reason, reason)
		if reason == "" {
			assert.Equal(t, c.trigger, task.trigger(""))
		}
	}
	_, reason, err := kernelTask(format, tracepoint.System, false, &histFlags{by: []string{"route"}})
	require.NoError(t, err)
	assert.Equal(t, "before Linux 6.4 its histograms count texts by where they are", reason)
}
