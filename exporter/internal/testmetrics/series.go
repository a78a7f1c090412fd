package testmetrics

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Series returns n points each of a counter and of a histogram with the SDK's default buckets, with two attributes, for
// benchmarks.
func Series(n int) map[string]*metricdata.ResourceMetrics {
	start := time.Date(2026, 11, 21, 10, 20, 30, 123456789, time.UTC)
	end := start.Add(time.Minute)
	attrs := attribute.NewSet(attribute.String("route", "/users"), attribute.Int("status", 200))
	bounds := []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}
	s := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
	h := metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality}
	for i := range n {
		s.DataPoints = append(s.DataPoints, metricdata.DataPoint[int64]{Attributes: attrs, StartTime: start, Time: end, Value: int64(i)})
		h.DataPoints = append(h.DataPoints, metricdata.HistogramDataPoint[float64]{
			Attributes: attrs, StartTime: start, Time: end, Count: 100, Sum: 1234.5, Min: metricdata.NewExtrema(0.125), Max: metricdata.NewExtrema(987.5),
			Bounds: bounds, BucketCounts: []uint64{0, 10, 20, 30, 10, 10, 5, 5, 5, 3, 1, 1, 0, 0, 0, 0},
		})
	}
	all := make(map[string]*metricdata.ResourceMetrics)
	for kind, a := range map[string]metricdata.Aggregation{"sum": s, "histogram": h} {
		rm := &metricdata.ResourceMetrics{
			Resource:     resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("host.name", "node1")),
			ScopeMetrics: make([]metricdata.ScopeMetrics, 1),
		}
		rm.ScopeMetrics[0].Scope.Name = "my/package"
		rm.ScopeMetrics[0].Metrics = []metricdata.Metrics{{Name: "http.server.requests", Description: "Requests of clients.", Unit: "{request}", Data: a}}
		all[kind] = rm
	}
	return all
}
