package ueventsmetric_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"strconv"
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
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func points(n int) *metricdata.ResourceMetrics {
	s := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	for i := range n {
		s.DataPoints = append(s.DataPoints, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.Int("i", i)), Value: int64(i)})
	}
	return data(s)
}

// TestPeriodicReader: the pipeline that programs have, up to its end.
func TestPeriodicReader(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	reader := sdkmetric.NewPeriodicReader(r.Exporter, sdkmetric.WithInterval(time.Hour))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
	counter, err := provider.Meter("m").Int64Counter("n")
	require.NoError(t, err)
	for i := range 5 {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("i", i)))
	}
	require.NoError(t, provider.ForceFlush(t.Context()))
	assert.Len(t, decode(t, tr), 5)
	counter.Add(t.Context(), 3, metric.WithAttributes(attribute.Int("i", 0)))
	require.NoError(t, provider.Shutdown(t.Context()))
	got := one(t, tr) // only what was added since
	assert.Equal(t, "3", got["value"])
	assert.ErrorIs(t, r.Export(t.Context(), points(1)), sdkmetric.ErrExporterShutdown)
}

// TestEachEvent: a tool that is attached to one kind of points gets no other.
func TestEachEvent(t *testing.T) {
	for i, kind := range kinds {
		r := newRig(t)
		tr := r.attach(t, kind)
		for _, rm := range large(3) {
			require.NoError(t, r.Export(t.Context(), rm))
		}
		assert.Equal(t, "app_metric_"+kind, one(t, tr)[""], i)
	}
}

// TestRetainsNothing: an export neither changes the data nor keeps it.
func TestRetainsNothing(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	for i, rm := range large(50) {
		require.NoError(t, r.Export(t.Context(), rm))
		metricdatatest.AssertEqual(t, *large(50)[i], *rm)
		clear(rm.ScopeMetrics)
	}
	assert.Len(t, tr.Records(), len(kinds))
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
	err := r.Export(&endsAfter{t.Context(), 3}, points(10))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "stopped after 3 points")
	assert.Len(t, tr.Records(), 3)
}

// TestFailures: what cannot be written does not keep the rest from being written.
func TestFailures(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	rm := points(2)
	rm.ScopeMetrics[0].Metrics = append(rm.ScopeMetrics[0].Metrics, metricdata.Metrics{Name: "odd"}, rm.ScopeMetrics[0].Metrics[0])
	err := r.Export(t.Context(), rm)
	require.ErrorContains(t, err, `metric "odd": unknown aggregation <nil>`)
	assert.ErrorContains(t, err, "1 points were not written")
	assert.Len(t, tr.Records(), 4, "the others are written")
	require.NoError(t, r.Export(t.Context(), rm), "an error is reported once in a while")
}

// exporter is what both exporters of data points have.
type exporter interface {
	sdkmetric.Exporter
	Stats() map[string]uevents.EventStats
}

// open opens an exporter with selectors, which may be nil.
type open func(*uevents.Provider, sdkmetric.TemporalitySelector, sdkmetric.AggregationSelector) (exporter, error)

var exporters = map[string]open{
	"ueventsmetric": func(p *uevents.Provider, t sdkmetric.TemporalitySelector, a sdkmetric.AggregationSelector) (exporter, error) {
		return ueventsmetric.NewExporter("app", ueventsmetric.WithProvider(p), nil,
			ueventsmetric.WithTemporalitySelector(t), ueventsmetric.WithAggregationSelector(a))
	},
	"otlp": func(p *uevents.Provider, t sdkmetric.TemporalitySelector, a sdkmetric.AggregationSelector) (exporter, error) {
		return otlp.NewExporter(ueventsmetric.WithProvider(p), nil, ueventsmetric.WithTemporalitySelector(t), ueventsmetric.WithAggregationSelector(a))
	},
}

// eachExporter runs a test of an exporter on a simulated kernel. attach attaches a tool to all events.
func eachExporter(t *testing.T, test func(t *testing.T, e exporter, p *uevents.Provider, attach func() *ueventstest.Tool)) {
	for name, open := range exporters {
		t.Run(name, func(t *testing.T) {
			k, p := recordtest.Kernel(t)
			e, err := open(p, nil, nil)
			require.NoError(t, err)
			test(t, e, p, func() *ueventstest.Tool { return recordtest.Attach(t, k, ueventstest.Ftrace, "*") })
		})
	}
}

// TestSelectors: the defaults, and those of the options.
func TestSelectors(t *testing.T) {
	for name, open := range exporters {
		_, p := recordtest.Kernel(t)
		e, err := open(p, nil, nil)
		require.NoError(t, err)
		for k := sdkmetric.InstrumentKindCounter; k <= sdkmetric.InstrumentKindGauge; k++ {
			assert.Equal(t, sdkmetric.DeltaTemporalitySelector(k), e.Temporality(k), "%s: %v", name, k)
			assert.Equal(t, sdkmetric.DefaultAggregationSelector(k), e.Aggregation(k), "%s: %v", name, k)
		}
		require.NoError(t, e.Shutdown(t.Context()))
		e, err = open(p, sdkmetric.CumulativeTemporalitySelector, exponential)
		require.NoError(t, err)
		assert.Equal(t, metricdata.CumulativeTemporality, e.Temporality(sdkmetric.InstrumentKindCounter), name)
		assert.IsType(t, sdkmetric.AggregationBase2ExponentialHistogram{}, e.Aggregation(sdkmetric.InstrumentKindHistogram), name)
	}
}

// TestCumulative: with the selector of an option, points are sums since the start.
func TestCumulative(t *testing.T) {
	r := newRig(t, ueventsmetric.WithTemporalitySelector(sdkmetric.CumulativeTemporalitySelector))
	tr := r.attach(t)
	counter, err := r.meter.Int64Counter("n")
	require.NoError(t, err)
	for range 2 {
		counter.Add(t.Context(), 2)
		r.collect(t)
	}
	list := decode(t, tr)
	require.Len(t, list, 2)
	assert.Equal(t, "app_metric_cumulative_sum", list[1][""])
	assert.Equal(t, "4", list[1]["value"])
	assert.Equal(t, "cumulative", list[1]["temporality"])
}

// TestDisabled: nothing is read, not even the context.
func TestDisabled(t *testing.T) {
	eachExporter(t, func(t *testing.T, e exporter, _ *uevents.Provider, attach func() *ueventstest.Tool) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, e.Export(ctx, points(10)))
		require.NoError(t, e.Export(ctx, nil))
		tr := attach()
		require.NoError(t, e.Export(t.Context(), nil))
		tr.Detach()
		require.NoError(t, e.Export(t.Context(), points(10)))
		assert.Empty(t, tr.Records())
		for name, s := range e.Stats() {
			assert.Zero(t, s, name)
		}
		if !testscale.Race {
			rm := points(10)
			assert.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Export(ctx, rm) }))
		}
	})
}

// TestNilContext: a context that is missing is one that is never done.
func TestNilContext(t *testing.T) {
	eachExporter(t, func(t *testing.T, e exporter, _ *uevents.Provider, attach func() *ueventstest.Tool) {
		tr := attach()
		var none context.Context
		require.NoError(t, e.Export(none, points(1)))
		assert.Len(t, tr.Records(), 1)
		require.NoError(t, e.ForceFlush(none))
		require.NoError(t, e.Shutdown(none))
		assert.ErrorIs(t, e.Export(none, points(1)), sdkmetric.ErrExporterShutdown)
	})
}

func TestShutdown(t *testing.T) {
	eachExporter(t, func(t *testing.T, e exporter, p *uevents.Provider, attach func() *ueventstest.Tool) {
		tr := attach()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, e.ForceFlush(ctx))
		require.NoError(t, e.Shutdown(ctx), "there is nothing to wait for")
		require.NoError(t, e.Shutdown(t.Context()))
		require.NoError(t, e.ForceFlush(t.Context()))
		for _, rm := range []*metricdata.ResourceMetrics{points(1), nil} {
			assert.ErrorIs(t, e.Export(t.Context(), rm), sdkmetric.ErrExporterShutdown)
		}
		assert.Empty(t, tr.Records())
		assert.Equal(t, metricdata.DeltaTemporality, e.Temporality(sdkmetric.InstrumentKindCounter))
		_, err := p.Register(tracepoint.Declaration{Name: "more"}, nil)
		require.NoError(t, err, "a borrowed provider stays open")
	})
}

// closes is a context that shuts the exporter down when it is asked.
type closes struct {
	context.Context
	e exporter
}

func (c closes) Err() error { return c.e.Shutdown(context.Background()) }

func TestShutdownDuringExport(t *testing.T) {
	eachExporter(t, func(t *testing.T, e exporter, _ *uevents.Provider, attach func() *ueventstest.Tool) {
		tr := attach()
		assert.ErrorIs(t, e.Export(closes{t.Context(), e}, points(1000)), sdkmetric.ErrExporterShutdown)
		assert.Empty(t, tr.Records())
		if o, ok := e.(*otlp.Exporter); ok {
			assert.Equal(t, uint64(1000), o.Stats()[otlp.EventName].Disabled)
		}
	})
}

// TestProviderClosedFirst: no error, and nothing is written elsewhere.
func TestProviderClosedFirst(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	require.NoError(t, r.borrowed.Close())
	require.NoError(t, r.Export(t.Context(), points(3)))
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Empty(t, tr.Records())
}

// TestInvalidArguments: they are errors on every machine.
func TestInvalidArguments(t *testing.T) {
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	for _, p := range []*uevents.Provider{newRig(t).borrowed, unsupported} {
		for _, c := range []struct {
			name, want string
			option     ueventsmetric.Option
		}{
			{"my-app", `use "my_app"`, nil},
			{"tiny", "a limit of 100 bytes is too small", ueventsmetric.WithMaxPayload(100)},
			{"negative", "MaxPayload of -1 bytes is negative", ueventsmetric.WithMaxPayload(-1)},
		} {
			e, err := ueventsmetric.NewExporter(c.name, ueventsmetric.WithProvider(p), c.option)
			require.ErrorIs(t, err, fs.ErrInvalid, c.name)
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, `ueventsmetric "`+c.name+`": `)
			require.NoError(t, e.Export(t.Context(), points(1)))
			require.NoError(t, e.Shutdown(t.Context()))
		}
	}
}

// TestUnavailable: without the kernel feature there is an exporter and an error.
func TestUnavailable(t *testing.T) {
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	e, err := ueventsmetric.NewExporter("app")
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), `ueventsmetric "app": `), err)
	var detail *uevents.Error
	assert.True(t, errors.As(err, &detail) || errors.Is(err, uevents.ErrNotSupported))
	require.NoError(t, e.Export(t.Context(), points(1)))
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Len(t, e.Stats(), len(kinds))
}

// TestConflict: another program has one of the events with other fields.
func TestConflict(t *testing.T) {
	k := ueventstest.New(t, nil)
	p, q := k.Provider(), k.Provider()
	defer func() { require.NoError(t, errors.Join(p.Close(), q.Close())) }()
	_, err := q.Register(tracepoint.Declaration{Name: "app_metric_sum"}, nil)
	require.NoError(t, err)
	e, err := ueventsmetric.NewExporter("app", ueventsmetric.WithProvider(p))
	require.ErrorIs(t, err, uevents.ErrConflict)
	tr := recordtest.Attach(t, k, ueventstest.Perf, "app_metric_*")
	require.NoError(t, e.Export(t.Context(), points(1)))
	require.NoError(t, e.Export(t.Context(), data(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{}}})))
	assert.Len(t, tr.Records(), 1)
}

// TestConcurrency is for the race detector.
func TestConcurrency(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t, "sum")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 20 {
				_ = r.Export(context.Background(), points(10))
				_, _, _ = r.Stats(), r.Temporality(sdkmetric.InstrumentKindCounter), r.Aggregation(sdkmetric.InstrumentKindCounter)
			}
		})
	}
	group.Go(func() {
		for range 10 {
			r.attach(t, "gauge").Detach()
		}
	})
	group.Wait()
	assert.Len(t, decode(t, tr), 800)
	for range 3 {
		group.Go(func() { _ = r.Export(context.Background(), points(100)) })
		group.Go(func() { assert.NoError(t, r.Shutdown(context.Background())) })
	}
	group.Wait()
}

// refusing is a kernel that answers writes with an error, unless that is nil.
type refusing struct {
	backend.Backend
	err error
}

func (r *refusing) Write(b []byte) error {
	if r.err != nil {
		return r.err
	}
	return r.Backend.Write(b)
}

// TestMetricsOfTheExporter: each point counts once by what became of it, and its exemplars do not.
func TestMetricsOfTheExporter(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	read, stop := testmetrics.Observe()
	defer stop()

	k := ueventstest.New(t, nil)
	kernel := &refusing{Backend: backend.OpenSimulated(k)}
	borrowed := backend.NewProvider(kernel).(*uevents.Provider)
	defer func() { require.NoError(t, borrowed.Close()) }()
	e, err := ueventsmetric.NewExporter("app", ueventsmetric.WithProvider(borrowed))
	require.NoError(t, err)
	tool := recordtest.Attach(t, k, ueventstest.Ftrace, "app_*")

	gauge := data(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Exemplars: []metricdata.Exemplar[int64]{{Value: 1}}}}})
	require.NoError(t, e.Export(t.Context(), points(4)))
	require.NoError(t, e.Export(t.Context(), gauge))
	assert.Len(t, tool.Records(), 6, "with the exemplar")
	kernel.err = errno.ENOMEM
	err = e.Export(t.Context(), points(3))
	require.ErrorIs(t, err, errno.ENOMEM)
	require.ErrorContains(t, err, "3 points were not written")
	kernel.err = errno.EBADF // of an event that was disabled meanwhile
	require.NoError(t, e.Export(t.Context(), points(2)), "a tool that detaches is no error")

	const metric, component = "otel.sdk.exporter.metric_data_point.exported", "userevents_metric_exporter/app"
	assert.Equal(t, map[string]int64{component: 5, component + " event_disabled": 2, component + " rejected": 3}, read(metric))
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Empty(t, read(metric), "nothing is published any more")
}

// TestLargestMillionths: the largest numbers whose millionths fit 64 bits have them, the next ones the end of the range.
func TestLargestMillionths(t *testing.T) {
	const most = math.MaxInt64 / 1_000_000
	r := newRig(t)
	tr := r.attach(t)
	for _, v := range []int64{most, -most, most + 1, -most - 1} {
		require.NoError(t, r.Export(t.Context(), data(metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: v}}})))
	}
	var got []string
	for _, rec := range decode(t, tr) {
		got = append(got, rec["value_micro"])
	}
	assert.Equal(t, []string{
		strconv.FormatInt(most*1_000_000, 10), strconv.FormatInt(-most*1_000_000, 10),
		strconv.FormatInt(math.MaxInt64, 10), strconv.FormatInt(math.MinInt64, 10),
	}, got)
}
