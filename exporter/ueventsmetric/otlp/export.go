package otlp

import (
	"context"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/uevents"
)

// export is one call of Export.
type export struct {
	*Exporter
	component.Batch
	request
	cut     cut  // of the point that is being written
	stopped bool // the context was done when it was asked, which it is for each event
}

// exports keeps the buffers of exports, which are not much larger than an event.
var exports = sync.Pool{New: func() any { return new(export) }}

func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	x := exports.Get().(*export)
	x.Exporter, x.Batch, x.limit = e, e.common.Batch(ctx, "points"), uevents.IndexSize+e.common.Limit
	if !x.Stopped() {
		x.pack(rm)
	}
	err := x.End(sdkmetric.ErrExporterShutdown)
	*x = export{request: request{wire: wire{buf: x.buf[:0]}, resource: x.resource, scope: x.scope}}
	exports.Put(x)
	return err
}

// send ends the request and writes it, unless the export is stopped. The request is empty then.
func (x *export) send() {
	if x.stopped = x.Stopped(); !x.stopped {
		x.leave(0)
		x.write()
	}
	x.reset()
}

func (x *export) write() {
	end(x.buf)
	written, err := x.event.Write(x.buf, x.points.truncated)
	switch n := x.points.all; {
	case written:
		x.Wrote(n)
		x.counts.written.Add(uint64(n))
		x.counts.truncated.Add(uint64(x.points.truncated))
	case err == nil: // disabled or closed since the export began
		x.counts.disabled.Add(uint64(n))
	default:
		x.fail(n, err)
	}
}

func (x *export) fail(points int, err error) {
	x.Fail(points, err)
	x.counts.refused.Add(uint64(points))
}
