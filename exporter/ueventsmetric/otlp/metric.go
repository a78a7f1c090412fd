package otlp

import (
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// The five kinds of metrics have five types of points, with nothing in common that protobuf's
// generated code would offer. What is done to all of them alike is here.

// points returns how many points a metric has.
func points(m *metricspb.Metric) int {
	switch d := m.GetData().(type) {
	case *metricspb.Metric_Gauge:
		return len(d.Gauge.GetDataPoints())
	case *metricspb.Metric_Sum:
		return len(d.Sum.GetDataPoints())
	case *metricspb.Metric_Histogram:
		return len(d.Histogram.GetDataPoints())
	case *metricspb.Metric_ExponentialHistogram:
		return len(d.ExponentialHistogram.GetDataPoints())
	case *metricspb.Metric_Summary:
		return len(d.Summary.GetDataPoints())
	}
	return 0
}

// point returns one of the points.
func point(m *metricspb.Metric, i int) proto.Message {
	switch d := m.GetData().(type) {
	case *metricspb.Metric_Gauge:
		return d.Gauge.GetDataPoints()[i]
	case *metricspb.Metric_Sum:
		return d.Sum.GetDataPoints()[i]
	case *metricspb.Metric_Histogram:
		return d.Histogram.GetDataPoints()[i]
	case *metricspb.Metric_ExponentialHistogram:
		return d.ExponentialHistogram.GetDataPoints()[i]
	case *metricspb.Metric_Summary:
		return d.Summary.GetDataPoints()[i]
	}
	return nil
}

// part returns the metric with the points from begin to end only, which it shares.
func part(m *metricspb.Metric, begin, end int) *metricspb.Metric {
	p := &metricspb.Metric{Name: m.GetName(), Description: m.GetDescription(), Unit: m.GetUnit(), Metadata: m.GetMetadata()}
	switch d := m.GetData().(type) {
	case *metricspb.Metric_Gauge:
		p.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: d.Gauge.GetDataPoints()[begin:end]}}
	case *metricspb.Metric_Sum:
		p.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{
			DataPoints:             d.Sum.GetDataPoints()[begin:end],
			AggregationTemporality: d.Sum.GetAggregationTemporality(), IsMonotonic: d.Sum.GetIsMonotonic(),
		}}
	case *metricspb.Metric_Histogram:
		p.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{
			DataPoints:             d.Histogram.GetDataPoints()[begin:end],
			AggregationTemporality: d.Histogram.GetAggregationTemporality(),
		}}
	case *metricspb.Metric_ExponentialHistogram:
		p.Data = &metricspb.Metric_ExponentialHistogram{ExponentialHistogram: &metricspb.ExponentialHistogram{
			DataPoints:             d.ExponentialHistogram.GetDataPoints()[begin:end],
			AggregationTemporality: d.ExponentialHistogram.GetAggregationTemporality(),
		}}
	case *metricspb.Metric_Summary:
		p.Data = &metricspb.Metric_Summary{Summary: &metricspb.Summary{DataPoints: d.Summary.GetDataPoints()[begin:end]}}
	}
	return p
}
