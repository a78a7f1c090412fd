package main

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestOneTrace: a request is one trace, from the client through the server to the database,
// and the log record belongs to it.
func TestOneTrace(t *testing.T) {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	tel, err := newTelemetry("service", p)
	require.NoError(t, err)
	defer func() { assert.NoError(t, tel.shutdown(context.Background())) }()
	db, err := openUsers(t.Context(), tel)
	require.NoError(t, err)
	defer db.Close()
	server := httptest.NewServer(newHandler(tel, db))
	defer server.Close()
	client := newClient(tel)

	require.NoError(t, ask(t.Context(), client, server.URL+"/users/1"), "while no tool is attached")
	tracer, err := kernel.Attach(ueventstest.Perf, "service_*")
	require.NoError(t, err)
	require.NoError(t, ask(t.Context(), client, server.URL+"/users/2"))
	require.NoError(t, ask(t.Context(), client, server.URL+"/users/9"))
	server.Close() // the server's spans have ended

	type record map[string]string
	var spans, logs []record
	for _, raw := range tracer.Records() {
		decoder, err := typed.NewDecoder(raw.Declaration, nil)
		require.NoError(t, err)
		decoded, err := decoder.Decode(raw.Payload)
		require.NoError(t, err)
		r := record{"event": raw.Event}
		for name, v := range decoded.All() {
			r[name] = string(v.AppendTo(nil))
		}
		switch raw.Event {
		case "service_span":
			spans = append(spans, r)
		case "service_info", "service_warn":
			logs = append(logs, r)
		}
	}
	require.Len(t, logs, 2)
	assert.Equal(t, "user served", logs[0]["message"])
	assert.Equal(t, "no such user", logs[1]["message"])
	for _, l := range logs {
		ids := map[string]record{} // of the spans of this trace
		kinds := map[string]int{}
		for _, s := range spans {
			if s["trace_id"] == l["trace_id"] {
				ids[s["span_id"]] = s
				kinds[s["scope_name"]+" "+s["kind"]]++
			}
		}
		const otelhttp, otelsql = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "github.com/XSAM/otelsql"
		assert.Equal(t, 1, kinds[otelhttp+" 2"], "the server: %v", kinds)
		assert.Equal(t, 1, kinds[otelhttp+" 3"], "the client: %v", kinds)
		assert.Positive(t, kinds[otelsql+" 3"], "the database: %v", kinds)
		served := ids[l["span_id"]]
		assert.Equal(t, "2", served["kind"], "the record is the server's")
		assert.Equal(t, "1", served["parent_is_remote"])
		assert.Equal(t, "3", ids[served["parent_span_id"]]["kind"], "and the client is its parent")
	}
}

// TestShutdown: when the service ends, all of its spans have ended, and its events are no longer registered.
func TestShutdown(t *testing.T) {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, io.Discard, p) }()
	var tool *ueventstest.Tool
	require.Eventually(t, func() bool {
		var err error
		tool, err = kernel.Attach(ueventstest.Perf, "service_span_start", "service_span")
		return err == nil
	}, 20*time.Second, time.Millisecond)
	started, ended, requests := 0, 0, 0
	count := func() {
		for _, r := range tool.Records() {
			if r.Event == "service_span" {
				ended++
				continue
			}
			started++
			requests += bytes.Count(r.Payload, []byte("HTTP GET"))
		}
	}
	require.Eventually(t, func() bool { count(); return requests > 0 }, 20*time.Second, time.Millisecond)
	stop()
	require.NoError(t, <-done)
	count()
	assert.Equal(t, started, ended)
	for _, e := range kernel.Events() {
		assert.Zero(t, e.Words, e.Name)
	}
}
