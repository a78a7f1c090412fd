package otlp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

var errTooLarge = errors.New("a data point does not fit an event, even without attributes and buckets")

// cut is how much of a point that fits no event is cut: each of these with all before it in this list.
type cut uint8

const (
	cutNothing cut = iota
	cutExemplars
	cutDescription // of the metric
	cutTexts       // of attributes
	cutBuckets     // and quantiles, and the last attributes
	cuts
)

type export struct {
	*Exporter
	component.Batch
	request
	cut    cut                // of the point that is being written
	lost   int                // attributes that were dropped of it
	counts uevents.EventStats // of points
}

// exports keeps the buffers of exports, which are not much larger than an event.
var exports = sync.Pool{New: func() any { return new(export) }}

// export writes all points, in their order, into one request after the other, each with the resource, the scopes and the metrics
// that its points belong to.
func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	x := exports.Get().(*export)
	x.Exporter, x.Batch, x.limit = e, e.common.Batch(ctx, "points"), uevents.IndexSize+e.common.Limit
	room := x.limit - atRequest
	x.resource = x.origin(x.resource, "", "", 1, rm.Resource.Set(), rm.Resource.SchemaURL(), room/2)
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		s := &sm.Scope
		x.scope = x.origin(x.scope, s.Name, s.Version, 3, &s.Attributes, s.SchemaURL, room/4)
		for j := range sm.Metrics {
			x.metric = &sm.Metrics[j]
			x.pack()
			x.leave(inScope)
		}
		x.leave(inResource)
	}
	x.send()
	e.count(x.counts)
	err := x.End(sdkmetric.ErrExporterShutdown)
	*x = export{request: request{wire: wire{buf: x.buf[:0]}, resource: x.resource, scope: x.scope}}
	exports.Put(x)
	return err
}

// origin returns a resource, or a scope with its name and version, and the URL of its schema, in dst. Its attributes, a field with
// this number, are cut if it would take more than most bytes. OTLP has a field for how many are missing, the next one.
func (x *export) origin(dst []byte, name, version string, attributes byte, set *attribute.Set, schemaURL string, most int) []byte {
	const headers = 24 // of all fields
	w := wire{limit: x.limit}
	for _, room := range [...]int{math.MaxInt, most - len(name) - len(version) - len(schemaURL) - headers} {
		w.buf = dst[:0]
		at := w.message(1)
		w.text(1, name)
		w.text(2, version)
		_, dropped := w.attributes(attributes, set, room)
		w.uvarint(attributes+1, uint64(dropped))
		w.close(at)
		w.text(3, schemaURL)
		if len(w.buf) <= most {
			break
		}
	}
	return w.buf
}

// pack adds the points of the metric. Field numbers are those of opentelemetry.proto.metrics.v1.
func (x *export) pack() {
	switch d := x.metric.Data.(type) {
	case metricdata.Gauge[int64]:
		addAll(x, 5, nil, false, d.DataPoints, number[int64])
	case metricdata.Gauge[float64]:
		addAll(x, 5, nil, false, d.DataPoints, number[float64])
	case metricdata.Sum[int64]:
		addAll(x, 7, &d.Temporality, d.IsMonotonic, d.DataPoints, number[int64])
	case metricdata.Sum[float64]:
		addAll(x, 7, &d.Temporality, d.IsMonotonic, d.DataPoints, number[float64])
	case metricdata.Histogram[int64]:
		addAll(x, 9, &d.Temporality, false, d.DataPoints, histogram[int64])
	case metricdata.Histogram[float64]:
		addAll(x, 9, &d.Temporality, false, d.DataPoints, histogram[float64])
	case metricdata.ExponentialHistogram[int64]:
		addAll(x, 10, &d.Temporality, false, d.DataPoints, expHistogram[int64])
	case metricdata.ExponentialHistogram[float64]:
		addAll(x, 10, &d.Temporality, false, d.DataPoints, expHistogram[float64])
	case metricdata.Summary:
		addAll(x, 11, nil, false, d.DataPoints, summary)
	default:
		x.fail(1, fmt.Errorf("metric %q: unknown aggregation %T", x.metric.Name, d))
	}
}

// addAll adds the points of the metric, which put writes. The temporality is nil where there is none.
func addAll[P any](x *export, field byte, t *metricdata.Temporality, monotonic bool, points []P, put func(*export, *P)) {
	x.field, x.temporality, x.monotonic = field, 0, monotonic
	switch {
	case t == nil || len(points) == 0:
	case *t == metricdata.DeltaTemporality:
		x.temporality = 1
	case *t == metricdata.CumulativeTemporality:
		x.temporality = 2
	default: // OTLP forbids to leave it open
		x.fail(len(points), fmt.Errorf("metric %q: unknown temporality %d", x.metric.Name, *t))
		return
	}
	for i := 0; i < len(points) && (x.points > 0 || !x.Stopped()); i++ {
		add(x, &points[i], put)
	}
}

// add adds a point to the request. If it does not fit, the request is sent, and the point begins the next one. Of a point that does
// not fit alone, more and more is cut.
func add[P any](x *export, p *P, put func(*export, *P)) {
	for x.cut = cutNothing; x.cut < cuts; {
		length, depth := len(x.buf), x.depth
		x.enter(x.cut < cutDescription)
		at := x.message(1)
		put(x, p)
		x.close(at)
		switch {
		case x.size() <= x.limit && (x.lost == 0 || x.cut == cutBuckets):
			x.points++
			x.truncated += min(1, int(x.cut))
			return
		case x.points > 0:
			x.buf, x.depth = x.buf[:length], depth
			if x.send(); x.Stopped() {
				return
			}
		default:
			x.reset()
			x.cut++
		}
	}
	x.fail(1, errTooLarge)
}

// attributes writes the attributes of a point, as its last field. If some are cut or dropped, the last one says how many.
func (x *export) attributes(field byte, set *attribute.Set) {
	limit := math.MaxInt
	if x.cut >= cutTexts {
		const mark = len(attrs.TruncatedKey) + 10
		limit = x.limit - x.size() - mark - 2*(inMetric+1) // lengths of the point and of the messages around it grow up to 3 bytes
	}
	var truncated int
	truncated, x.lost = x.wire.attributes(field, set, limit)
	if truncated > 0 {
		x.keyValue(field, attribute.Int(attrs.TruncatedKey, truncated))
	}
}

// send writes the request, if it has points. It is empty then.
func (x *export) send() {
	if x.points == 0 {
		return
	}
	written, err := x.event.Write(x.end(), 0)
	switch n := uint64(x.points); {
	case written:
		x.Wrote(x.points)
		x.counts.Written += n
		x.counts.Truncated += uint64(x.truncated)
	case err == nil: // disabled or closed since the export began
		x.counts.Disabled += n
	default:
		x.fail(x.points, err)
	}
	x.reset()
}

func (x *export) fail(points int, err error) {
	x.Fail(points, err)
	x.counts.Refused += uint64(points)
}

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

func (r *request) reset() {
	r.buf, r.depth, r.points, r.truncated = r.buf[:0], 0, 0, 0
}
