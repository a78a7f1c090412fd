package selfobs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/userevents/userevents-go/uevents"
)

// collect returns the only published metric, or nil.
func collect(t *testing.T, reader sdkmetric.Reader) *metricdata.Metrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &rm))
	if len(rm.ScopeMetrics) == 0 || len(rm.ScopeMetrics[0].Metrics) == 0 {
		return nil
	}
	require.Len(t, rm.ScopeMetrics[0].Metrics, 1)
	return &rm.ScopeMetrics[0].Metrics[0]
}

func TestPublish(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(old)
	read := func() uevents.EventStats { return uevents.EventStats{Written: 5, Disabled: 2, Refused: 1} }

	t.Setenv(env, "")
	stop, err := SpanProcessor.Publish("app", read)
	require.NoError(t, err)
	assert.Nil(t, collect(t, reader), "not asked for")
	require.NoError(t, stop())

	t.Setenv(env, "True")
	for metric, c := range map[string]Component{
		"otel.sdk.processor.span.processed":            SpanProcessor,
		"otel.sdk.exporter.span.exported":              SpanExporter,
		"otel.sdk.processor.log.processed":             LogProcessor,
		"otel.sdk.exporter.log.exported":               LogExporter,
		"otel.sdk.exporter.metric_data_point.exported": MetricExporter,
	} {
		stop, err := c.Publish("app", read)
		require.NoError(t, err)
		got := collect(t, reader)
		require.NotNil(t, got)
		assert.Equal(t, metric, got.Name)
		assert.NotEmpty(t, got.Description)
		assert.NotEmpty(t, got.Unit)
		point := func(value int64, more ...attribute.KeyValue) metricdata.DataPoint[int64] {
			set := append(more, attribute.String("otel.component.name", c.kind+"/app"), attribute.String("otel.component.type", c.kind))
			return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(set...), Value: value}
		}
		metricdatatest.AssertAggregationsEqual(t, metricdata.Sum[int64]{
			Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
			DataPoints: []metricdata.DataPoint[int64]{
				point(5), point(2, attribute.String("error.type", "event_disabled")), point(1, attribute.String("error.type", "rejected")),
			},
		}, got.Data, metricdatatest.IgnoreTimestamp())
		require.NoError(t, stop())
		assert.Nil(t, collect(t, reader), "it ends")
	}
}
