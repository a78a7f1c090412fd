package otlp

import (
	"cmp"
	"slices"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// keyDropped is the attribute of a point that lost attributes: their number. OpenTelemetry gives
// it this name where a format has no place of its own for that.
const keyDropped = "otel.dropped_attributes_count"

// The parts of a request that a resource and a scope may take at most.
const (
	resourceShare = 2
	scopeShare    = 4
)

// shrink leaves out of a point, and of its metric, what it can be understood without, until the
// point fits an empty request: exemplars, then the metric's description, attributes from the
// last on, and buckets. It returns the size of the point.
func (p *packer) shrink(i int) (size int) {
	pt := point(p.metric, i)
	for _, step := range []func(){
		func() { dropExemplars(pt) },
		func() {
			p.metric.Description = ""
			p.sizes.openMetric(p.metric)
		},
		func() { p.dropAttributes(pt) },
		func() { dropBuckets(pt) },
	} {
		step()
		if size = field(proto.Size(pt)); p.sizes.request(size) <= p.limit {
			break
		}
	}
	return size
}

func dropExemplars(pt proto.Message) {
	switch pt := pt.(type) {
	case *metricspb.NumberDataPoint:
		pt.Exemplars = nil
	case *metricspb.HistogramDataPoint:
		pt.Exemplars = nil
	case *metricspb.ExponentialHistogramDataPoint:
		pt.Exemplars = nil
	}
}

func dropBuckets(pt proto.Message) {
	switch pt := pt.(type) {
	case *metricspb.HistogramDataPoint:
		pt.ExplicitBounds, pt.BucketCounts = nil, nil
	case *metricspb.ExponentialHistogramDataPoint:
		pt.Positive, pt.Negative = nil, nil
	case *metricspb.SummaryDataPoint:
		pt.QuantileValues = nil
	}
}

// dropAttributes leaves out as many attributes as it takes, and says how many.
func (p *packer) dropAttributes(pt proto.Message) {
	attrs := attributesOf(pt)
	if attrs == nil || len(*attrs) == 0 {
		return
	}
	all := *attrs
	size := proto.Size(pt) + field(proto.Size(dropped(len(all))))
	keep := len(all)
	for keep > 0 && p.sizes.request(field(size)) > p.limit {
		keep--
		size -= field(proto.Size(all[keep]))
	}
	*attrs = append(slices.Clip(all[:keep]), dropped(len(all)-keep))
}

func dropped(n int) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: keyDropped, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(n)}}}
}

func attributesOf(pt proto.Message) *[]*commonpb.KeyValue {
	switch pt := pt.(type) {
	case *metricspb.NumberDataPoint:
		return &pt.Attributes
	case *metricspb.HistogramDataPoint:
		return &pt.Attributes
	case *metricspb.ExponentialHistogramDataPoint:
		return &pt.Attributes
	case *metricspb.SummaryDataPoint:
		return &pt.Attributes
	}
	return nil
}

// trimResource leaves attributes out of a resource that takes more than max bytes. OTLP has a
// field that says how many.
func trimResource(rm *metricspb.ResourceMetrics, max int) {
	if r := rm.GetResource(); r != nil {
		r.DroppedAttributesCount += trim(rm, &r.Attributes, max)
	}
}

// trimScope does so with a scope.
func trimScope(sm *metricspb.ScopeMetrics, max int) {
	if s := sm.GetScope(); s != nil {
		s.DroppedAttributesCount += trim(sm, &s.Attributes, max)
	}
}

// trim drops the largest of attributes until the message that they are part of takes max bytes
// at most, or none are left, and returns how many it dropped. Those that say what is what, such as
// service.name, are short.
func trim(m proto.Message, attrs *[]*commonpb.KeyValue, max int) (n uint32) {
	for len(*attrs) > 0 && proto.Size(m) > max {
		largest := slices.MaxFunc(*attrs, func(a, b *commonpb.KeyValue) int { return cmp.Compare(proto.Size(a), proto.Size(b)) })
		*attrs = slices.DeleteFunc(*attrs, func(kv *commonpb.KeyValue) bool { return kv == largest })
		n++
	}
	return n
}
