package events

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestMetricBatches: a reader of the SDK that exports in batches, an option since 1.47, writes each data point once.
func TestMetricBatches(t *testing.T) {
	k := ueventstest.New(t, nil)
	p := k.Provider()
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	e, err := ueventsmetric.NewExporter(program, ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	tool, err := k.Attach(ueventstest.Perf, program+"_metric_sum")
	require.NoError(t, err)
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e, sdkmetric.WithMaxExportBatchSize(2))))
	counter, err := provider.Meter("m").Int64Counter("n")
	require.NoError(t, err)
	for i := range 5 {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("i", i)))
	}
	require.NoError(t, provider.Shutdown(t.Context()))
	assert.Len(t, tool.Records(), 5)
}
