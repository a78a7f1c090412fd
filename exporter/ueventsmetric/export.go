package ueventsmetric

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/internal/bufpool"
)

// export is one call of Export.
type export struct {
	*Exporter
	ctx     context.Context
	service string
	scope   *instrumentation.Scope
	metric  *metricdata.Metrics

	encoder encoder // of the point that is being written
	stopped error   // why the rest is not to be written
	written int
	failed  int
	err     error // of the first point that failed
}

const keyServiceName = attribute.Key("service.name")

func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	buf := bufpool.Get()
	x := &export{Exporter: e, ctx: ctx}
	x.encoder.buf = *buf
	if v, ok := rm.Resource.Set().Value(keyServiceName); ok {
		x.service = attrs.Text(v)
	}
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		x.scope = &sm.Scope
		for j := range sm.Metrics {
			x.metric = &sm.Metrics[j]
			x.points()
		}
	}
	*buf = x.encoder.buf
	bufpool.Put(buf)
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

// begin begins the event of a point. It returns nil if it is not to be written.
func (x *export) begin(k kind) *encoder {
	o := &x.outlets[k]
	if !o.event.Enabled() || x.stop() {
		return nil
	}
	x.encoder.begin(o)
	x.encoder.origin(x)
	return &x.encoder
}

// end writes the event.
func (x *export) end(e *encoder) {
	written, err := e.o.event.WriteRecord(e.finish())
	if written {
		x.written++
		if e.cut > 0 {
			e.o.cut.Add(1)
		}
	} else if err = report.Quiet(err); err != nil {
		x.fail(err)
	}
}

// stop reports whether nothing is to be written any more.
func (x *export) stop() bool {
	if x.stopped == nil {
		x.stopped = x.ctx.Err()
	}
	return x.stopped != nil
}

func (x *export) fail(err error) {
	x.failed++
	if x.err == nil {
		x.err = err
	}
}

func (x *export) result() error {
	if x.closed.Load() {
		return sdkmetric.ErrExporterShutdown
	}
	var errs []error
	if x.stopped != nil {
		errs = append(errs, fmt.Errorf("ueventsmetric: stopped after %d points: %w", x.written, x.stopped))
	}
	if x.err != nil {
		errs = append(errs, x.errors.Report(fmt.Errorf("%d points were not written: %w", x.failed, x.err)))
	}
	return errors.Join(errs...)
}
