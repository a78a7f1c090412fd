package otlpmetrics

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

type requestOf = collectorpb.ExportMetricsServiceRequest

// TestPeriodicReader: the pipeline that programs have, up to its end.
func TestPeriodicReader(t *testing.T) {
	r := newRig(t, nil, ueventsmetric.WithTemporalitySelector(nil), ueventsmetric.WithAggregationSelector(nil))
	tr := r.attach(t)
	reader := sdkmetric.NewPeriodicReader(r.Exporter, sdkmetric.WithInterval(time.Hour))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
	counter, err := provider.Meter("m").Float64Counter("n", metric.WithUnit("s"))
	require.NoError(t, err)
	counter.Add(t.Context(), 1.5, metric.WithAttributes(attribute.String("k", "v")))
	require.NoError(t, provider.ForceFlush(t.Context()))
	counter.Add(t.Context(), 0.25, metric.WithAttributes(attribute.String("k", "v")))
	require.NoError(t, provider.Shutdown(t.Context()))
	list := requests(t, tr)
	require.Len(t, list, 2)
	for i, want := range []float64{1.5, 0.25} { // deltas
		m := list[i].GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0]
		assert.Equal(t, "n", m.GetName())
		assert.True(t, m.GetSum().GetIsMonotonic())
		assert.Equal(t, want, m.GetSum().GetDataPoints()[0].GetAsDouble())
	}
	assert.ErrorIs(t, r.Export(t.Context(), series(1)), sdkmetric.ErrExporterShutdown)
}

// endsAfter is a context that is done after it was asked so many times.
type endsAfter struct {
	context.Context
	asks int
}

func (c *endsAfter) Err() error {
	if c.asks--; c.asks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestDeadline(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	require.ErrorIs(t, r.Export(&endsAfter{t.Context(), 0}, series(1000)), context.DeadlineExceeded)
	assert.Empty(t, tr.Records())
	err := r.Export(&endsAfter{t.Context(), 3}, series(1000))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	list := requests(t, tr)
	require.Len(t, list, 3)
	written := 0
	for _, req := range list {
		written += points(req.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0])
	}
	assert.ErrorContains(t, err, fmt.Sprintf("stopped after %d points", written))
}

// TestUnavailable: without the kernel feature, with too small a limit, or next to an exporter
// that has another event of the name, there is an exporter and an error.
func TestUnavailable(t *testing.T) {
	usable := func(e *otlp.Exporter) {
		require.NoError(t, e.Export(t.Context(), series(1)))
		require.NoError(t, e.Shutdown(t.Context()))
		assert.Zero(t, e.Stats()[otlp.EventName])
	}
	k := ueventstest.New(t, nil)
	p, q := k.Provider(), k.Provider()
	defer func() { require.NoError(t, errors.Join(p.Close(), q.Close())) }()
	_, err := q.Register(tracepoint.Declaration{Name: otlp.EventName}, nil)
	require.NoError(t, err)
	e, err := otlp.NewExporter(ueventsmetric.WithProvider(p))
	require.ErrorIs(t, err, uevents.ErrConflict)
	usable(e)

	e, err = otlp.NewExporter(ueventsmetric.WithProvider(newRig(t).borrowed), ueventsmetric.WithMaxPayload(511))
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.ErrorContains(t, err, "a limit of 511 bytes is too small: the event takes at least 512")
	usable(e)

	e, err = otlp.NewExporter(ueventsmetric.WithProvider(newRig(t).borrowed), ueventsmetric.WithMaxPayload(-1))
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.ErrorContains(t, err, "MaxPayload of -1 bytes is negative")
	require.NoError(t, e.Shutdown(t.Context()))

	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	e, err = otlp.NewExporter(ueventsmetric.WithMaxPayload(5))
	require.ErrorIs(t, err, fs.ErrInvalid, "on every machine")
	usable(e)
	e, err = otlp.NewExporter()
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), `ueventsmetric/otlp "otlp_metrics": `), err)
	usable(e)
}

// TestConcurrency is for the race detector.
func TestConcurrency(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				assert.NoError(t, r.Export(context.Background(), series(100)))
				_ = r.stats()
			}
		})
	}
	group.Wait()
	assert.Equal(t, uint64(2000), r.stats().Written)
	n := 0
	for _, req := range requests(t, tr) {
		n += len(req.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0].GetSum().GetDataPoints())
	}
	assert.Equal(t, 2000, n, "requests do not mix")
	for range 3 {
		group.Go(func() { _ = r.Export(context.Background(), series(100)) })
		group.Go(func() { assert.NoError(t, r.Shutdown(context.Background())) })
	}
	group.Wait()
}

// TestMetricsOfTheExporter: the exporter counts its data points by what became of them.
func TestMetricsOfTheExporter(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	read, stop := testmetrics.Observe()
	defer stop()
	r := newRig(t)
	tr := r.attach(t)
	require.NoError(t, r.Export(t.Context(), series(10)))
	refused := series(3)
	refused.ScopeMetrics[0].Metrics[0].Data = metricdata.Sum[int64]{DataPoints: make([]metricdata.DataPoint[int64], 3)} // of no temporality
	require.Error(t, r.Export(t.Context(), refused))
	tr.Detach()
	require.NoError(t, r.Export(t.Context(), series(10)), "points while the event is disabled do not count")
	const metric, component = "otel.sdk.exporter.metric_data_point.exported", "userevents_metric_exporter/otlp_metrics"
	assert.Equal(t, map[string]int64{component: 10, component + " event_disabled": 0, component + " rejected": 3}, read(metric))
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Empty(t, read(metric), "it ends with the exporter")
}

// TestAllocations: an export does not allocate, disabled or enabled.
func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	k := ueventstest.New(t, &ueventstest.Options{BufferSize: 1}) // whose tools keep no record, which takes no memory
	p := k.Provider()
	defer func() { require.NoError(t, p.Close()) }()
	e, err := otlp.NewExporter(ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	ctx := t.Context()
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	recordtest.Attach(t, k, ueventstest.Perf, otlp.EventName)
	for name, rm := range testmetrics.Series(100) {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }), name)
	}
	assert.Equal(t, uint64(2*101*100), e.Stats()[otlp.EventName].Written)
}
