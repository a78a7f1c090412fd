package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// read returns the data points that a tool got: for each event, some of its fields.
func read(t *testing.T, tool *ueventstest.Tool, names ...string) map[string][][]string {
	points := map[string][][]string{}
	for _, raw := range tool.Records() {
		decoder, err := typed.NewDecoder(raw.Declaration, nil)
		require.NoError(t, err)
		record, err := decoder.Decode(raw.Payload)
		require.NoError(t, err)
		var fields []string
		for _, name := range names {
			if v, found := record.Lookup(name); found {
				fields = append(fields, string(v.AppendTo(nil)))
			}
		}
		points[raw.Event] = append(points[raw.Event], fields)
	}
	return points
}

// TestShop: the first points of a tool are those measured since the last export, while no tool was attached nothing is written.
func TestShop(t *testing.T) {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	exporter, err := ueventsmetric.NewExporter("metrics", ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(time.Hour))))
	defer func() { assert.NoError(t, provider.Shutdown(context.Background())) }()
	s, err := newShop(provider.Meter("example.com/shop"))
	require.NoError(t, err)

	s.order(t.Context(), 0)
	require.NoError(t, provider.ForceFlush(t.Context()))
	for name, n := range exporter.Stats() {
		assert.Zero(t, n, "%s: no point is written while no tool is attached", name)
	}

	tool, err := kernel.Attach(ueventstest.Perf, "metrics_metric_*")
	require.NoError(t, err)
	for n := range 4 {
		s.order(t.Context(), n)
	}
	require.NoError(t, provider.ForceFlush(t.Context()))
	points := read(t, tool, "name", "unit", "temporality", "attributes", "value_int", "count", "sum_micro", "bucket_counts")
	assert.ElementsMatch(t, [][]string{
		{"shop.orders", "{order}", "delta", `{"country":"DE"}`, "2"},
		{"shop.orders", "{order}", "delta", `{"country":"FR"}`, "1"},
		{"shop.orders", "{order}", "delta", `{"country":"JP"}`, "1"},
	}, points["metrics_metric_sum"])
	assert.Equal(t, [][]string{{"shop.waiting", "{order}", `{}`, "3"}}, points["metrics_metric_gauge"])
	// 1, 2, 5 and 10 ms: a bound belongs to the bucket below it.
	assert.Equal(t, [][]string{{"shop.checkout.duration", "s", "delta", `{}`, "4", "18000", "3,1,0,0,0,0"}}, points["metrics_metric_histogram"])
	assert.Len(t, points, 3)
}

// TestRun: a tool that attaches to the running program gets points at the next export, and those that are left when it ends.
func TestRun(t *testing.T) {
	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	defer p.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- run(ctx, p, 20*time.Millisecond) }()
	var tool *ueventstest.Tool
	testscale.Eventually(t, func() (attached bool) {
		var err error
		tool, err = kernel.Attach(ueventstest.Perf, "metrics_metric_sum", "metrics_metric_histogram")
		return err == nil
	}, "the program has not registered its events")
	for range 2 { // of different exports
		_, err := tool.Next(ctx)
		require.NoError(t, err)
	}
	stop()
	require.NoError(t, <-done)
	tool.Detach()
	for {
		if _, err := tool.Next(t.Context()); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	for _, e := range kernel.Events() {
		assert.Zero(t, e.Words, "%s is still registered", e.Name)
	}
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
