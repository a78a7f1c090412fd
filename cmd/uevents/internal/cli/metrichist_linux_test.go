package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// metricProgram is a program with an instrument of each kind.
type metricProgram struct {
	*ueventsmetric.Exporter
	reader *sdkmetric.ManualReader
	record func(context.Context)
	rounds int
}

// newMetricProgram returns a program whose events begin with name. Instruments that end in .int have integers.
func newMetricProgram(t *testing.T, name string, temporality sdkmetric.TemporalitySelector) *metricProgram {
	t.Helper()
	p := &metricProgram{}
	var err error
	p.Exporter, err = ueventsmetric.NewExporter(name, ueventsmetric.WithTemporalitySelector(temporality))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Shutdown(context.Background())) })
	p.reader = sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(p.Temporality))
	exponential := sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 20, MaxScale: 20}}
	m := sdkmetric.NewMeterProvider(sdkmetric.WithReader(p.reader),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "exponential.*"}, exponential))).Meter("hist")

	ints := func(v int64) metric.Int64ObservableOption {
		return metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(p.rounds) * v)
			return nil
		})
	}
	floats := func(v float64) metric.Float64ObservableOption {
		return metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(float64(p.rounds) * v)
			return nil
		})
	}
	must := func(_ any, err error) { require.NoError(t, err) }
	must(m.Int64ObservableCounter("observable.counter.int", ints(7)))
	must(m.Float64ObservableCounter("observable.counter.float", floats(0.5)))
	must(m.Int64ObservableUpDownCounter("observable.updown.int", ints(-1)))
	must(m.Float64ObservableUpDownCounter("observable.updown.float", floats(-1.5)))
	must(m.Int64ObservableGauge("observable.gauge.int", ints(2)))
	must(m.Float64ObservableGauge("observable.gauge.float", floats(2.5)))
	// An instrument of the same name is the same.
	p.record = func(ctx context.Context) {
		counter, err := m.Int64Counter("counter.int")
		require.NoError(t, err)
		counter.Add(ctx, 3)
		counterFloat, err := m.Float64Counter("counter.float")
		require.NoError(t, err)
		counterFloat.Add(ctx, 0.25)
		updown, err := m.Int64UpDownCounter("updown.int")
		require.NoError(t, err)
		updown.Add(ctx, -2)
		updownFloat, err := m.Float64UpDownCounter("updown.float")
		require.NoError(t, err)
		updownFloat.Add(ctx, 1.5)
		gauge, err := m.Int64Gauge("gauge.int")
		require.NoError(t, err)
		gauge.Record(ctx, 5)
		gaugeFloat, err := m.Float64Gauge("gauge.float")
		require.NoError(t, err)
		gaugeFloat.Record(ctx, 36.6)
		for _, kind := range []string{"histogram", "exponential"} {
			histogram, err := m.Int64Histogram(kind + ".int")
			require.NoError(t, err)
			histogram.Record(ctx, 4)
			histogram.Record(ctx, -10)
			histogramFloat, err := m.Float64Histogram(kind + ".float")
			require.NoError(t, err)
			histogramFloat.Record(ctx, 0)
			histogramFloat.Record(ctx, 1.125)
		}
	}
	return p
}

// added has what each round adds to the instruments that an event for increments may have, by event and field.
var added = map[string]map[string]map[string]float64{
	"sum": {
		"value_int":   {"counter.int": 3, "observable.counter.int": 7},
		"value_micro": {"counter.int": 3e6, "counter.float": 0.25e6, "observable.counter.int": 7e6, "observable.counter.float": 0.5e6},
	},
	"histogram": {
		"count":     {"histogram.int": 2, "histogram.float": 2},
		"sum_micro": {"histogram.int": -6e6, "histogram.float": 1.125e6},
	},
	"exp_histogram": {
		"count":      {"exponential.int": 2, "exponential.float": 2},
		"sum_micro":  {"exponential.int": -6e6, "exponential.float": 1.125e6},
		"zero_count": {"exponential.int": 0, "exponential.float": 1},
	},
}

// zeros is a metric with a point for each of these events, which adds nothing.
var zeros = &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
	{Name: "zeros", Data: metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: make([]metricdata.DataPoint[int64], 1)}},
	{Name: "zeros", Data: metricdata.Histogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: make([]metricdata.HistogramDataPoint[int64], 1)}},
	{Name: "zeros", Data: metricdata.ExponentialHistogram[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: make([]metricdata.ExponentialHistogramDataPoint[int64], 1)}},
}}}}

// round adds to all instruments and exports them.
func (p *metricProgram) round(t *testing.T) {
	t.Helper()
	p.rounds++
	p.record(t.Context())
	var rm metricdata.ResourceMetrics
	require.NoError(t, p.reader.Collect(t.Context(), &rm))
	require.NoError(t, p.Export(t.Context(), &rm))
}

// TestHistOfMetrics: of the events whose numbers may be summed, hist has what was added to each instrument since it is
// attached, whatever the temporality: points that are states have events of their own. On a kernel, that one sums.
func TestHistOfMetrics(t *testing.T) {
	counted := "in uevents"
	if !memoryOrKernel(t) && uevents.Probe(nil).ABI == uevents.ABIEnableAddress {
		counted = "in-kernel" // before, texts are no keys
	}
	delta := func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }
	for name, temporality := range map[string]sdkmetric.TemporalitySelector{
		"default": sdkmetric.DeltaTemporalitySelector, "cumulative": sdkmetric.CumulativeTemporalitySelector,
		"low_memory": sdkmetric.LowMemoryTemporalitySelector, "delta": delta,
	} {
		t.Run(name, func(t *testing.T) {
			name := fmt.Sprintf("metrichist_%d_%s", os.Getpid(), name)
			p := newMetricProgram(t, name, temporality)
			p.round(t)
			for suffix, fields := range added {
				for field, each := range fields {
					event := name + "_metric_" + suffix
					rows := p.hist(t, event, field, counted)
					require.Contains(t, rows, "zeros")
					delete(rows, "zeros")
					want := map[string]float64{}
					for instrument, v := range each {
						if temporality(kindOf(instrument)) == metricdata.DeltaTemporality {
							want[instrument] = histRounds * v
						}
					}
					if field == "value_int" {
						for instrument := range rows {
							if strings.HasSuffix(instrument, ".float") { // rounded: value_micro is for these
								delete(rows, instrument)
							}
						}
					}
					assert.Equal(t, want, rows, "%s %s", event, field)
				}
			}
		})
	}
}

// TestHistOfStates: hist says that the sum of states has no meaning.
func TestHistOfStates(t *testing.T) {
	t.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	testscale.HostOnly(t)
	name := fmt.Sprintf("histstates_%d", os.Getpid())
	newMetricProgram(t, name, sdkmetric.DeltaTemporalitySelector)
	for _, suffix := range []string{"updown_sum", "gauge", "summary", "cumulative_sum", "cumulative_histogram", "cumulative_exp_histogram"} {
		var stdout, stderr syncbuffer.Buffer
		e := newEnv()
		e.out, e.err = &stdout, &stderr
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it ends at once
		field := map[bool]string{true: "count", false: "value_int"}[strings.HasSuffix(suffix, "histogram") || suffix == "summary"]
		require.Equal(t, exitOK, run(ctx, e, []string{"hist", name + "_metric_" + suffix, "--by", "name", "--sum", field}), "%s", &stderr)
		assert.Contains(t, stderr.String(), "! user_events:"+name+"_metric_"+suffix+" has states: ")
	}
}

// histRounds is how many times a program adds to its instruments while hist counts.
const histRounds = 3

// hist returns what hist sums for each instrument while the program adds to all. It is counted there.
func (p *metricProgram) hist(t *testing.T, event, field, counted string) map[string]float64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr syncbuffer.Buffer
	e := newEnv()
	e.out, e.err = &stdout, &stderr
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, e, []string{"hist", event, "--by", "name", "--sum", field, "-o", "json", "--duration", time.Hour.String()})
	}()
	before := p.Stats()[event].Written
	testscale.Eventually(t, func() bool {
		require.NoError(t, p.Export(ctx, zeros))
		return p.Stats()[event].Written > before
	}, "hist is not attached to %s: %s", event, &stderr)
	for range histRounds {
		p.round(t)
	}
	cancel()
	require.Equal(t, exitOK, <-code, "%s", &stderr)
	assert.NotContains(t, stderr.String(), "has states")
	var h histogram
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &h), "%s", &stdout)
	require.Equal(t, counted, h.Counted, h.Reason)
	require.Zero(t, h.Dropped)
	rows := map[string]float64{}
	for _, row := range h.Rows {
		rows[row.Keys[0]] = row.Sum
	}
	return rows
}

// kindOf returns the kind of an instrument by its name.
func kindOf(instrument string) sdkmetric.InstrumentKind {
	switch {
	case strings.HasPrefix(instrument, "counter."):
		return sdkmetric.InstrumentKindCounter
	case strings.HasPrefix(instrument, "observable.counter."):
		return sdkmetric.InstrumentKindObservableCounter
	}
	return sdkmetric.InstrumentKindHistogram
}
