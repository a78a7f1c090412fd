package otlp

import (
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// packer splits metrics into requests of at most limit bytes, each with the resource, the
// scopes and the metrics that its points belong to. It fills one request after the other, in the
// order of the points.
type packer struct {
	limit     int
	emit      func(r *collectorpb.ExportMetricsServiceRequest, points int) // takes a request that is complete
	fail      func()                                                       // is called for a point that fits no request
	truncated func()                                                       // is called for a point that loses something

	resource *metricspb.ResourceMetrics // what is open
	scope    *metricspb.ScopeMetrics
	metric   *metricspb.Metric
	first    int // of the metric's points in this request
	sizes    sizes

	scopes  []*metricspb.ScopeMetrics // what is closed, of this request
	metrics []*metricspb.Metric       // of the open scope
	points  int
}

// pack splits the metrics of a resource. It changes them.
func (p *packer) pack(rm *metricspb.ResourceMetrics) {
	scopes := rm.GetScopeMetrics()
	p.openResource(rm)
	for _, sm := range scopes {
		metrics := sm.GetMetrics()
		p.openScope(sm)
		for _, m := range metrics {
			p.openMetric(m, 0)
			n := points(m)
			for i := range n {
				p.add(i)
			}
			p.closeMetric(n)
		}
		p.closeScope()
	}
	p.send()
}

// add adds a point of the open metric.
func (p *packer) add(i int) {
	size := field(proto.Size(point(p.metric, i)))
	if p.sizes.request(size) > p.limit && p.points > 0 {
		p.next(i)
	}
	if p.sizes.request(size) > p.limit {
		p.truncated()
		if size = p.shrink(i); p.sizes.request(size) > p.limit {
			p.fail()
			p.openMetric(p.metric, i+1)
			return
		}
	}
	p.sizes.data += size
	p.points++
}

// next sends the request and goes on with the same metric in a new one.
func (p *packer) next(i int) {
	scope, metric := p.scope, p.metric
	p.closeMetric(i)
	p.closeScope()
	p.send()
	p.openScope(scope)
	p.openMetric(metric, i)
}

func (p *packer) openResource(rm *metricspb.ResourceMetrics) {
	p.resource = &metricspb.ResourceMetrics{Resource: rm.GetResource(), SchemaUrl: rm.GetSchemaUrl()}
	trimResource(p.resource, p.limit/resourceShare)
	p.sizes.resource = proto.Size(p.resource)
}

func (p *packer) openScope(sm *metricspb.ScopeMetrics) {
	p.scope = &metricspb.ScopeMetrics{Scope: sm.GetScope(), SchemaUrl: sm.GetSchemaUrl()}
	trimScope(p.scope, p.limit/scopeShare)
	p.sizes.scope = proto.Size(p.scope)
}

func (p *packer) openMetric(m *metricspb.Metric, first int) {
	p.metric, p.first = m, first
	p.sizes.openMetric(m)
}

// closeMetric puts the metric's points before the one given into the request.
func (p *packer) closeMetric(end int) {
	if p.first < end {
		p.metrics = append(p.metrics, part(p.metric, p.first, end))
		p.sizes.closeMetric()
	}
}

// closeScope puts the scope into the request, unless it has no metrics.
func (p *packer) closeScope() {
	if len(p.metrics) > 0 {
		p.scope.Metrics = p.metrics
		p.scopes = append(p.scopes, p.scope)
		p.sizes.closeScope()
	}
	p.metrics = nil
}

// send hands the request over, unless it is empty.
func (p *packer) send() {
	if p.points > 0 {
		p.resource.ScopeMetrics = p.scopes
		p.emit(&collectorpb.ExportMetricsServiceRequest{ResourceMetrics: []*metricspb.ResourceMetrics{p.resource}}, p.points)
	}
	p.resource.ScopeMetrics = nil
	p.sizes.resource = proto.Size(p.resource)
	p.scopes, p.points = nil, 0
}
