package ueventsmetric

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// export is one call of Export.
type export struct {
	*Exporter
	ctx      context.Context
	resource *attrs.Described
	scope    *instrumentation.Scope
	metric   *metricdata.Metrics

	stopped error // why the rest is not to be written
	written int
	failed  int
	err     error // of the first point that failed
}

func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	x := &export{Exporter: e, ctx: ctx, resource: e.common.Resources.Describe(rm.Resource)}
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		x.scope = &sm.Scope
		for j := range sm.Metrics {
			x.metric = &sm.Metrics[j]
			x.points()
		}
	}
	return x.result()
}

// points writes the points of the metric.
func (x *export) points() {
	switch d := x.metric.Data.(type) {
	case metricdata.Gauge[int64]:
		numbers(x, gauge, d.DataPoints, 0, false)
	case metricdata.Gauge[float64]:
		numbers(x, gauge, d.DataPoints, 0, false)
	case metricdata.Sum[int64]:
		numbers(x, sum, d.DataPoints, d.Temporality, d.IsMonotonic)
	case metricdata.Sum[float64]:
		numbers(x, sum, d.DataPoints, d.Temporality, d.IsMonotonic)
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
		x.fail(fmt.Errorf("metric %q: unknown aggregation %T", x.metric.Name, d))
	}
}

// enabled reports whether a point of that kind is to be written: its event is enabled and the export is not stopped.
func (x *export) enabled(k kind) bool {
	if !x.events[k].Enabled() {
		return false
	}
	if x.stopped == nil {
		x.stopped = x.ctx.Err()
	}
	return x.stopped == nil
}

func (x *export) fail(err error) {
	x.failed++
	if x.err == nil {
		x.err = err
	}
}

func (x *export) result() error {
	if x.common.Closed() {
		return sdkmetric.ErrExporterShutdown
	}
	var errs []error
	if x.stopped != nil {
		errs = append(errs, x.common.Prefix(fmt.Errorf("stopped after %d points: %w", x.written, x.stopped)))
	}
	if x.err != nil {
		errs = append(errs, x.common.Report(fmt.Errorf("%d points were not written: %w", x.failed, x.err)))
	}
	return errors.Join(errs...)
}
