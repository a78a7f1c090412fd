package ueventsmetric_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
	reader := sdkmetric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(old)

	k := ueventstest.New(t, nil)
	kernel := &refusing{Backend: backend.OpenSimulated(k)}
	borrowed := backend.NewProvider(kernel).(*uevents.Provider)
	defer func() { require.NoError(t, borrowed.Close()) }()
	e, err := ueventsmetric.NewExporter("app", ueventsmetric.WithProvider(borrowed))
	require.NoError(t, err)
	tool, err := k.Attach(ueventstest.Ftrace, "app_*")
	require.NoError(t, err)

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

	values := func() map[string]int64 {
		var rm metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &rm))
		values := map[string]int64{}
		for _, scope := range rm.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name == "otel.sdk.exporter.metric_data_point.exported" {
					for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
						kind, _ := p.Attributes.Value(attribute.Key("error.type"))
						values[kind.AsString()] = p.Value
					}
				}
			}
		}
		return values
	}
	assert.Equal(t, map[string]int64{"": 5, "event_disabled": 2, "rejected": 3}, values())
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Empty(t, values(), "nothing is published any more")
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
