package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// envChild makes the test binary run the service on a simulated kernel, with a tool attached. Each program has one global meter
// provider, which the metrics of the exporters go to, and the other tests set their own.
const envChild = "SERVICE_CHILD"

func child() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	go func() { // the events are registered after a moment
		for ctx.Err() == nil {
			if _, err := kernel.Attach(ueventstest.Ftrace, "service_info", "service_span", "service_metric_sum"); err == nil {
				return
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // the poll interval
		}
	}()
	if err := run(ctx, options{listen: "127.0.0.1:0", load: 50}, os.Stderr, p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// sample matches a line of Prometheus' text format, label a label in it or in a query.
var (
	sample = regexp.MustCompile(`(?m)^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$`)
	label  = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
)

// published returns the labels of each metric that the service publishes for Prometheus, with their values.
func published(text string) map[string]map[string][]string {
	metrics := map[string]map[string][]string{}
	for _, s := range sample.FindAllStringSubmatch(text, -1) {
		if metrics[s[1]] == nil {
			metrics[s[1]] = map[string][]string{}
		}
		for _, l := range label.FindAllStringSubmatch(s[2], -1) {
			metrics[s[1]][l[1]] = append(metrics[s[1]][l[1]], l[3])
		}
	}
	return metrics
}

// scrape runs the service in a process of its own until its metrics say that it served and a tool got records of each kind, and then ends it by SIGTERM.
func scrape(t *testing.T) (text string) {
	environment(t, "")
	pid := os.Getpid() // other processes use other addresses
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.%d.%d.%d:0", 64+pid>>16, pid>>8&0xff, pid&0xff))
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	service := exec.CommandContext(t.Context(), os.Args[0])
	service.Env = append(os.Environ(), envChild+"=1", "OTEL_GO_X_OBSERVABILITY=true", "OTEL_METRICS_EXPORTER=prometheus,user_events", "OTEL_METRIC_EXPORT_INTERVAL=20",
		"OTEL_EXPORTER_PROMETHEUS_HOST="+host, "OTEL_EXPORTER_PROMETHEUS_PORT="+port)
	var out syncbuffer.Buffer
	service.Stdout, service.Stderr = &out, &out
	require.NoError(t, service.Start())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	written := regexp.MustCompile(`(?m)^(userevents_slog_records_total\{.*outcome="written"|otel_sdk_processor_span_processed_total|` +
		`otel_sdk_exporter_metric_data_point_exported_total|http_server_request_duration_seconds_count).* [1-9]`)
	stop := sync.OnceFunc(func() {
		require.NoError(t, service.Process.Signal(syscall.SIGTERM))
		require.NoError(t, service.Wait(), out.String())
	})
	defer stop() // also if the metrics are not complete
	testscale.Eventually(t, func() bool {
		resp, err := client.Get("http://" + net.JoinHostPort(host, port) + "/metrics")
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }() // read to its end
		body, err := io.ReadAll(resp.Body)
		text = string(body)
		kinds := map[string]bool{}
		for _, found := range written.FindAllStringSubmatch(text, -1) {
			kinds[strings.SplitN(found[1], "{", 2)[0]] = true
		}
		return err == nil && len(kinds) == 4
	}, "the metrics are not complete")
	stop()
	return text
}

// TestDashboard: the queries of the dashboard name metrics and labels that the service publishes, and match some of their values.
func TestDashboard(t *testing.T) {
	testscale.NeedLoopback(t)
	metrics := published(scrape(t))
	file, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(file, &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	selector := regexp.MustCompile(`([a-zA-Z_:][\w:]*)\{([^}]*)\}\[`)
	by := regexp.MustCompile(`by \(([^)]*)\)`)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			found := selector.FindAllStringSubmatch(target.Expr, -1)
			require.NotEmpty(t, found, target.Expr)
			for _, s := range found {
				labels, ok := metrics[s[1]]
				if !assert.True(t, ok, "%s: the service does not publish %s", panel.Title, s[1]) {
					continue
				}
				for _, l := range label.FindAllStringSubmatch(s[2], -1) {
					if l[1] != "job" { // which Prometheus adds
						checkLabel(t, labels, l[1], l[2], l[3])
					}
				}
				for _, grouping := range by.FindAllStringSubmatch(target.Expr, -1) {
					for name := range strings.SplitSeq(grouping[1], ", ") {
						assert.True(t, name == "le" || labels[name] != nil, "%s: %s has no label %s", panel.Title, s[1], name)
					}
				}
			}
		}
	}
}

// checkLabel checks that a matcher of a query matches a value of a label.
func checkLabel(t *testing.T, labels map[string][]string, name, operator, value string) {
	matches := 0
	for _, v := range labels[name] {
		equal := v == value
		if strings.Contains(operator, "~") {
			equal = regexp.MustCompile("^(?:" + value + ")$").MatchString(v)
		}
		if equal == !strings.HasPrefix(operator, "!") {
			matches++
		}
	}
	assert.Positive(t, matches, "%s%s%q matches none of %v", name, operator, value, labels[name])
}
