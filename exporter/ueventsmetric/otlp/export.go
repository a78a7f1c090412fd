package otlp

import (
	"context"
	"errors"
	"fmt"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/uevents"
)

// export is one call of Export.
type export struct {
	*Exporter
	ctx     context.Context
	buf     []byte
	written int   // points
	failed  int   // points
	stopped error // why the rest is not to be written
	err     error // of the first points that failed
}

var errTooLarge = errors.New("a data point does not fit an event, even without attributes and buckets")

func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if err := ctx.Err(); err != nil {
		return e.common.Prefix(fmt.Errorf("stopped before the first point: %w", err))
	}
	list, err := e.transformer.transform(ctx, rm)
	x := &export{Exporter: e, ctx: ctx, buf: make([]byte, 0, uevents.IndexSize+e.common.Limit)}
	p := &packer{limit: e.common.Limit - layout.FixedSize(), emit: x.write, truncated: func() { e.counts.truncated.Add(1) }}
	p.fail = func() { x.fail(1, errTooLarge) }
	for _, resource := range list {
		p.pack(resource)
	}
	return x.result(err)
}

// write writes one record.
func (x *export) write(r *collectorpb.ExportMetricsServiceRequest, points int) {
	if x.stopped == nil {
		x.stopped = x.ctx.Err()
	}
	if x.stopped != nil {
		return
	}
	var written bool
	var err error
	if x.buf, err = (proto.MarshalOptions{}).MarshalAppend(begin(x.buf), r); err == nil {
		end(x.buf)
		written, err = x.event.Write(x.buf, 0)
	}
	switch {
	case written:
		x.written += points
		x.counts.points.Add(uint64(points))
	case err == nil: // disabled or closed since the export began
		x.counts.dropped.Add(uint64(points))
	default:
		x.fail(points, err)
	}
}

func (x *export) fail(points int, err error) {
	x.failed += points
	x.counts.failed.Add(uint64(points))
	if x.err == nil {
		x.err = err
	}
}

// result returns the error of Export. The error of the transformation may be nil.
func (x *export) result(transformation error) error {
	if x.common.Closed() {
		return sdkmetric.ErrExporterShutdown
	}
	var errs []error
	if x.stopped != nil {
		errs = append(errs, x.common.Prefix(fmt.Errorf("stopped after %d points: %w", x.written, x.stopped)))
	}
	if x.err != nil {
		x.err = fmt.Errorf("%d points were not written: %w", x.failed, x.err)
	}
	if transformation != nil {
		x.err = errors.Join(x.err, fmt.Errorf("not all metrics are valid: %w", transformation))
	}
	return errors.Join(append(errs, x.common.Report(x.err))...)
}
