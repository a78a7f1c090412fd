package main

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"

	"github.com/userevents/userevents-go/examples/internal/decoded"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestOneTrace: the server's part of a request is one trace, to the database, and the log record belongs to it. With OTLP the client's
// part belongs to it, too, in events and at the backend; without, the service propagates nothing, whether or not a tool is attached.
func TestOneTrace(t *testing.T) {
	testscale.NeedLoopback(t)
	t.Run("events alone", func(t *testing.T) { testOneTrace(t, nil) })
	t.Run("with OTLP", func(t *testing.T) { testOneTrace(t, newBackend(t)) })
}

func testOneTrace(t *testing.T, b *backend) {
	endpoint := ""
	if b != nil {
		endpoint = b.URL
	}
	environment(t, endpoint)
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	var out syncbuffer.Buffer
	tel, err := newTelemetry(t.Context(), &out, p)
	require.NoError(t, err)
	defer tel.close(context.Background())
	db := openUsers()
	defer db.Close()
	handler, propagated := newHandler(tel.log, db), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") != "" {
			propagated++
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	client := newClient()
	defer client.CloseIdleConnections()

	require.NoError(t, ask(t.Context(), client, server.URL+"/users/1"), "while no tool is attached")
	for name, n := range tel.events.Stats() {
		assert.Zero(t, n, name)
	}
	tool, err := kernel.Attach(ueventstest.Perf, "service_*")
	require.NoError(t, err)
	require.NoError(t, ask(t.Context(), client, server.URL+"/users/2"))
	require.NoError(t, ask(t.Context(), client, server.URL+"/users/9"))
	server.Close() // the server's spans have ended
	tool.Detach()

	var spans, logs []decoded.Record
	for _, r := range decode(t, tool) {
		switch r["event"] {
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
		checkTrace(t, l, spans, b != nil)
	}
	assert.Contains(t, out.String(), `"level":"WARN","msg":"no such user","id":"9"`, "the JSON log")
	if b == nil {
		assert.Zero(t, propagated)
		return
	}
	assert.Equal(t, 3, propagated)
	tel.close(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(t, b.logs, 3, "the backend also gets what is logged while no tool is attached")
	for n, l := range logs {
		assert.Equal(t, l["message"], b.logs[n+1]["message"])
		assert.Equal(t, l["trace_id"], b.logs[n+1]["trace_id"])
		assert.Contains(t, b.traces, l["trace_id"])
	}
	assert.Contains(t, b.metrics, "http.server.request.duration")
	assert.Contains(t, b.metrics, "userevents.slog.records")
	assert.NotContains(t, out.String(), "telemetry is lost")
}

// checkTrace checks the spans of a log record's trace, and that the record is that of the server's span. A trace that the service
// propagates begins at the client.
func checkTrace(t *testing.T, l decoded.Record, spans []decoded.Record, propagated bool) {
	ids := map[string]decoded.Record{} // of the spans of this trace
	kinds := map[string]int{}
	for _, s := range spans {
		if s["trace_id"] == l["trace_id"] {
			ids[s["span_id"]] = s
			kinds[s["scope_name"]+" "+s["kind"]]++
		}
	}
	const otelhttp, otelsql = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "github.com/XSAM/otelsql"
	assert.Equal(t, 1, kinds[otelhttp+" 2"], "the server: %v", kinds)
	assert.Positive(t, kinds[otelsql+" 3"], "the database: %v", kinds)
	served := ids[l["span_id"]]
	assert.Equal(t, "2", served["kind"], "the record is the server's")
	if propagated {
		assert.Equal(t, "1", served["parent_is_remote"])
		assert.Equal(t, "3", ids[served["parent_span_id"]]["kind"], "and the client is its parent")
	} else {
		assert.Empty(t, served["parent_span_id"])
	}
}

// TestOptions: values that would make the service panic or end at once are errors that name the flag.
func TestOptions(t *testing.T) {
	for _, o := range []options{{}, {load: 0.5}, {load: maxLoad, drain: time.Second}} {
		assert.NoError(t, o.check())
	}
	for _, load := range []float64{-5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		assert.ErrorContains(t, options{load: load}.check(), "-load")
	}
	assert.ErrorContains(t, options{drain: -time.Second}.check(), "-drain")
}

// TestShutdown: when the service ends, it serves as long as draining takes; then all of its spans have ended, and its events are no
// longer registered.
func TestShutdown(t *testing.T) {
	testscale.NeedLoopback(t)
	environment(t, "")
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out syncbuffer.Buffer
	const drain = 50 * time.Millisecond
	done := make(chan error, 1)
	go func() { done <- run(ctx, options{listen: "127.0.0.1:0", load: 50, drain: drain}, &out, p) }()
	url := address(t, &out)
	tool, err := kernel.Attach(ueventstest.Perf, "service_span_start", "service_span")
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(path string) int {
		resp, err := client.Get(url + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	assert.Equal(t, http.StatusOK, status("/healthz"))
	assert.Equal(t, http.StatusOK, status("/readyz"))

	started, ended, requests := 0, 0, 0
	count := func() {
		for _, r := range decode(t, tool) {
			if r["event"] == "service_span" {
				ended++
				continue
			}
			started++
			if r["name"] == "HTTP GET" {
				requests++
			}
			assert.NotContains(t, r["attributes"], "/readyz", "probes are no spans")
		}
	}
	testscale.Eventually(t, func() bool { count(); return requests > 0 }, "no request")
	stopped := time.Now()
	stop()
	require.NoError(t, <-done)
	assert.GreaterOrEqual(t, time.Since(stopped), drain) //nolint:forbidigo // the least time, which a slow machine exceeds
	count()
	assert.Equal(t, started, ended)
	for _, e := range kernel.Events() {
		assert.Zero(t, e.Words, e.Name)
	}
	assert.NotContains(t, out.String(), "telemetry")
}

// TestReadiness: a service that ends, or has no database, is alive and not ready.
func TestReadiness(t *testing.T) {
	environment(t, "")
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	tel, err := newTelemetry(t.Context(), io.Discard, p)
	require.NoError(t, err)
	defer tel.close(context.Background())
	db := openUsers()
	var draining atomic.Bool
	handler := withHealth(newHandler(tel.log, db), db, &draining)
	status := func(path string) int {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer.Code
	}
	assert.Equal(t, http.StatusOK, status("/readyz"))
	draining.Store(true)
	assert.Equal(t, http.StatusServiceUnavailable, status("/readyz"))
	draining.Store(false)
	require.NoError(t, db.Close())
	assert.Equal(t, http.StatusServiceUnavailable, status("/readyz"))
	assert.Equal(t, http.StatusOK, status("/healthz"))
	assert.Equal(t, http.StatusNotFound, status("/none"))
}

// TestUnreachableBackend: the service serves and ends as it does with a backend, and says what it has lost.
func TestUnreachableBackend(t *testing.T) {
	testscale.NeedLoopback(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	environment(t, gone.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out syncbuffer.Buffer
	done := make(chan error, 1)
	go func() { done <- run(ctx, options{listen: "127.0.0.1:0", load: 50}, &out, p) }()
	address(t, &out)
	otel.Handle(errors.New("reported")) // as the SDK does
	tool, err := kernel.Attach(ueventstest.Perf, "service_info")
	require.NoError(t, err)
	testscale.Eventually(t, func() bool { return len(tool.Records()) > 0 }, "no record")
	stop()
	require.NoError(t, <-done)
	assert.Contains(t, out.String(), `"msg":"OpenTelemetry","err":"reported"`)
	assert.Contains(t, out.String(), `"msg":"telemetry is lost"`)
}
