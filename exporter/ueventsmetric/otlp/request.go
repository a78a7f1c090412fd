package otlp

import (
	"encoding/binary"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// EventName is the name of the event. All exporters of a machine share it, whatever their program and language.
const EventName = "otlp_metrics"

// version is what decoders look for. It is not the version of OTLP in use today, and has no NUL: it fills its field.
const version = "v0.19.00"

var declaration = tracepoint.MustParse(EventName + " u32 protocol; char[8] version; __rel_loc u8[] buffer")

// atRequest is where the request begins in a buffer for the kernel, behind the write index and the fixed fields. The last of these
// is the location of the request.
const atRequest = uevents.IndexSize + 4 + len(version) + 4

// request is an ExportMetricsServiceRequest that is being filled, in the event that it becomes. The messages around points are open
// while it is: a resource, a scope, a metric and its data, each begun with its first point. Their own fields come first in them, so
// that points are appended.
type request struct {
	wire
	resource, scope []byte // what is in front of scopes and of metrics
	metric          *metricdata.Metrics
	field           byte // of the metric, for its data
	temporality     uint64
	monotonic       bool

	open  [inMetric]int // where the open messages begin, the first depth of them
	depth int

	points, truncated int // data points in the request
}

// The messages around points by their depth: how many are open.
const (
	inResource = 1
	inScope    = 2
	inMetric   = 4 // with its data
)

// size returns the length of the event when the open messages are closed. It is exact: a length that grows by a byte counts.
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
		r.buf = append(append(r.buf[:0], make([]byte, uevents.IndexSize+4)...), version...) // protocol 0 is protobuf
		r.buf = append(r.buf, make([]byte, atRequest-len(r.buf))...)
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
		r.push(r.field)
		r.uvarint(2, r.temporality)
		r.uvarint(3, uint64(typedfield.Bool(r.monotonic)))
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

// end returns the event, with all messages closed. The request follows its location.
func (r *request) end() []byte {
	r.leave(0)
	binary.NativeEndian.PutUint32(r.buf[atRequest-4:], uint32(len(r.buf)-atRequest)<<16)
	return r.buf
}

// reset empties the request.
func (r *request) reset() {
	r.buf, r.depth, r.points, r.truncated = r.buf[:0], 0, 0, 0
}
