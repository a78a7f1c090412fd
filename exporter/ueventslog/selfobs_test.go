package ueventslog_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/ueventslog"
)

// TestMetrics: a log record counts once, also if it is written to two events.
func TestMetrics(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	reader := sdkmetric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(old)
	rig, tr := traced(t, ueventslog.WithDeclarations(httpRequest))
	rig.logger().Emit(t.Context(), event(log.SeverityInfo, "http.request"))
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m"))
	require.Len(t, tr.Records(), 3)
	value := func() (n int64) {
		var rm metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &rm))
		for _, scope := range rm.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name == "otel.sdk.processor.log.processed" && scope.Scope.Name == "github.com/userevents/userevents-go/exporter" {
					for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
						n += p.Value
					}
				}
			}
		}
		return n
	}
	assert.EqualValues(t, 2, value())
	require.NoError(t, rig.Shutdown(t.Context()))
	assert.Zero(t, value(), "nothing is published any more")
}
