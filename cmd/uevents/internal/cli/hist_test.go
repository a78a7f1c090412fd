package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// The texts are from Linux 6.12, for three routes, one of which imitates an entry.
const (
	histByText = `# event histogram
#
# trigger info: hist:keys=route:vals=hitcount,ns:sort=hitcount:size=256 if status > 1 [active]
#

{ route: /users/{id}                                        } hitcount:          3  ns:    3600000
{ route: /login                                             } hitcount:          3  ns:   42000000
{ route: /a } hitcount: 5
{ route: x                        } hitcount:          3  ns: 18446744073709551595

Totals:
    Hits: 9
    Entries: 3
    Dropped: 0
`
	histByNumber = `# event histogram
#
# trigger info: hist:keys=status:vals=hitcount:sort=hitcount:size=2048 [active]
#

{ status:        500 } hitcount:          3
{ status:        200 } hitcount:          6

Totals:
    Hits: 9
    Entries: 2
    Dropped: 4
`
	histEmpty = `# event histogram
#
# trigger info: hist:keys=status:vals=hitcount:sort=hitcount:size=2048 [active]
#


Totals:
    Hits: 0
    Entries: 0
    Dropped: 0
`
)

func TestParseHistogram(t *testing.T) {
	task := &histTask{by: byRoute.by, sum: "ns", signed: true}
	h := &histogram{Event: "user_events:h", By: []string{"route"}, Sum: "ns"}
	require.NoError(t, h.parse(histByText, task))
	assert.Equal(t, []histRow{histRowOf(3, -21, `/a } hitcount: 5\n{ route: x`), histRowOf(3, 42000000, "/login"), histRowOf(3, 3600000, "/users/{id}")}, h.Rows)

	task.signed = false
	h = &histogram{Event: "user_events:h", By: []string{"route"}, Sum: "ns"}
	require.NoError(t, h.parse(histByText, task))
	assert.Equal(t, float64(math.MaxUint64-20), h.Rows[0].Sum, "of a field without sign")

	h = &histogram{By: []string{"status"}}
	require.NoError(t, h.parse(histByNumber, byStatus))
	assert.Equal(t, []histRow{histRowOf(6, 0, "200"), histRowOf(3, 0, "500")}, h.Rows)
	assert.EqualValues(t, 4, h.Dropped)

	h = &histogram{By: []string{"status"}}
	require.NoError(t, h.parse(histEmpty, byStatus))
	assert.Empty(t, h.Rows)
	assert.NotNil(t, h.Rows)

	// Without a sum, a program's text can equal an entry of the kernel.
	forged := bytes.ReplaceAll([]byte(histByText), []byte("  ns:    3600000"), nil)
	h = &histogram{Event: "user_events:h", By: []string{"route"}}
	assert.ErrorContains(t, h.parse(string(forged), byRoute), "cannot be told apart")
	assert.ErrorContains(t, h.parse("# event histogram\n", byRoute), "not understood")
	assert.ErrorContains(t, h.parse("", byRoute), "not understood")
}

// TestHistogramOfNothing: what a histogram without rows says.
func TestHistogramOfNothing(t *testing.T) {
	for want, h := range map[string]*histogram{
		"! no record meets the condition\n":         {By: []string{"status"}, condition: true},
		"! none of 7 records meets the condition\n": {By: []string{"status"}, condition: true, Unselected: 7},
		"": {By: []string{"status"}},
		"! 2 records without mesage: in no row; did you mean message?\n":                            {By: []string{"mesage"}, Without: 2, Unselected: 7},
		"! 2 records without a number in duratoin: not in MEAN and TOTAL; did you mean duration?\n": {By: []string{"x"}, Sum: "duratoin", Unsummed: 2, Rows: []histRow{histRowOf(2, 0, "y")}},
	} {
		var errs strings.Builder
		e := new(feed).env(t, io.Discard, &errs)
		require.NoError(t, e.printHistogram(h, 0))
		assert.Equal(t, want, errs.String())
	}
}

// TestParseTextsOfLines: texts of a program that end in what an entry ends in neither make rows, nor hide any.
func TestParseTextsOfLines(t *testing.T) {
	const head, totals = "# x\n\n", "\nTotals:\n    Hits: 5\n    Entries: 1\n    Dropped: 0\n"
	var out bytes.Buffer
	e := &env{out: &out, err: io.Discard}

	// There are no entries of 0 hits.
	h := &histogram{Event: "user_events:h", By: []string{"route"}}
	require.NoError(t, h.parse(head+"{ route: a } hitcount:          0\nzz     } hitcount:          5\n"+totals, byRoute))
	assert.Equal(t, []histRow{histRowOf(5, 0, `a } hitcount:          0\nzz`)}, h.Rows)
	require.NoError(t, e.printHistogram(h, 0))

	for name, body := range map[string]string{
		"what follows is no entry":   "{ route: a } hitcount:          5\nzz     } hitcount:          5\n",
		"the only one has 0 hits":    "{ route: a } hitcount:          0\n",
		"one more than the totals":   "{ route: a } hitcount:          6\n",
		"far less than the totals":   "{ route: a } hitcount:          5\n",
		"a number beyond all others": "{ route: a } hitcount: 99999999999999999999\n",
	} {
		end := totals
		if name == "far less than the totals" {
			end = strings.Replace(totals, "Hits: 5", "Hits: 500000", 1)
		}
		h := &histogram{Event: "user_events:h", By: []string{"route"}}
		assert.ErrorContains(t, h.parse(head+body+end, byRoute), "cannot be told apart", name)
	}

	// Whatever is counted, printing it ends well.
	require.NoError(t, e.printHistogram(&histogram{By: []string{"route"}, Sum: "ns", Rows: []histRow{histRowOf(0, 0, "a")}}, 0))
}

func TestPrintHistogram(t *testing.T) {
	var out, errs bytes.Buffer
	e := &env{out: &out, err: &errs}
	h := &histogram{By: []string{"route"}, Sum: "latency_ns", Counted: "in-kernel", Seconds: 10.02, Rows: []histRow{
		histRowOf(81204, 97_444_800_000, "/users/{id}"), histRowOf(9311, 130_354_000_000, "/login"), histRowOf(1, -5, "/x"),
	}}
	require.NoError(t, e.printHistogram(h, 2))
	assert.Equal(t, `ROUTE          HITS    MEAN  TOTAL  in-kernel, 10.0 s
/users/{id}  81,204  1.20ms  97.4s  ####################
/login        9,311  14.0ms   130s  ###
1 more value not shown: --rows 0
`, out.String())
	assert.Empty(t, errs.String())

	out.Reset()
	h = &histogram{By: []string{"status"}, Counted: "in uevents", Reason: "a\nb", Seconds: 1, Dropped: 1234, Rows: []histRow{histRowOf(3, 0, "200")}}
	require.NoError(t, e.printHistogram(h, 0))
	assert.Equal(t, "STATUS  HITS  in uevents, 1.0 s\n200        3  ####################\n", out.String())
	assert.Equal(t, "counted here, not in the kernel: a\\nb\n! 1,234 records are in no row: the table was full, or they were lost\n", errs.String())

	// A mean is of the records that have the number.
	out.Reset()
	errs.Reset()
	h = &histogram{By: []string{"name"}, Sum: "bytes", Counted: "in uevents", Reason: "a", Seconds: 1, Without: 1, Unsummed: 1205, Rows: []histRow{
		{Keys: []string{"a"}, Hits: 1200, Sum: 30, Numbers: 3}, {Keys: []string{"b"}, Hits: 8},
	}}
	require.NoError(t, e.printHistogram(h, 0))
	assert.Equal(t, `NAME   HITS  MEAN  TOTAL  in uevents, 1.0 s
a     1,200    10     30  ####################
b         8     -      -  #
`, out.String())
	assert.Equal(t, `counted here, not in the kernel: a
! 1 record without name: in no row
! 1,205 records without a number in bytes: not in MEAN and TOTAL
`, errs.String())
	b, err := json.Marshal(h)
	require.NoError(t, err)
	assert.JSONEq(t, `{"event": "", "by": ["name"], "sum": "bytes", "counted": "in uevents", "reason": "a", "seconds": 1, "dropped": 0, "without": 1,
		"unsummed": 1205, "rows": [{"keys": ["a"], "hits": 1200, "sum": 30, "numbers": 3}, {"keys": ["b"], "hits": 8, "sum": 0}]}`, string(b))

	out.Reset()
	require.NoError(t, e.printHistogram(&histogram{By: []string{"status"}, Counted: "in-kernel", Seconds: 1}, 20))
	assert.Equal(t, "STATUS  HITS  in-kernel, 1.0 s\n", out.String())
}

// TestManyValues: a field that is different in each record takes no more memory than in the kernel.
func TestManyValues(t *testing.T) {
	var rows histRows
	for range 2 {
		for n := range maxHistRows + 3 {
			rows.add(histRow{Keys: []string{strconv.Itoa(n)}, Hits: 1, Sum: 2, Numbers: 1})
		}
	}
	list := rows.list()
	assert.Len(t, list, maxHistRows)
	assert.Contains(t, list, histRowOf(2, 4, "0"))
	assert.EqualValues(t, 6, rows.dropped)
	assert.Equal(t, []histRow{}, new(histRows).list(), "an empty list in JSON")
}

// TestLongValues: long values take no more memory than many.
func TestLongValues(t *testing.T) {
	var rows histRows
	value := strings.Repeat("x", 1<<10)
	for n := range maxHistRows {
		rows.add(histRow{Keys: []string{strconv.Itoa(n) + value}, Hits: 1})
	}
	assert.LessOrEqual(t, rows.bytes, maxHistBytes)
	assert.Greater(t, rows.bytes, maxHistBytes/2)
	assert.EqualValues(t, maxHistRows-len(rows.rows), rows.dropped)
	rows.add(histRow{Keys: []string{"0" + value}, Hits: 1})
	assert.EqualValues(t, 2, rows.rows["0"+value].Hits, "values that have a row are counted")
}

// TestSummedNumbers: numbers of all types are summed up, and what is no finite number changes no sum.
func TestSummedNumbers(t *testing.T) {
	for _, c := range []struct {
		value record.Value
		want  float64
		ok    bool
	}{
		{record.Uint64Value(math.MaxUint64), math.MaxUint64, true},
		{record.Int64Value(-3), -3, true},
		{record.Float64Value(0.5), 0.5, true},
		{record.Float64Value(math.NaN()), 0, false},
		{record.Float64Value(math.Inf(-1)), 0, false},
		{record.StringValue("0.5"), 0.5, true},
		{record.StringValue("7 users"), 0, false},
		{record.BoolValue(true), 0, false},
	} {
		n, ok := number(c.value)
		assert.Equal(t, []any{c.want, c.ok}, []any{n, ok})
	}
}

// TestRowOrder: rows with as many hits are in the order of their numbers.
func TestRowOrder(t *testing.T) {
	keys := []string{"b", "9", "10", "-1", "a", "100"}
	slices.SortFunc(keys, compareKeys)
	assert.Equal(t, []string{"-1", "9", "10", "100", "a", "b"}, keys)
}

// TestLog2: ranges are in their order, and have the limits of the kernel's.
func TestLog2(t *testing.T) {
	// From Linux 6.12.
	const text = `# event histogram
#
# trigger info: hist:keys=latency_ns.log2:vals=hitcount:sort=hitcount:size=8192 [active]
#

{ latency_ns: ~ 2^3  } hitcount:          1
{ latency_ns: ~ 2^1  } hitcount:          1
{ latency_ns: ~ 2^20 } hitcount:          1
{ latency_ns: ~ 2^63 } hitcount:          1
{ latency_ns: ~ 2^64 } hitcount:          2
{ latency_ns: ~ 2^2  } hitcount:          2
{ latency_ns: ~ 2^0  } hitcount:          2

Totals:
    Hits: 10
    Entries: 7
    Dropped: 0
`
	kernel := &histogram{By: []string{"latency_ns"}}
	require.NoError(t, kernel.parse(text, &histTask{by: []histField{fieldOf("u64", "latency_ns")}, log2: true}))
	var rows histRows
	for _, v := range []int64{0, 1, 2, 3, 4, 5, 1_000_000, math.MaxInt64, -1, -5} {
		rows.add(histRow{Keys: []string{log2Key(v)}, Hits: 1})
	}
	for _, h := range []*histogram{kernel, {Rows: rows.list()}} {
		assert.NoError(t, h.ranges(&histFlags{by: []string{"latency_ns"}}))
		assert.Equal(t, []histRow{histRowOf(2, 0, "up to 1"), histRowOf(1, 0, "2..2"), histRowOf(2, 0, "3..4"), histRowOf(1, 0, "5..8"), histRowOf(1, 0, "524289..1048576"), histRowOf(1, 0, "above 4611686018427387904"), histRowOf(2, 0, "negative, or above 2^63")}, h.Rows)
	}

	h := &histogram{By: []string{"latency_ns"}, Counted: "in-kernel", Rows: []histRow{histRowOf(1, 0, log2Key(-5)), histRowOf(1, 0, log2Key(math.MaxInt64)), histRowOf(10, 0, "~ 2^20"), histRowOf(1, 0, "~ 2^0")}}
	require.NoError(t, h.ranges(&histFlags{by: []string{"latency_ns"}, format: "text"}))
	var out bytes.Buffer
	require.NoError(t, (&env{out: &out}).printHistogram(h, 0))
	assert.Equal(t, `LATENCY_NS               HITS  in-kernel, 0.0 s
up to 1ns                   1  ##
524us..1.05ms              10  ####################
above 1281023h53m38s        1  ##
negative, or above 2^63     1  ##
`, out.String())
	assert.ErrorContains(t, (&histogram{Rows: []histRow{histRowOf(1, 0, "7")}}).ranges(&histFlags{}), "not understood")
}

// TestHistCounter: records are counted by parts, attributes, groups and fields of the tracepoint; those that lack one are counted.
func TestHistCounter(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	tool, err := k.Attach(ueventstest.Perf, "*")
	require.NoError(t, err)
	logger := slog.New(h)
	log := func() {
		logger.Info("served", "route", "/users", "bytes", 12, slog.Group("db", "table", "a"))
		logger.Info("served", "route", "/users", "bytes", "none")
		logger.Info("served", "route", "/users", "bytes", "0.5")
		logger.Log(t.Context(), 1, "other", slog.Group("db", "table", "b"))
		logger.Debug("debug")
	}
	decoders := map[string]*record.Decoder{}
	count := func(f *histFlags) (rows []histRow, c histCounter) {
		log()
		c = newHistCounter(f)
		for _, r := range tool.Records() {
			d := decoders[r.Event]
			if d == nil {
				d, err = record.NewDecoder(tracepoint.System, r.Declaration.Format())
				require.NoError(t, err)
				decoders[r.Event] = d
			}
			ev := record.Record{Decoder: d, Raw: append(make([]byte, tracepoint.CommonSize), r.Payload...)}
			raw := ev.Raw
			require.NoError(t, d.Decode(raw, &ev))
			ev.Raw = raw
			require.NoError(t, c.add(&ev))
		}
		rows = c.rows.list()
		slices.SortFunc(rows, func(a, b histRow) int { return slices.Compare(a.Keys, b.Keys) })
		for i := range rows {
			rows[i].sketch = sketch{}
		}
		return rows, c
	}
	rows, c := count(&histFlags{by: []string{"route"}, sum: "bytes"})
	assert.Equal(t, []histRow{{Keys: []string{"/users"}, Hits: 3, Sum: 12.5, Numbers: 2}}, rows)
	assert.Equal(t, []uint64{2, 1}, []uint64{c.without, c.unsummed})
	rows, _ = count(&histFlags{by: []string{"level"}})
	assert.Equal(t, []histRow{histRowOf(1, 0, "DEBUG"), histRowOf(3, 0, "INFO"), histRowOf(1, 0, "INFO2")}, rows)
	rows, _ = count(&histFlags{by: []string{"message", "db.table"}})
	assert.Equal(t, []histRow{histRowOf(1, 0, "debug", ""), histRowOf(1, 0, "other", "b"), histRowOf(2, 0, "served", ""), histRowOf(1, 0, "served", "a")}, rows, "- where one is missing")
	rows, _ = count(&histFlags{by: []string{"bytes"}, log2: true})
	assert.Equal(t, []histRow{histRowOf(1, 0, "~ 2^0"), histRowOf(1, 0, "~ 2^4")}, rows)
	rows, c = count(&histFlags{by: []string{"truncated"}, sum: "time_unix_nano", percentiles: true})
	require.Len(t, rows, 1)
	assert.Zero(t, c.unsummed)
	assert.InEpsilon(t, rows[0].Sum/5, rows[0].Percentiles.P50, 0.016)
}

// TestPercentiles: percentiles of numbers of all sizes are within 1.6 % of exact ones, in bounded memory.
func TestPercentiles(t *testing.T) {
	for name, of := range map[string]func(i int) float64{
		"integers": func(i int) float64 { return float64(i + 1) }, "fractions": func(i int) float64 { return 1 / float64(i+1) },
		"negative": func(i int) float64 { return float64(i) - 700 }, "huge": func(i int) float64 { return math.Ldexp(1.5, i) },
		"tiny": func(i int) float64 { return math.Ldexp(1.5, -i) }, "zero": func(int) float64 { return 0 }, "one": func(int) float64 { return 7 },
	} {
		var s sketch
		var all []float64
		for i := range 1000 {
			v := of(i)
			all = append(all, v)
			s.add(v, true)
		}
		slices.Sort(all)
		got := s.percentiles()
		for share, p := range map[float64]float64{0.5: got.P50, 0.9: got.P90, 0.99: got.P99, 1: got.Max} {
			want := all[int(math.Ceil(share*1000))-1]
			assert.InDelta(t, want, p, math.Abs(want)*0.016, "%s: %g", name, share)
		}
	}
	var s sketch
	for i := range 1000 {
		s.add(math.Ldexp(1, i), false)
	}
	assert.Len(t, s.buckets, 1)
	assert.EqualValues(t, 1000, s.total)
	assert.Nil(t, new(sketch).percentiles())
}

// TestAmount: sums of times have the units of package output, however large a program's numbers are.
func TestAmount(t *testing.T) {
	for _, c := range []struct {
		ns   float64
		want string
	}{
		{0, "0ns"},
		{12, "12ns"},
		{1_234_567, "1.23ms"},
		{-1_234_567, "-1.23ms"},
		{97_444_800_000, "97.4s"},
		{math.MaxInt64, "2562047h47m16.854775807s"},
		{math.MinInt64, "-2562047h47m16.854775807s"},
	} {
		assert.Equal(t, c.want, amount("latency_ns", c.ns))
	}
	assert.Equal(t, "1234567", amount("bytes", 1_234_567))
	assert.Equal(t, "1.235e+06", amount("bytes", 1_234_567.5))
}

// FuzzHistogram: the kernel's text has texts of programs. What is accepted adds up, and prints as lines of printable
// characters.
func FuzzHistogram(f *testing.F) {
	f.Add(histByText, "route", "ns")
	f.Add(histByNumber, "status", "")
	f.Add(histEmpty, "status", "")
	f.Fuzz(func(t *testing.T, text, by, sum string) {
		field := fieldOf("__data_loc char[]", "x")
		field.Name = by
		h := &histogram{Event: "user_events:h", By: []string{by}, Sum: sum}
		if h.parse(text, &histTask{by: []histField{field}, sum: sum}) != nil {
			return
		}
		for _, row := range h.Rows {
			require.Positive(t, row.Hits)
			for _, c := range row.Keys[0] {
				require.True(t, unicode.IsPrint(c), "%q", row.Keys[0])
			}
		}
	})
}

var (
	byRoute  = &histTask{by: []histField{fieldOf("__data_loc char[]", "route")}}
	byStatus = &histTask{by: []histField{fieldOf("u16", "status")}}
)

// fieldOf returns a field of a type.
func fieldOf(typ, name string) histField {
	return histField{tracepoint.MustParse("e " + typ + " " + name).Format().Fields[0], name}
}

// histRowOf returns a row whose records have all the number that is summed up, if there is a sum.
func histRowOf(hits uint64, sum float64, keys ...string) histRow {
	row := histRow{Keys: keys, Hits: hits, Sum: sum}
	if sum != 0 {
		row.Numbers = hits
	}
	return row
}
