package cli

import (
	"bytes"
	"encoding/binary"
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

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
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
	h := &histogram{Event: "user_events:h", By: "route", Sum: "ns", signed: true}
	require.NoError(t, h.parse(histByText))
	assert.Equal(t, []histRow{{"/users/{id}", 3, 3600000}, {"/login", 3, 42000000}, {`/a } hitcount: 5\n{ route: x`, 3, -21}}, h.Rows)

	h = &histogram{Event: "user_events:h", By: "route", Sum: "ns"}
	require.NoError(t, h.parse(histByText))
	assert.Equal(t, float64(math.MaxUint64-20), h.Rows[2].Sum, "of a field without sign")

	h = &histogram{By: "status"}
	require.NoError(t, h.parse(histByNumber))
	assert.Equal(t, []histRow{{"500", 3, 0}, {"200", 6, 0}}, h.Rows)
	assert.EqualValues(t, 4, h.Dropped)

	h = &histogram{By: "status"}
	require.NoError(t, h.parse(histEmpty))
	assert.Empty(t, h.Rows)
	assert.NotNil(t, h.Rows)

	// Without a sum, a program's text can equal an entry of the kernel.
	forged := bytes.ReplaceAll([]byte(histByText), []byte("  ns:    3600000"), nil)
	h = &histogram{Event: "user_events:h", By: "route"}
	assert.ErrorContains(t, h.parse(string(forged)), "cannot be told apart")
	assert.ErrorContains(t, h.parse("# event histogram\n"), "not understood")
	assert.ErrorContains(t, h.parse(""), "not understood")
}

// TestParseTextsOfLines: texts of a program that end in what an entry ends in neither make rows, nor hide any.
func TestParseTextsOfLines(t *testing.T) {
	const head, totals = "# x\n\n", "\nTotals:\n    Hits: 5\n    Entries: 1\n    Dropped: 0\n"
	var out bytes.Buffer
	e := &env{out: &out, err: io.Discard}

	// There are no entries of 0 hits.
	h := &histogram{Event: "user_events:h", By: "route"}
	require.NoError(t, h.parse(head+"{ route: a } hitcount:          0\nzz     } hitcount:          5\n"+totals))
	assert.Equal(t, []histRow{{`a } hitcount:          0\nzz`, 5, 0}}, h.Rows)
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
		h := &histogram{Event: "user_events:h", By: "route"}
		assert.ErrorContains(t, h.parse(head+body+end), "cannot be told apart", name)
	}

	// Whatever is counted, printing it ends well.
	require.NoError(t, e.printHistogram(&histogram{By: "route", Sum: "ns", Rows: []histRow{{"a", 0, 0}}}, 0))
}

func TestPrintHistogram(t *testing.T) {
	var out, errs bytes.Buffer
	e := &env{out: &out, err: &errs}
	h := &histogram{By: "route", Sum: "latency_ns", Counted: "in-kernel", Seconds: 10.02, Rows: []histRow{
		{"/users/{id}", 81204, 97_444_800_000}, {"/login", 9311, 130_354_000_000}, {"/x", 1, -5},
	}}
	require.NoError(t, e.printHistogram(h, 2))
	assert.Equal(t, `ROUTE          HITS    MEAN  TOTAL  in-kernel, 10.0 s
/users/{id}  81,204  1.20ms  97.4s  ####################
/login        9,311  14.0ms   130s  ###
1 more value not shown: --rows 0
`, out.String())
	assert.Empty(t, errs.String())

	out.Reset()
	h = &histogram{By: "status", Counted: "in uevents", Reason: "a\nb", Seconds: 1, Dropped: 1234, Rows: []histRow{{"200", 3, 0}}}
	require.NoError(t, e.printHistogram(h, 0))
	assert.Equal(t, "STATUS  HITS  in uevents, 1.0 s\n200        3  ####################\n", out.String())
	assert.Equal(t, "counted here, not in the kernel: a\\nb\n! 1,234 records are in no row: the table was full, or they were lost\n", errs.String())

	out.Reset()
	require.NoError(t, e.printHistogram(&histogram{By: "status", Counted: "in-kernel", Seconds: 1}, 20))
	assert.Equal(t, "STATUS  HITS  in-kernel, 1.0 s\n", out.String())
}

// TestManyValues: a field that is different in each record takes no more memory than in the kernel.
func TestManyValues(t *testing.T) {
	var rows histRows
	for range 2 {
		for n := range maxHistRows + 3 {
			rows.add(strconv.Itoa(n), 2)
		}
	}
	list := rows.list()
	assert.Len(t, list, maxHistRows)
	assert.Contains(t, list, histRow{"0", 2, 4})
	assert.EqualValues(t, 6, rows.dropped)
	assert.Equal(t, []histRow{}, new(histRows).list(), "an empty list in JSON")
}

// TestLongValues: long values take no more memory than many.
func TestLongValues(t *testing.T) {
	var rows histRows
	value := strings.Repeat("x", 1<<10)
	for n := range maxHistRows {
		rows.add(strconv.Itoa(n)+value, 1)
	}
	assert.LessOrEqual(t, rows.bytes, maxHistBytes)
	assert.Greater(t, rows.bytes, maxHistBytes/2)
	assert.EqualValues(t, maxHistRows-len(rows.rows), rows.dropped)
	rows.add("0"+value, 1)
	assert.EqualValues(t, 2, rows.rows["0"+value].Hits, "values that have a row are counted")
}

// TestSummedNumbers: numbers of all types are summed up, and what is no finite number changes no sum.
func TestSummedNumbers(t *testing.T) {
	for _, c := range []struct {
		value reader.Value
		want  float64
		ok    bool
	}{
		{reader.Uint64Value(math.MaxUint64), math.MaxUint64, true},
		{reader.Int64Value(-3), -3, true},
		{reader.Float64Value(0.5), 0.5, true},
		{reader.Float64Value(math.NaN()), 0, false},
		{reader.Float64Value(math.Inf(-1)), 0, false},
		{reader.StringValue("7"), 0, false},
	} {
		n, ok := number(c.value)
		assert.Equal(t, []any{c.want, c.ok}, []any{n, ok})
	}

	format, err := tracepoint.ParseFormat(`name: n
ID: 5
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u64 unsigned;	offset:8;	size:8;	signed:0;
	field:s64 signed;	offset:16;	size:8;	signed:1;

print fmt: "x"
`)
	require.NoError(t, err)
	fields, err := fieldReaderOf(format)
	require.NoError(t, err)
	raw := binary.NativeEndian.AppendUint64(make([]byte, tracepoint.CommonSize), math.MaxUint64)
	raw = binary.NativeEndian.AppendUint64(raw, math.MaxUint64)
	for name, want := range map[string]float64{"unsigned": math.MaxUint64, "signed": -1, "none": 0} {
		_, sum, ok := fields.read(raw, &histFlags{by: "signed", sum: name})
		assert.True(t, ok)
		assert.Equal(t, want, sum, name)
	}
	if f := (&histFlags{by: "signed", sum: "unsigned"}); !testscale.Race {
		assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { fields.read(raw, f) }), 3.0, "texts of the key")
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
	kernel := &histogram{By: "latency_ns"}
	require.NoError(t, kernel.parse(text))
	var rows histRows
	for _, v := range []int64{0, 1, 2, 3, 4, 5, 1_000_000, math.MaxInt64, -1, -5} {
		rows.add(log2Key(v), 0)
	}
	for _, h := range []*histogram{kernel, {Rows: rows.list()}} {
		assert.NoError(t, h.ranges(&histFlags{by: "latency_ns"}))
		assert.Equal(t, []histRow{{"up to 1", 2, 0}, {"2..2", 1, 0}, {"3..4", 2, 0}, {"5..8", 1, 0}, {"524289..1048576", 1, 0}, {"above 4611686018427387904", 1, 0}, {"negative, or above 2^63", 2, 0}}, h.Rows)
	}

	h := &histogram{By: "latency_ns", Counted: "in-kernel", Rows: []histRow{{log2Key(-5), 1, 0}, {log2Key(math.MaxInt64), 1, 0}, {"~ 2^20", 10, 0}, {"~ 2^0", 1, 0}}}
	require.NoError(t, h.ranges(&histFlags{by: "latency_ns", format: "text"}))
	var out bytes.Buffer
	require.NoError(t, (&env{out: &out}).printHistogram(h, 0))
	assert.Equal(t, `LATENCY_NS               HITS  in-kernel, 0.0 s
up to 1ns                   1  ##
524us..1.05ms              10  ####################
above 1281023h53m38s        1  ##
negative, or above 2^63     1  ##
`, out.String())
	assert.ErrorContains(t, (&histogram{Rows: []histRow{{"7", 1, 0}}}).ranges(&histFlags{}), "not understood")
}

// TestSumOfNoNumber: attributes are summed up if they are numbers; records without one are counted.
func TestSumOfNoNumber(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	tool, err := k.Attach(ueventstest.Perf, "*")
	require.NoError(t, err)
	slog.New(h).Info("served", "route", "/users", "bytes", 12)
	slog.New(h).Info("served", "route", "/users", "bytes", "none")
	slog.New(h).Info("served", "route", "/users")
	slog.New(h).Info("served")
	records := tool.Records()
	require.Len(t, records, 4)
	text, err := k.Format(records[0].Event)
	require.NoError(t, err)
	format, err := tracepoint.ParseFormat(text)
	require.NoError(t, err)
	d, err := fieldReaderOf(format)
	require.NoError(t, err)
	var sums []float64
	for _, r := range records {
		_, sum, ok := d.read(append(make([]byte, tracepoint.CommonSize), r.Payload...), &histFlags{by: "route", sum: "bytes"})
		assert.Equal(t, len(sums) < 3, ok)
		sums = append(sums, sum)
	}
	assert.Equal(t, []float64{12, 0, 0, 0}, sums)
	assert.EqualValues(t, 2, d.unsummed)
	_, _, ok := d.read(append(make([]byte, tracepoint.CommonSize), records[0].Payload...), &histFlags{by: "route"})
	assert.True(t, ok)
	assert.EqualValues(t, 2, d.unsummed, "nothing is summed up")

	log2 := &histFlags{by: "bytes", log2: true}
	key, _, ok := d.read(append(make([]byte, tracepoint.CommonSize), records[0].Payload...), log2)
	assert.True(t, ok)
	assert.Equal(t, "~ 2^4", key)
	_, _, ok = d.read(append(make([]byte, tracepoint.CommonSize), records[1].Payload...), log2)
	assert.False(t, ok, "a text is in no range")
	for v, want := range map[float64]string{0.25: "~ 2^0", -0.5: "~ 2^0", 4.5: "~ 2^3", 8: "~ 2^3", -2: "~ 2^64"} {
		slog.New(h).Info("served", "bytes", v)
		key, _, _ := d.read(append(make([]byte, tracepoint.CommonSize), tool.Records()[0].Payload...), log2)
		assert.Equal(t, want, key, v)
	}
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
	assert.Equal(t, "1.235e+06", amount("bytes", 1_234_567))
}

// FuzzHistogram: the kernel's text has texts of programs. What is accepted adds up, and prints as lines of printable
// characters.
func FuzzHistogram(f *testing.F) {
	f.Add(histByText, "route", "ns")
	f.Add(histByNumber, "status", "")
	f.Add(histEmpty, "status", "")
	f.Fuzz(func(t *testing.T, text, by, sum string) {
		h := &histogram{Event: "user_events:h", By: by, Sum: sum}
		if h.parse(text) != nil {
			return
		}
		for _, row := range h.Rows {
			require.Positive(t, row.Hits)
			for _, c := range row.Key {
				require.True(t, unicode.IsPrint(c), "%q", row.Key)
			}
		}
	})
}

func fieldReaderOf(format tracepoint.Format) (*fieldReader, error) {
	d, err := reader.NewDecoder(tracepoint.System, format)
	if err != nil {
		return nil, err
	}
	return newFieldReader(d)
}
