package otlp

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

var errTooLarge = errors.New("a data point does not fit an event, even without attributes and buckets")

// The parts of an event that a resource and a scope may take at most.
const (
	resourceShare = 2
	scopeShare    = 4
)

// pack writes all points, in their order, into one request after the other, each with the resource, the scopes and
// the metrics that its points belong to.
func (x *export) pack(rm *metricdata.ResourceMetrics) {
	x.resource = x.origin(x.resource, "", "", 1, rm.Resource.Set(), rm.Resource.SchemaURL(), resourceShare)
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		s := &sm.Scope
		x.scope = x.origin(x.scope, s.Name, s.Version, scopeAttributes, &s.Attributes, s.SchemaURL, scopeShare)
		for j := range sm.Metrics {
			x.metric = &sm.Metrics[j]
			x.packMetric()
			x.leave(inScope)
		}
		x.leave(inResource)
	}
	if x.points.all > 0 {
		x.send()
	}
}

// origin returns what is written of a resource or a scope, in dst, which may take that part of an event.
func (x *export) origin(dst []byte, name, version string, attributes byte, set *attribute.Set, schemaURL string, share int) []byte {
	w := wire{buf: dst[:0], limit: x.limit}
	w.origin(name, version, attributes, set, schemaURL, (x.limit-atRequest)/share)
	return w.buf
}

func (x *export) packMetric() {
	switch d := x.metric.Data.(type) {
	case metricdata.Gauge[int64]:
		addAll(x, gaugeField, nil, false, d.DataPoints, number[int64])
	case metricdata.Gauge[float64]:
		addAll(x, gaugeField, nil, false, d.DataPoints, number[float64])
	case metricdata.Sum[int64]:
		addAll(x, sumField, &d.Temporality, d.IsMonotonic, d.DataPoints, number[int64])
	case metricdata.Sum[float64]:
		addAll(x, sumField, &d.Temporality, d.IsMonotonic, d.DataPoints, number[float64])
	case metricdata.Histogram[int64]:
		addAll(x, histogramField, &d.Temporality, false, d.DataPoints, histogram[int64])
	case metricdata.Histogram[float64]:
		addAll(x, histogramField, &d.Temporality, false, d.DataPoints, histogram[float64])
	case metricdata.ExponentialHistogram[int64]:
		addAll(x, expHistogramField, &d.Temporality, false, d.DataPoints, expHistogram[int64])
	case metricdata.ExponentialHistogram[float64]:
		addAll(x, expHistogramField, &d.Temporality, false, d.DataPoints, expHistogram[float64])
	case metricdata.Summary:
		addAll(x, summaryField, nil, false, d.DataPoints, summary)
	default:
		x.fail(1, fmt.Errorf("metric %q: unknown aggregation %T", x.metric.Name, d))
	}
}

// addAll adds the points of the metric, which is a field of this number. The temporality is nil where there is none.
func addAll[P any](x *export, field byte, t *metricdata.Temporality, monotonic bool, points []P, put func(*export, *P)) {
	if len(points) == 0 {
		return
	}
	x.kind = kind{field: field, monotonic: monotonic}
	switch {
	case t == nil:
	case *t == metricdata.DeltaTemporality:
		x.kind.temporality = 1
	case *t == metricdata.CumulativeTemporality:
		x.kind.temporality = 2
	default: // OTLP forbids to leave it open
		x.fail(len(points), fmt.Errorf("metric %q: unknown temporality %d", x.metric.Name, *t))
		return
	}
	for i := 0; i < len(points) && !x.stopped; i++ {
		add(x, &points[i], put)
	}
}

// add adds a point to the request. If it does not fit, the request is sent, and the point begins the next one.
func add[P any](x *export, p *P, put func(*export, *P)) {
	length, depth := len(x.buf), x.depth
	x.cut = cutNothing
	if try(x, p, put) {
		return
	}
	if x.points.all > 0 {
		x.buf, x.depth = x.buf[:length], depth
		if x.send(); x.stopped || try(x, p, put) {
			return
		}
	}
	for x.cut++; x.cut < cuts; x.cut++ {
		x.reset()
		if try(x, p, put) {
			x.points.truncated++
			return
		}
	}
	x.reset()
	x.fail(1, errTooLarge)
}

// try adds a point, and reports whether the request still fits an event. If not, the caller undoes it.
func try[P any](x *export, p *P, put func(*export, *P)) bool {
	x.enter(x.cut < cutDescription)
	at := x.message(1)
	put(x, p)
	x.close(at)
	if x.size() > x.limit {
		return false
	}
	x.points.all++
	return true
}
