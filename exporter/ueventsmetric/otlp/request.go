package otlp

import (
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// request is an ExportMetricsServiceRequest that is being filled, in the event that it becomes. The messages around
// points are open while it is: a resource, a scope, a metric and its data, each begun with its first point. Their own
// fields come first in them, so that points are appended.
type request struct {
	wire
	resource, scope []byte // what is in front of scopes and of metrics
	metric          *metricdata.Metrics
	kind            kind

	open  [openMessages]int // where the open messages begin, the first depth of them
	depth int

	points points // in the request
}

// points counts data points.
type points struct{ all, truncated int }

// The messages around points by their depth: how many are open.
const (
	inResource = 1 + iota
	inScope
	_ // a metric is open with its data
	inMetric
	openMessages = inMetric
)

// maxLengthSize is how many bytes the length of a message takes at most: the limit of an event has 16 bits.
const maxLengthSize = 3

// kind is what the points of a metric have in common.
type kind struct {
	field       byte // of the metric
	temporality uint64
	monotonic   bool
}

// Field numbers of the kinds of metrics.
const (
	gaugeField        = 5
	sumField          = 7
	histogramField    = 9
	expHistogramField = 10
	summaryField      = 11
)

// size returns the length of the event when the open messages are closed. It is exact: a length that grows by a byte
// counts.
func (r *request) size() int {
	grown := 0
	for i := r.depth - 1; i >= 0; i-- {
		grown += lengthSize(len(r.buf)-r.open[i]+grown) - 1
	}
	return len(r.buf) + grown
}

// enter opens the messages around a point of the metric, as far as they are not open.
func (r *request) enter(description bool) {
	if r.depth < inResource {
		r.buf = begin(r.buf)
		r.push(1)
		r.buf = append(r.buf, r.resource...)
	}
	if r.depth < inScope {
		r.push(2)
		r.buf = append(r.buf, r.scope...)
	}
	if r.depth < inMetric {
		r.push(2)
		r.text(1, r.metric.Name)
		if description {
			r.text(2, r.metric.Description)
		}
		r.text(3, r.metric.Unit)
		r.push(r.kind.field)
		r.uvarint(2, r.kind.temporality)
		r.uvarint(3, bit(r.kind.monotonic))
	}
}

func (r *request) push(field byte) {
	r.open[r.depth] = r.message(field)
	r.depth++
}

// leave closes the messages that are deeper.
func (r *request) leave(depth int) {
	for r.depth > depth {
		r.depth--
		r.close(r.open[r.depth])
	}
}

// reset empties the request.
func (r *request) reset() {
	r.buf, r.depth, r.points = r.buf[:0], 0, points{}
}
