package ueventsmetric

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
)

// export is one call of Export.
type export struct {
	*Exporter
	component.Batch
	resource *attrs.Described
	scope    *instrumentation.Scope
	metric   *metricdata.Metrics
}

func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	x := &export{Exporter: e, Batch: e.common.Batch(ctx, "points"), resource: e.common.Resources.Describe(rm.Resource)}
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		x.scope = &sm.Scope
		for j := range sm.Metrics {
			x.metric = &sm.Metrics[j]
			x.points()
		}
	}
	return x.End(sdkmetric.ErrExporterShutdown)
}

// points writes the points of the metric.
func (x *export) points() {
	switch d := x.metric.Data.(type) {
	case metricdata.Gauge[int64]:
		numbers(x, gauge, d.DataPoints, 0, false)
	case metricdata.Gauge[float64]:
		numbers(x, gauge, d.DataPoints, 0, false)
	case metricdata.Sum[int64]:
		numbers(x, sumOf(d.Temporality, d.IsMonotonic), d.DataPoints, d.Temporality, d.IsMonotonic)
	case metricdata.Sum[float64]:
		numbers(x, sumOf(d.Temporality, d.IsMonotonic), d.DataPoints, d.Temporality, d.IsMonotonic)
	case metricdata.Histogram[int64]:
		histograms(x, d.DataPoints, d.Temporality)
	case metricdata.Histogram[float64]:
		histograms(x, d.DataPoints, d.Temporality)
	case metricdata.ExponentialHistogram[int64]:
		expHistograms(x, d.DataPoints, d.Temporality)
	case metricdata.ExponentialHistogram[float64]:
		expHistograms(x, d.DataPoints, d.Temporality)
	case metricdata.Summary:
		summaries(x, d.DataPoints)
	default:
		x.Fail(1, fmt.Errorf("metric %q: unknown aggregation %T", x.metric.Name, d))
	}
}

// enabled reports whether a point of that kind is to be written: its event is enabled and the export is not stopped.
func (x *export) enabled(k kind) bool { return x.events[k].Enabled() && !x.Stopped() }
