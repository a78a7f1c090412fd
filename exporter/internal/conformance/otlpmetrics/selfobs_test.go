package otlpmetrics

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
)

// TestMetricsOfTheExporter: what the exporter says of itself is what became of the points, and nothing else says
// anything about them.
func TestMetricsOfTheExporter(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	reader := sdkmetric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(old) })

	r := newRig(t)
	tr := r.attach(t)
	require.NoError(t, r.Export(t.Context(), series(10)))
	refused := series(3)
	refused.ScopeMetrics[0].Metrics[0].Data = metricdata.Sum[int64]{DataPoints: make([]metricdata.DataPoint[int64], 3)} // of no temporality
	require.Error(t, r.Export(t.Context(), refused))
	tr.Detach()
	require.NoError(t, r.Export(t.Context(), series(10)), "points while the event is disabled do not count")

	list := published(t, reader)
	require.Len(t, list, 1, "%v", list)
	got := list[0]
	assert.Equal(t, "otel.sdk.exporter.metric_data_point.exported", got.Name)
	point := func(value int64, more ...attribute.KeyValue) metricdata.DataPoint[int64] {
		const kind = "userevents_metric_exporter"
		set := append(more, attribute.String("otel.component.name", kind+"/otlp_metrics"), attribute.String("otel.component.type", kind))
		return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(set...), Value: value}
	}
	metricdatatest.AssertAggregationsEqual(t, metricdata.Sum[int64]{
		Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
		DataPoints: []metricdata.DataPoint[int64]{
			point(10), point(0, attribute.String("error.type", "event_disabled")), point(3, attribute.String("error.type", "rejected")),
		},
	}, got.Data, metricdatatest.IgnoreTimestamp())

	require.NoError(t, r.Shutdown(t.Context()))
	assert.Empty(t, published(t, reader), "it ends with the exporter")
}

// published returns the metrics that are about exporters.
func published(t *testing.T, reader *sdkmetric.ManualReader) (list []metricdata.Metrics) {
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &rm))
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if strings.HasPrefix(m.Name, "otel.sdk.exporter.") {
				list = append(list, m)
			}
		}
	}
	return list
}
