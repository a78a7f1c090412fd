package ueventsmetric_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/recordtest"
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
