package sloghandler_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

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
