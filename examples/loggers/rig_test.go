package main

import (
	"log/slog"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/examples/internal/decoded"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// rig is a simulated kernel, and the events of one logger.
type rig struct {
	t        *testing.T
	kernel   *ueventstest.Kernel
	provider *uevents.Provider
}

func newRig(t *testing.T) *rig {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return &rig{t, kernel, p}
}

func (r *rig) handler(name string) *sloghandler.Handler {
	h, err := sloghandler.New(name, &sloghandler.Options{Provider: r.provider})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, h.Close()) })
	return h
}

func (r *rig) loggerProvider(name string) *ueventslog.LoggerProvider {
	p, err := ueventslog.NewLoggerProvider(name, ueventslog.WithProvider(r.provider))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, p.Shutdown(r.t.Context())) })
	return p
}

func (r *rig) attach(events string) *ueventstest.Tool {
	tool, err := r.kernel.Attach(ueventstest.Perf, events)
	require.NoError(r.t, err)
	return tool
}

func (r *rig) records(tool *ueventstest.Tool) []decoded.Record {
	list, err := decoded.Records(tool)
	require.NoError(r.t, err)
	return list
}

// observed checks that a tool changes nothing for the program: log writes the same to its output without events, with events
// while no tool is attached, and while one is. It returns the output and what the tool got. before is log as it was without events.
func observed(r *rig, events string, stats func() map[string]uevents.EventStats, before, log func(out *output)) (string, []decoded.Record) {
	var without, disabled, enabled output
	before(&without)
	require.NotEmpty(r.t, without.String())
	log(&disabled)
	assert.Equal(r.t, without.String(), disabled.String(), "while no tool is attached")
	require.NotEmpty(r.t, stats())
	for name, n := range stats() {
		assert.Zero(r.t, n, "%s: no record is written while no tool is attached", name)
	}
	tool := r.attach(events)
	log(&enabled)
	tool.Detach()
	assert.Equal(r.t, without.String(), enabled.String(), "while a tool is attached")
	return without.String(), r.records(tool)
}

// checkServe checks that the output of a logger stays the same, and that a tool gets all records of serve, the debug records among
// them. It returns the output.
func checkServe(t *testing.T, before func(out *output) *slog.Logger, with func(out *output, events slog.Handler) *slog.Logger) string {
	t.Helper()
	r := newRig(t)
	events := r.handler("shop")
	out, records := observed(r, "shop_*", events.Stats,
		func(out *output) { serve(before(out), 7) },
		func(out *output) { serve(with(out, events), 7) })
	assert.Equal(t, [][]string{
		{"shop_debug", "-4", "cache miss", `{"request":7,"key":"user:41"}`},
		{"shop_info", "0", "request served", `{"request":7,"route":"/users/{id}","response":{"status":200,"took":1500000}}`},
		{"shop_error", "8", "query failed", `{"request":7,"err":"connection reset"}`},
	}, fields(records, "event", "level", "message", "attributes"))
	assert.NotContains(t, out, "cache miss")
	return out
}

// output is where a logger writes.
type output struct{ syncbuffer.Buffer }

// timestamps are the members of JSON objects, and the keys of text, that differ between two runs.
var timestamps = regexp.MustCompile(`"(time|ts)":("[^"]*"|[0-9.e+]+),?|time=\S+ `)

// callers are the frames of a stack trace behind the first function, which are those of the test.
var callers = regexp.MustCompile(`("stacktrace":"[^\\"]+)\\n[^"]*"`)

// String returns the output without what differs between two runs.
func (o *output) String() string {
	return callers.ReplaceAllString(timestamps.ReplaceAllString(o.Buffer.String(), ""), "$1\"")
}

// fields returns some fields of records.
func fields(records []decoded.Record, names ...string) (list [][]string) {
	for _, r := range records {
		var one []string
		for _, name := range names {
			one = append(one, r[name])
		}
		list = append(list, one)
	}
	return list
}

// text is a handler for an output as programs have it.
func text(out *output) slog.Handler { return slog.NewJSONHandler(out, nil) }

func TestMain(m *testing.M) { leakcheck.Main(m) }
