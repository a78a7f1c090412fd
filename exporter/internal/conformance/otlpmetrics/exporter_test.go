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

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
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

func TestSelectors(t *testing.T) {
	r := newRig(t)
	for k := sdkmetric.InstrumentKindCounter; k <= sdkmetric.InstrumentKindGauge; k++ {
		assert.Equal(t, sdkmetric.DeltaTemporalitySelector(k), r.Temporality(k), k)
		assert.Equal(t, sdkmetric.DefaultAggregationSelector(k), r.Aggregation(k), k)
	}
	r = newRig(t, ueventsmetric.WithTemporalitySelector(sdkmetric.CumulativeTemporalitySelector),
		ueventsmetric.WithAggregationSelector(func(sdkmetric.InstrumentKind) sdkmetric.Aggregation { return sdkmetric.AggregationDrop{} }))
	assert.Equal(t, metricdata.CumulativeTemporality, r.Temporality(sdkmetric.InstrumentKindCounter))
	assert.Equal(t, sdkmetric.AggregationDrop{}, r.Aggregation(sdkmetric.InstrumentKindCounter))
}

// TestDisabled: nothing is read, not even the context.
func TestDisabled(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, r.Export(ctx, series(10)))
	tr := r.attach(t)
	require.NoError(t, r.Export(t.Context(), nil))
	tr.Detach()
	require.NoError(t, r.Export(t.Context(), series(10)))
	assert.Empty(t, tr.Records())
	assert.Zero(t, r.stats())
	if !testscale.Race {
		rm := series(10)
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = r.Export(ctx, rm) }))
	}
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

// TestNilContext: a context that is missing is one that is never done.
func TestNilContext(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	var none context.Context
	require.NoError(t, r.Export(none, series(1)))
	assert.Len(t, tr.Records(), 1)
	require.NoError(t, r.ForceFlush(none))
	require.NoError(t, r.Shutdown(none))
	assert.ErrorIs(t, r.Export(none, series(1)), sdkmetric.ErrExporterShutdown)
}

func TestShutdown(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, r.ForceFlush(ctx))
	require.NoError(t, r.Shutdown(ctx), "there is nothing to wait for")
	require.NoError(t, r.Shutdown(t.Context()))
	require.NoError(t, r.ForceFlush(t.Context()))
	for _, rm := range []*metricdata.ResourceMetrics{series(1), nil} {
		assert.ErrorIs(t, r.Export(t.Context(), rm), sdkmetric.ErrExporterShutdown)
	}
	assert.Empty(t, tr.Records())
	_, err := r.borrowed.Register(tracepoint.Declaration{Name: "more"}, nil)
	require.NoError(t, err, "a borrowed provider stays open")
}

// closes is a context that shuts the exporter down when it is asked.
type closes struct {
	context.Context
	e *otlp.Exporter
}

func (c closes) Err() error { return c.e.Shutdown(context.Background()) }

func TestShutdownDuringExport(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	assert.ErrorIs(t, r.Export(closes{t.Context(), r.Exporter}, series(1000)), sdkmetric.ErrExporterShutdown)
	assert.Empty(t, tr.Records())
	assert.Equal(t, uint64(1000), r.stats().Disabled)
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
