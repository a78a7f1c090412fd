package main

import (
	"bytes"
	"log/slog"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
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
	p, err := ueventslog.NewLoggerProvider(name, ueventslog.WithEventProvider(r.provider))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { assert.NoError(r.t, p.Shutdown(r.t.Context())) })
	return p
}

func (r *rig) attach(events string) *ueventstest.Tool {
	tool, err := r.kernel.Attach(ueventstest.Perf, events)
	require.NoError(r.t, err)
	return tool
}

// record has the fields of a record as text, and the name of its event as event.
type record map[string]string

func (r *rig) records(tool *ueventstest.Tool) (list []record) {
	for _, raw := range tool.Records() {
		decoder, err := typed.NewDecoder(raw.Declaration, nil)
		require.NoError(r.t, err)
		decoded, err := decoder.Decode(raw.Payload)
		require.NoError(r.t, err)
		one := record{"event": raw.Event}
		for name, v := range decoded.All() {
			one[name] = string(v.AppendTo(nil))
		}
		list = append(list, one)
	}
	return list
}

// observed checks that a tool changes nothing for the program: log writes the same to its output without events, with events
// while no tool is attached, and while one is. It returns the output and what the tool got. before is log as it was without events.
func observed[S sloghandler.Stats | ueventslog.Stats](r *rig, events string, stats func() map[string]S, before, log func(out *output)) (string, []record) {
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

// output is where a logger writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

// timestamps are the members of JSON objects, and the keys of text, that differ between two runs.
var timestamps = regexp.MustCompile(`"(time|ts)":("[^"]*"|[0-9.e+]+),?|time=\S+ `)

// callers are the frames of a stack trace behind the first function, which are those of the test.
var callers = regexp.MustCompile(`("stacktrace":"[^\\"]+)\\n[^"]*"`)

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return callers.ReplaceAllString(timestamps.ReplaceAllString(o.buf.String(), ""), "$1\"")
}

// fields returns some fields of records.
func fields(records []record, names ...string) (list [][]string) {
	for _, r := range records {
		var one []string
		for _, name := range names {
			one = append(one, r[name])
		}
		list = append(list, one)
	}
	return list
}

// served are the records of serve: event without the program's name, level, message, attributes.
func served(name string) [][]string {
	return [][]string{
		{name + "_debug", "-4", "cache miss", `{"request":7,"key":"user:41"}`},
		{name + "_info", "0", "request served", `{"request":7,"route":"/users/{id}","response":{"status":200,"took":1500000}}`},
		{name + "_error", "8", "query failed", `{"request":7,"err":"connection reset"}`},
	}
}

// text is a handler for an output as programs have it.
func text(out *output) slog.Handler { return slog.NewJSONHandler(out, nil) }
