package ueventstrace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestMetrics: a span counts once, however many records it makes.
func TestMetrics(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	reader := sdkmetric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(old)
	rig, _ := traced(t)
	spans["everything"](t, rig.tracer())
	spans["a root"](t, rig.tracer())
	value := func() (n int64) {
		var rm metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &rm))
		for _, scope := range rm.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name != "otel.sdk.processor.span.processed" || scope.Scope.Name != "github.com/userevents/userevents-go/exporter" {
					continue
				}
				for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
					n += p.Value
				}
			}
		}
		return n
	}
	assert.EqualValues(t, 2, value())
	require.NoError(t, rig.Shutdown(t.Context()))
	assert.Zero(t, value(), "nothing is published any more")
}
