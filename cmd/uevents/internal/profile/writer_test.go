package profile

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
)

//go:noinline
func handleRequest(report func()) { report() }

//go:noinline
func retry(report func()) {
	for range 1 {
		report()
	}
}

var at = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// eventHere is an event of this process, with the caller's stack in the kernel's form.
func eventHere(n int, fields ...record.Field) *record.Record {
	pcs := make([]uintptr, 32)
	pcs = pcs[:runtime.Callers(2, pcs)]
	ev := &record.Record{
		System: "user_events", Name: "myapp_error", PID: int32(os.Getpid()), Time: at.Add(time.Duration(n) * time.Second),
		Process: &record.Process{PID: int32(os.Getpid()), Comm: "my\napp"},
	}
	ev.SetFields(fields)
	for _, pc := range pcs {
		ev.Callchain = append(ev.Callchain, uint64(pc))
	}
	return ev
}

func field(name string, v record.Value) record.Field { return record.Field{Name: name, Value: v} }

// write writes a profile of some stacks: 30 times handleRequest, 12 times retry, 5 events without a stack.
func write(t *testing.T, weight string) (*bytes.Buffer, error) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, symbols.New(), weight)
	for i := range 30 {
		handleRequest(func() {
			assert.NoError(t, w.Write(eventHere(i, field("bytes", record.Int64Value(int64(i))), field("text", record.StringValue("x")))))
		})
	}
	for i := range 12 {
		retry(func() { assert.NoError(t, w.Write(eventHere(i, field("bytes", record.Float64Value(2.9))))) })
	}
	for range 5 {
		ev := eventHere(3)
		ev.Callchain = nil
		assert.NoError(t, w.Write(ev))
	}
	assert.NoError(t, w.Lost("user_events:myapp_error", 3, at))
	assert.NoError(t, w.Lost("user_events:myapp_error", 4, at))
	return &b, w.Close()
}

// parse reads a profile, which must be valid.
func parse(t *testing.T, r io.Reader) *profile.Profile {
	t.Helper()
	p, err := profile.Parse(r)
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	return p
}

// perFunction returns the sums of samples by their innermost function in this file.
func perFunction(p *profile.Profile, value int) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Sample {
		name := s.Location[0].Line[0].Function.Name
		for _, l := range s.Location {
			if n := l.Line[0].Function.Name; strings.HasSuffix(n, ".handleRequest") || strings.HasSuffix(n, ".retry") {
				name = n[strings.LastIndex(n, ".")+1:]
				break
			}
		}
		sums[name] += s.Value[value]
	}
	return sums
}

func TestCounts(t *testing.T) {
	b, err := write(t, "")
	require.NoError(t, err)
	p := parse(t, b)
	assert.Equal(t, map[string]int64{"handleRequest": 30, "retry": 12, "[no stack]": 5}, perFunction(p, 0))
	assert.Equal(t, []string{"7 records of user_events:myapp_error were lost"}, p.Comments)
	assert.Equal(t, at.UnixNano(), p.TimeNanos)
	assert.Equal(t, []string{"user_events:myapp_error"}, p.Sample[0].Label["event"])
	assert.Equal(t, []string{`my\napp`}, p.Sample[0].Label["process"])
	assert.Equal(t, []int64{int64(os.Getpid())}, p.Sample[0].NumLabel["pid"])
	assert.Len(t, p.Sample, 3, "the same stacks are one sample")
}

// TestHostileNames: names of events, which programs choose, have no escape sequences.
func TestHostileNames(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, nil, "")
	require.NoError(t, w.Write(&record.Record{System: "user_events", Name: "a\x1b[2J"}))
	require.NoError(t, w.Lost("user_events:a\x1b[2J", 3, time.Time{}))
	require.NoError(t, w.Close())
	p := parse(t, &b)
	assert.Equal(t, map[string][]string{"event": {`user_events:a\x1b[2J`}}, p.Sample[0].Label)
	assert.Equal(t, []string{`3 records of user_events:a\x1b[2J were lost`}, p.Comments)
}

// TestProgram: pprof names a profile after its first mapping, which is the program of the first event, and not the library
// that its innermost frame is in.
func TestProgram(t *testing.T) {
	table := symbols.NewRecorded()
	table.Map(7, symbols.Mapping{Start: 0x1000, End: 0x2000, Path: "/lib/libc.so.6"})
	var b bytes.Buffer
	w := NewWriter(&b, table, "")
	for _, exe := range []string{"/usr/bin/shop", "", "/usr/bin/other"} {
		ev := &record.Record{Name: "a", PID: 7, Process: &record.Process{PID: 7, Exe: exe}, Callchain: []uint64{0x1001}}
		require.NoError(t, w.Write(ev))
	}
	require.NoError(t, w.Close())
	p := parse(t, &b)
	var files []string
	for _, m := range p.Mapping {
		files = append(files, m.File)
	}
	assert.Equal(t, []string{"/usr/bin/shop", "/lib/libc.so.6"}, files)
}

func TestWeight(t *testing.T) {
	b, err := write(t, "bytes")
	require.NoError(t, err)
	p := parse(t, b)
	assert.Equal(t, map[string]int64{"handleRequest": 30, "retry": 12, "[no stack]": 5}, perFunction(p, 0))
	assert.Equal(t, map[string]int64{"handleRequest": 29 * 30 / 2, "retry": 24, "[no stack]": 0}, perFunction(p, 1))
	assert.Equal(t, "bytes", p.DefaultSampleType)

	for _, name := range []string{"text", "nothing"} {
		b, err := write(t, name)
		assert.ErrorContains(t, err, name)
		assert.Zero(t, b.Len())
	}
}

// TestDuration: a span's duration is a weight, though decoded events do not have it as a field.
func TestDuration(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, symbols.New(), "duration_ns")
	ev := eventHere(0)
	ev.Kind, ev.Duration = record.KindSpan, 250*time.Millisecond
	require.NoError(t, w.Write(ev))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	p := parse(t, &b)
	assert.Equal(t, []int64{1, 250_000_000}, p.Sample[0].Value)
	assert.Equal(t, "nanoseconds", p.SampleType[1].Unit)
}

// TestExtremes: numbers that an int64 cannot have, and sums of them, are as large as it allows; what is no number does not
// count.
func TestExtremes(t *testing.T) {
	for name, c := range map[string]struct {
		values []record.Value
		want   int64
	}{
		"large uint64":   {[]record.Value{record.Uint64Value(1 << 63), record.Int64Value(-1)}, math.MaxInt64 - 1},
		"sum":            {[]record.Value{record.Int64Value(math.MaxInt64), record.Int64Value(5)}, math.MaxInt64},
		"negative sum":   {[]record.Value{record.Int64Value(math.MinInt64), record.Int64Value(-5)}, math.MinInt64},
		"both":           {[]record.Value{record.Int64Value(math.MinInt64), record.Int64Value(math.MaxInt64)}, -1},
		"1e300":          {[]record.Value{record.Float64Value(1e300)}, math.MaxInt64},
		"2^63":           {[]record.Value{record.Float64Value(1 << 63)}, math.MaxInt64},
		"-1e300":         {[]record.Value{record.Float64Value(-1e300)}, math.MinInt64},
		"infinity":       {[]record.Value{record.Float64Value(math.Inf(1))}, math.MaxInt64},
		"minus infinity": {[]record.Value{record.Float64Value(math.Inf(-1))}, math.MinInt64},
		"no number":      {[]record.Value{record.Float64Value(math.NaN()), record.Int64Value(7)}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := NewWriter(&b, symbols.NewRecorded(), "n")
			for i, v := range c.values {
				ev := &record.Record{Name: "a", PID: 1, Time: at.Add(time.Duration(i))}
				ev.SetFields([]record.Field{field("n", v)})
				require.NoError(t, w.Write(ev))
			}
			require.NoError(t, w.Close())
			p := parse(t, &b)
			assert.Equal(t, []int64{int64(len(c.values)), c.want}, p.Sample[0].Value)
		})
	}
	var b bytes.Buffer
	w := NewWriter(&b, symbols.NewRecorded(), "n")
	none := &record.Record{Name: "a"}
	none.SetFields([]record.Field{field("n", record.Float64Value(math.NaN()))})
	require.NoError(t, w.Write(none))
	assert.ErrorContains(t, w.Close(), "no event has the field")
}

// TestTimes: a profile begins at its earliest event and ends at its last one, in any order; without events it has no time.
func TestTimes(t *testing.T) {
	for name, c := range map[string]struct {
		seconds        []int
		time, duration int64
	}{
		"none": {},
		"one":  {[]int{0}, at.UnixNano(), 0},
		"late": {[]int{5, 9, -1}, at.Add(-time.Second).UnixNano(), int64(10 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := NewWriter(&b, symbols.NewRecorded(), "")
			for _, s := range c.seconds {
				require.NoError(t, w.Write(&record.Record{Name: "a", Time: at.Add(time.Duration(s) * time.Second)}))
			}
			require.NoError(t, w.Write(&record.Record{Name: "without a time"}))
			if len(c.seconds) == 0 {
				w = NewWriter(&b, symbols.NewRecorded(), "")
			}
			require.NoError(t, w.Close())
			p := parse(t, &b)
			assert.Equal(t, c.time, p.TimeNanos)
			assert.Equal(t, c.duration, p.DurationNanos)
		})
	}
}

// TestMemory: what stacks take is limited, too: when there is no room left, further ones are counted together.
func TestMemory(t *testing.T) {
	w := NewWriter(io.Discard, symbols.NewRecorded(), "")
	ev := &record.Record{System: "user_events", Name: "a", PID: -1, Callchain: make([]uint64, 127)}
	write := func(first uint64) {
		for i := range ev.Callchain {
			ev.Callchain[i] = first + uint64(i) + 1
		}
		before := len(w.samples)
		room := w.room
		require.NoError(t, w.Write(ev))
		assert.Equal(t, len(w.samples) > before, w.room < room, "a new stack takes memory")
	}
	for i := range uint64(20) {
		if i == 8 {
			w.room = 1 // for the last stack
		}
		for range 2 {
			write(i * 1000)
		}
	}
	require.Len(t, w.profile.Sample, 10)
	assert.Equal(t, int64(2), w.profile.Sample[8].Value[0])
	assert.Equal(t, int64(22), w.samples["other"].Value[0])
	// Each name, and each place, has a size.
	assert.Less(t, w.room, -127*2*sizeOfPlace)
	require.NoError(t, w.Close())
}

// TestSpans: samples have the ids of traces and spans, as many as there are places for, and no stack is missing because of them.
func TestSpans(t *testing.T) {
	testscale.HostOnly(t)
	var b bytes.Buffer
	w := NewWriter(&b, symbols.New(), "")
	ev := &record.Record{System: "user_events", Name: "a", PID: 7, Process: &record.Process{PID: 7, Comm: "shop"}, Callchain: []uint64{1}}
	write := func(stack uint64, trace, span byte) {
		ev.Callchain[0], ev.TraceID, ev.SpanID = stack, [16]byte{15: trace}, [8]byte{7: span}
		require.NoError(t, w.Write(ev))
	}
	write(1, 1, 1)
	write(1, 1, 1)
	write(1, 1, 2)
	write(2, 1, 1)
	write(2, 3, 0)
	write(3, 0, 0)
	const others = maxSpans + 1000 - 4
	for i := range others {
		ev.TraceID, ev.SpanID = [16]byte{0: 1, 14: byte(i >> 8), 15: byte(i)}, [8]byte{1}
		require.NoError(t, w.Write(ev))
	}
	write(4, 9, 9)
	require.NoError(t, w.Close())
	p := parse(t, &b)
	assert.Len(t, p.Sample, maxSpans+2, "without ids are stacks 3 and 4")
	assert.Equal(t, []string{"1001 records have no trace_id and span_id: these are of 16384 spans at most"}, p.Comments)
	total := int64(0)
	counts := map[string]int64{}
	for _, s := range p.Sample {
		total += s.Value[0]
		assert.Equal(t, []string{"shop"}, s.Label["process"])
		counts[strings.Join(append(s.Label["trace_id"], s.Label["span_id"]...), " ")+" "+s.Location[0].Line[0].Function.Name] += s.Value[0]
	}
	assert.EqualValues(t, 6+others+1, total)
	const one = "00000000000000000000000000000001 "
	assert.EqualValues(t, 2, counts[one+"0000000000000001 0x1"])
	assert.EqualValues(t, 1, counts[one+"0000000000000002 0x1"])
	assert.EqualValues(t, 1, counts[one+"0000000000000001 0x2"])
	assert.EqualValues(t, 1, counts["00000000000000000000000000000003 0x2"])
	assert.EqualValues(t, 1001, counts[" 0x3"])
	assert.EqualValues(t, 1, counts[" 0x4"])
}

// TestNegativeDuration: a span whose clock was set does not make the others shorter.
func TestNegativeDuration(t *testing.T) {
	w := NewWriter(io.Discard, symbols.NewRecorded(), "duration_ns")
	for _, d := range []time.Duration{5, -3, math.MinInt64} {
		require.NoError(t, w.Write(&record.Record{Name: "a", Kind: record.KindSpan, Duration: d}))
	}
	require.NoError(t, w.Close())
	assert.Equal(t, []int64{3, 5}, w.profile.Sample[0].Value)
}

// TestLimit: memory does not grow with the number of stacks.
func TestLimit(t *testing.T) {
	testscale.HostOnly(t)
	var b bytes.Buffer
	w := NewWriter(&b, symbols.New(), "")
	ev := &record.Record{System: "user_events", Name: "a", PID: -1}
	for i := range uint64(maxSamples + 100) {
		ev.Callchain = []uint64{i % 1000, i}
		require.NoError(t, w.Write(ev))
	}
	assert.Len(t, w.samples, maxSamples+1)
	assert.Equal(t, int64(100), w.samples["other"].Value[0])
}

// TestPprof: go tool pprof shows the function by name, and its number of log records.
func TestPprof(t *testing.T) {
	testscale.HostOnly(t)
	b, err := write(t, "")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "errors.pb.gz")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	out, err := exec.Command("go", "tool", "pprof", "-top", "-cum", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, n := range map[string]string{"handleRequest": "30", "retry": "12"} {
		assert.Regexp(t, regexp.MustCompile(`(?m)^ *\d+ +[\d.]+% +[\d.]+% +`+n+` +[\d.]+%  \S*profile\.`+name+`$`), string(out))
	}
	assert.Contains(t, string(out), "of 47 total")

	var spans bytes.Buffer
	w := NewWriter(&spans, symbols.New(), "")
	ev := eventHere(0)
	for i := range byte(3) {
		ev.TraceID, ev.SpanID = [16]byte{10: 0xab}, [8]byte{7: i / 2}
		require.NoError(t, w.Write(ev))
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(file, spans.Bytes(), 0o600))
	out, err = exec.Command("go", "tool", "pprof", "-tags", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `trace_id: Total 3 of 3 .*\n +3 .*: 00000000000000000000ab0000000000\n`, string(out))
	assert.Regexp(t, `span_id: Total 1 of 3 .*\n +1 .*: 0000000000000001\n`, string(out))
}
