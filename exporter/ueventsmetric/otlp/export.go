package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/uevents"
)

// export is one call of Export.
type export struct {
	*Exporter
	request
	ctx context.Context
	cut cut // of the point that is being written

	written int   // points
	failed  int   // points
	stopped error // why the rest is not to be written
	err     error // of the first points that failed
}

// exports keeps the buffers of exports, which are not much larger than an event.
var exports = sync.Pool{New: func() any { return new(export) }}

func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return e.common.Prefix(fmt.Errorf("stopped before the first point: %w", err))
	}
	x := exports.Get().(*export)
	x.Exporter, x.ctx, x.limit = e, ctx, uevents.IndexSize+e.common.Limit
	x.pack(rm)
	err := x.result()
	*x = export{request: request{wire: wire{buf: x.buf[:0]}, resource: x.resource, scope: x.scope}}
	exports.Put(x)
	return err
}

// send ends the request and writes it. The request is empty then.
func (x *export) send() {
	x.leave(0)
	x.write()
	x.reset()
}

func (x *export) write() {
	if x.stopped = x.ctx.Err(); x.stopped != nil {
		return
	}
	end(x.buf)
	written, err := x.event.Write(x.buf, x.points.truncated)
	switch n := x.points.all; {
	case written:
		x.written += n
		x.counts.points.Add(uint64(n))
		x.counts.truncated.Add(uint64(x.points.truncated))
	case err == nil: // disabled or closed since the export began
		x.counts.dropped.Add(uint64(n))
	default:
		x.fail(n, err)
	}
}

func (x *export) fail(points int, err error) {
	x.failed += points
	x.counts.failed.Add(uint64(points))
	if x.err == nil {
		x.err = err
	}
}

// result returns the error of Export.
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
