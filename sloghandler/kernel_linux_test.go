package sloghandler_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func uniqueName() string { return fmt.Sprintf("slogtest_%d", time.Now().UnixNano()) }

// onKernel returns a handler on the machine's kernel, and the name that it has there.
func onKernel(t *testing.T) (*sloghandler.Handler, string) {
	name := uniqueName()
	h, err := sloghandler.New(name, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h, name
}

// TestFtrace: the kernel's own text shows message and attributes.
func TestFtrace(t *testing.T) {
	fs := kerneltest.Require(t)
	h, name := onKernel(t)
	log := slog.New(h).With("service", "shop")
	log.Info("too early")
	require.NoError(t, os.WriteFile(fs.Path("trace"), nil, 0)) // empties it
	require.NoError(t, fs.Event(name+"_info").Enable())
	require.True(t, h.Enabled(t.Context(), slog.LevelInfo))
	assert.False(t, h.Enabled(t.Context(), slog.LevelError))
	log.Info("request served", "method", "GET", slog.Group("user", "id", 7))
	log.Error("disabled level")
	require.NoError(t, fs.Event(name+"_info").Disable())
	assert.False(t, h.Enabled(t.Context(), slog.LevelInfo))
	log.Info("too late")

	text, dumped := kerneltest.TraceText(t, fs)
	if dumped {
		assert.Contains(t, text, "request served\x00")
		assert.Contains(t, text, `{"service":"shop","method":"GET","user":{"id":7}}`+"\x00")
	} else {
		assert.Regexp(t, name+`_info: .*level=(0x0 \(0\)|0) .*message=request served .*attributes=\{"service":"shop","method":"GET","user":\{"id":7\}\}`, text)
	}
	for _, no := range []string{"too early", "disabled level", "too late"} {
		assert.NotContains(t, text, no)
	}
}

// record logs while a tool records.
func record(t *testing.T, h *sloghandler.Handler, tool string, args ...string) {
	t.Helper()
	kerneltest.WhileRecording(t, func() {
		assert.True(t, h.Enabled(t.Context(), slog.LevelWarn))
		slog.New(h).Warn("disk almost full", "free", "3%", "n", 1)
	}, tool, args...)
	assert.False(t, h.Enabled(t.Context(), slog.LevelWarn), "detached")
}

// The text that other programs make of a record.
const witnessed = `%s_warn: +(time_unix_nano=\d+ )?.*level=(0x4 \(4\)|4) .*message=disk almost full .*attributes=\{"free":"3%%","n":\d+\}`

func TestPerf(t *testing.T) {
	kerneltest.RequireTool(t, "perf")
	h, name := onKernel(t)
	data := filepath.Join(t.TempDir(), "perf.data")
	record(t, h, "perf", "record", "-a", "-o", data, "-e", "user_events:"+name+"_warn", "--")
	out, err := exec.Command("perf", "script", "-i", data).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, fmt.Sprintf(witnessed, name), string(out))
}

func TestTraceCmd(t *testing.T) {
	kerneltest.RequireTool(t, "trace-cmd")
	h, name := onKernel(t)
	data := filepath.Join(t.TempDir(), "trace.dat")
	record(t, h, "trace-cmd", "record", "-o", data, "-e", "user_events:"+name+"_warn")
	out, err := exec.Command("trace-cmd", "report", "-i", data).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, fmt.Sprintf(witnessed, name), string(out))
}

var update = flag.Bool("update", false, "print the golden file of this kernel instead of comparing with it")

// odd is a message of what tools print in different ways.
const odd = "two\nlines\tand \x1b[31mred\x1b[0m, größer"

// TestPrinted: how ftrace, perf and trace-cmd print a message with control characters and letters beyond ASCII. The golden file is
// that of the guest's kernel.
func TestPrinted(t *testing.T) {
	fs := kerneltest.RequireTool(t, "perf")
	h, err := sloghandler.New("printed", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close()) }()

	require.NoError(t, os.WriteFile(fs.Path("trace"), nil, 0))
	require.NoError(t, fs.Event("printed_info").Enable())
	slog.New(h).Info(odd, "k", odd)
	require.NoError(t, fs.Event("printed_info").Disable())
	text, dumped := kerneltest.TraceText(t, fs)
	got := "ftrace:\n" + lines(text)
	if dumped { // before 6.4, of every record
		got = "ftrace:\n  a hex dump of the record\n"
	}

	dir := t.TempDir()
	for _, tool := range []struct {
		name         string
		record, show []string
	}{
		{"perf", []string{"record", "-q", "-a", "-e", "user_events:printed_info", "-o", dir + "/perf", "--"}, []string{"script", "-i", dir + "/perf"}},
		{"trace-cmd", []string{"record", "-q", "-e", "user_events:printed_info", "-o", dir + "/cmd"}, []string{"report", "-i", dir + "/cmd"}},
	} {
		kerneltest.WhileRecording(t, func() { slog.New(h).Info(odd, "k", odd) }, tool.name, tool.record...)
		out, err := exec.Command(tool.name, tool.show...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		got += tool.name + ":\n" + lines(string(out))
	}

	golden := filepath.Join("testdata", "printed-"+strings.TrimSuffix(testscale.Kernel(), "-uml")+".golden")
	if *update {
		t.Logf("%s is:\n%s", golden, got)
		return
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "make it with -update")
	assert.Equal(t, string(want), got)
}

// lines returns the first record of a tool's output, without what differs between runs: process, CPU and times.
func lines(out string) string {
	_, rest, found := strings.Cut(out, "printed_info: ")
	if !found {
		return "  nothing\n"
	}
	record := regexp.MustCompile(`(?s)^(.*?)(\n\S*-\d+ |\n *\S+ +\d+ \[|\n *\S+-\d+ +\[|\z)`).FindStringSubmatch(rest)[1]
	record = regexp.MustCompile(`time_unix_nano=(0x[0-9a-f]+ \(-?\d+\)|\d+)`).ReplaceAllString(record, "time_unix_nano=TIME")
	var b strings.Builder
	for line := range strings.Lines(record) {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// TestManyDuplicates: the cost of a log call does not grow with the square of its attributes.
func TestManyDuplicates(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{UniqueKeys: true})
	testscale.Linear(t, 500, func(n int) func() {
		tr.Records()
		attrs := make([]slog.Attr, n)
		for i := range attrs {
			attrs[i] = slog.Int(strconv.Itoa(i), i)
		}
		return func() { slog.New(h).LogAttrs(t.Context(), slog.LevelInfo, "m", attrs...) }
	})
	assert.NotEmpty(t, only(t, tr).attributes)
}

// declarationOf reads what the kernel has registered.
func declarationOf(t *testing.T, tfs *tracefs.Dir, event string) tracepoint.Declaration {
	t.Helper()
	f, err := tfs.Event(event).Format()
	require.NoError(t, err)
	d, err := f.Declaration()
	require.NoError(t, err)
	return d
}

func declaredOnKernel(t *testing.T) (*sloghandler.Handler, string) {
	t.Helper()
	name := uniqueName()
	h, err := sloghandler.New(name, &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{httpRequest}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h, name + "_http_request"
}

// requests are the records that the kernel filters and adds up.
var requests = []struct {
	route   string
	status  int
	latency time.Duration
}{
	{"/users/{id}", 200, 100},
	{"/users/{id}", 200, 300},
	{"/users/{id}", 500, 5000},
	{"/orders", 200, 1000},
	{"/orders", 503, 70},
	{"/orders", 499, 1},
	{"/orders", 503, 30},
}

func logRequests(h *sloghandler.Handler) {
	// From everywhere: bound, grouped, in the call.
	log := slog.New(h).With("method", "GET")
	for _, r := range requests {
		log.WithGroup("http").With("route", r.route).Info("http request", "status", r.status, "latency", r.latency, "more", true)
		log.Info("another record", "route", r.route, "status", r.status)
	}
}

// TestHistogram aggregates a declared record in the kernel.
func TestHistogram(t *testing.T) {
	tfs := kerneltest.Require(t)
	h, ev := declaredOnKernel(t)
	dir := tfs.Path("events", "user_events", ev)
	trigger := dir + "/trigger"
	if _, err := os.Stat(dir + "/hist"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("not on this kernel: no histograms of user events")
	}
	keys, row := "route,status", regexp.MustCompile(`\{ route: (.*?), status: +(\d+) \} hitcount: +(\d+) +latency_ns: +(\d+)`)
	want := []string{"/orders 200 1 1000", "/orders 499 1 1", "/orders 503 2 100", "/users/{id} 200 2 400", "/users/{id} 500 1 5000"}
	if uevents.Probe(nil).ABI != uevents.ABIEnableAddress {
		// These kernels take the location of a text for a number.
		keys, row = "status", regexp.MustCompile(`\{ ()status: +(\d+) \} hitcount: +(\d+) +latency_ns: +(\d+)`)
		want = []string{"200 3 1400", "499 1 1", "500 1 5000", "503 2 100"}
	}
	hist := "hist:keys=" + keys + ":vals=latency_ns:sort=status"
	require.NoError(t, os.WriteFile(trigger, []byte(hist), 0))
	defer func() { assert.NoError(t, os.WriteFile(trigger, []byte("!"+hist), 0)) }()
	require.NoError(t, tfs.Event(ev).Enable())
	defer func() { assert.NoError(t, tfs.Event(ev).Disable()) }()
	logRequests(h)
	table, err := os.ReadFile(dir + "/hist")
	require.NoError(t, err)
	var rows []string
	for _, m := range row.FindAllStringSubmatch(string(table), -1) {
		rows = append(rows, strings.Join(strings.Fields(strings.Join(m[1:], " ")), " "))
	}
	assert.ElementsMatch(t, want, rows, "%s", table)
}

// TestFilter lets the kernel keep the failed requests.
func TestFilter(t *testing.T) {
	tfs := kerneltest.Require(t)
	h, ev := declaredOnKernel(t)
	i := kerneltest.NewInstance(t, tfs, 64)
	require.NoError(t, i.Event(ev).SetFilter("status >= 500"))
	i.Attach(ev)
	logRequests(h)
	d := declarationOf(t, tfs, ev)
	var got []string
	for _, raw := range i.Records() {
		r := decode(t, d, raw.Payload)
		got = append(got, field(t, r, "route")+" "+field(t, r, "status")+" "+field(t, r, "latency_ns")+" "+field(t, r, "method"))
		assert.Equal(t, `{"http":{"more":true}}`, field(t, r, "attributes"))
	}
	// In any order: the goroutine may move between CPUs, whose clocks differ in a guest that has just booted.
	assert.ElementsMatch(t, []string{"/users/{id} 500 5000 GET", "/orders 503 70 GET", "/orders 503 30 GET"}, got)
}

// TestDeclaredEnabled: a tool attached to the declared record alone enables the handler, on
// kernels with a word for the whole handler and on those without.
func TestDeclaredEnabled(t *testing.T) {
	tfs := kerneltest.Require(t)
	h, ev := declaredOnKernel(t)
	requests := httpRequest.Logger(h)
	for on, set := range map[bool]func() error{true: tfs.Event(ev).Enable, false: tfs.Event(ev).Disable} {
		require.NoError(t, set())
		for _, level := range []slog.Level{-4, 0, 4, 8} {
			assert.Equal(t, on, h.Enabled(t.Context(), level), level)
			assert.Equal(t, on, requests.Enabled(t.Context(), level), level)
		}
	}
}

// TestCompleteInTools: ftrace, perf and trace-cmd, attached to the event of a declaration and to that of its level, each show
// all records of both. The record is logged in each form once, while the tool records.
func TestCompleteInTools(t *testing.T) {
	fs := kerneltest.RequireTool(t, "perf")
	kerneltest.RequireTool(t, "trace-cmd")
	h, own := declaredOnKernel(t)
	level := strings.TrimSuffix(own, "_http_request") + "_info"
	logAll := func() {
		for _, log := range forms {
			log(h, slog.LevelInfo, sampleRequest)
		}
		slog.New(h).Info("another message")
	}
	check := func(t *testing.T, text string) {
		t.Helper()
		owns, copies, others := 0, 0, 0
		for line := range strings.Lines(text) {
			switch {
			case strings.Contains(line, own+":"):
				assert.Regexp(t, `method=GET route=/users/\{id\} status=(0x194 \(404\)|404) latency_ns=(0x5dc \(1500\)|1500) `, line)
				owns++
			case strings.Contains(line, level+":") && strings.Contains(line, "message=http request"):
				assert.Regexp(t, `duplicate=(\(1\)|1) .*"method":"GET".*"route":"/users/\{id\}".*"status":404`, line)
				copies++
			case strings.Contains(line, level+":") && strings.Contains(line, "message=another message"):
				assert.Regexp(t, `duplicate=(\(0\)|0) `, line)
				others++
			}
		}
		assert.Equal(t, []int{len(forms), len(forms), 1}, []int{owns, copies, others}, text)
	}

	require.NoError(t, os.WriteFile(fs.Path("trace"), nil, 0))
	for _, event := range []string{own, level} {
		require.NoError(t, fs.Event(event).Enable())
	}
	logAll()
	for _, event := range []string{own, level} {
		require.NoError(t, fs.Event(event).Disable())
	}
	if text, dumped := kerneltest.TraceText(t, fs); !dumped { // before 6.4, ftrace prints hex dumps
		check(t, text)
	}

	const events = "user_events:"
	data := t.TempDir() + "/data"
	for tool, args := range map[string]struct{ record, show []string }{
		"perf":      {[]string{"record", "-q", "-a", "-o", data, "-e", events + own, "-e", events + level, "--"}, []string{"script", "-i", data}},
		"trace-cmd": {[]string{"record", "-q", "-o", data, "-e", events + own, "-e", events + level}, []string{"report", "-i", data}},
	} {
		t.Run(tool, func(t *testing.T) {
			kerneltest.WhileRecording(t, logAll, tool, args.record...)
			out, err := exec.Command(tool, args.show...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			check(t, string(out))
		})
	}
}

// TestMillion logs a million records, fewer in guests, from eight goroutines while a tracer reads the raw ring buffer: nothing
// is lost beyond what the kernel reports as overwritten, each goroutine's records are in
// order, and every field is what was logged.
func TestMillion(t *testing.T) {
	fs := kerneltest.Require(t)
	const writers = 8
	each := testscale.Count(125_000, 25_000)
	if testing.Short() {
		each = 5_000
	}
	h, name := onKernel(t)
	ev := name + "_info"
	i := kerneltest.NewInstance(t, fs, 160<<10) // holds nearly all of it, however slow the reader is
	i.Attach(ev)
	decoder, err := typed.NewDecoder(declarationOf(t, fs, ev), nil)
	require.NoError(t, err)

	started := time.Now()
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			log := slog.New(h).With("goroutine", g)
			for n := range each {
				log.LogAttrs(t.Context(), slog.LevelInfo, "counted", slog.Int("n", n), slog.String("text", textOf(g, n)), slog.Bool("even", n%2 == 0))
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()

	var seen [writers][]place
	take := func() (taken int) {
		for _, raw := range i.Records() {
			r, err := decoder.Decode(raw.Payload)
			require.NoError(t, err)
			g, n, problem := counted(r, started)
			if problem != "" {
				require.Fail(t, problem, "%v", r)
			}
			seen[g] = append(seen[g], place{raw.Time, n})
			taken++
		}
		return taken
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if take() == 0 && running {
			time.Sleep(time.Millisecond) //nolint:forbidigo // the poll interval
		}
	}
	for take() > 0 {
	}

	total := 0
	for g := range seen {
		total += len(seen[g])
		slices.SortStableFunc(seen[g], func(a, b place) int { return cmp.Compare(a.time, b.time) })
		assert.True(t, slices.IsSortedFunc(seen[g], func(a, b place) int { return cmp.Compare(a.n, b.n) }), "goroutine %d", g)
	}
	overwritten := i.Stats().Overrun
	t.Logf("%d records, %d overwritten in the ring buffer", total, overwritten)
	assert.Equal(t, writers*each, total+int(overwritten))
	s := h.Stats()[ev]
	assert.EqualValues(t, writers*each, s.Written)
	assert.Zero(t, s.Refused+s.Disabled+s.Truncated)
}

// place is where a record stands in its goroutine's sequence, and when it was written.
type place struct {
	time uint64
	n    int
}

// counted returns which record of which goroutine r is, or what is wrong with it. It is
// asked a million times in a translated guest, so it says nothing while all is well.
func counted(r typed.Record, started time.Time) (g, n int, problem string) {
	lookup := func(name string) typed.Value {
		v, found := r.Lookup(name)
		if !found {
			problem = "no " + name
		}
		return v
	}
	attributes := lookup("attributes").Text()
	fields := strings.FieldsFunc(attributes, func(c rune) bool { return c == ':' || c == ',' })
	if len(fields) < 4 {
		return 0, 0, "attributes"
	}
	g, _ = strconv.Atoi(fields[1])
	n, _ = strconv.Atoi(fields[3])
	ns := int64(lookup("time_unix_nano").Uint64())
	switch {
	case attributes != `{"goroutine":`+strconv.Itoa(g)+`,"n":`+strconv.Itoa(n)+`,"text":"`+textOf(g, n)+`","even":`+strconv.FormatBool(n%2 == 0)+`}`:
		return 0, 0, "attributes"
	case lookup("message").Text() != "counted":
		return 0, 0, "message"
	case ns < started.UnixNano() || ns > time.Now().UnixNano():
		return 0, 0, "time_unix_nano"
	}
	for _, number := range []string{"level", "truncated"} {
		if lookup(number).Uint64() != 0 {
			return 0, 0, number
		}
	}
	for _, text := range []string{"trace_id", "span_id", "source"} {
		if lookup(text).Text() != "" {
			return 0, 0, text
		}
	}
	return g, n, problem
}

// textOf makes records of many sizes.
func textOf(g, n int) string { return strings.Repeat("abcdefghij", (n*7+g)%13) }
