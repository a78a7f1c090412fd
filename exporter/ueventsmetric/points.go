package ueventsmetric

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/typed"
)

// numbers writes the points of a gauge or a sum.
func numbers[N int64 | float64](x *export, k kind, points []metricdata.DataPoint[N], t metricdata.Temporality, isMonotonic bool) {
	for i := range points {
		p := &points[i]
		if e := x.begin(k); e != nil {
			e.times(p.StartTime, p.Time)
			if k == sum {
				e.temporality(t)
				e.putU8(monotonic, typed.Bool(isMonotonic))
			}
			putValue(e, p.Value)
			e.attributes(x.scope, &p.Attributes, 0)
			x.end(e)
		}
		exemplars(x, &p.Attributes, p.Exemplars)
	}
}

// histograms writes the points of a histogram with explicit bounds.
func histograms[N int64 | float64](x *export, points []metricdata.HistogramDataPoint[N], t metricdata.Temporality) {
	for i := range points {
		p := &points[i]
		if e := x.begin(histogram); e != nil {
			e.times(p.StartTime, p.Time)
			e.temporality(t)
			e.putU64(count, p.Count)
			putSum(e, p.Sum)
			putExtrema(e, p.Min, p.Max)
			e.attributes(x.scope, &p.Attributes, boundsSize(p.Bounds)+countsSize(p.BucketCounts))
			e.buckets(p.Bounds, p.BucketCounts)
			x.end(e)
		}
		exemplars(x, &p.Attributes, p.Exemplars)
	}
}

// expHistograms writes the points of an exponential histogram.
func expHistograms[N int64 | float64](x *export, points []metricdata.ExponentialHistogramDataPoint[N], t metricdata.Temporality) {
	for i := range points {
		p := &points[i]
		if e := x.begin(expHistogram); e != nil {
			e.times(p.StartTime, p.Time)
			e.temporality(t)
			e.putU64(count, p.Count)
			putSum(e, p.Sum)
			putExtrema(e, p.Min, p.Max)
			e.putU32(scale, uint32(p.Scale))
			e.putU64(zeroCount, p.ZeroCount)
			e.zeroThreshold = p.ZeroThreshold
			e.attributes(x.scope, &p.Attributes, 2*offsetSize+countsSize(p.PositiveBucket.Counts)+countsSize(p.NegativeBucket.Counts))
			e.expBuckets(p.PositiveBucket, p.NegativeBucket)
			x.end(e)
		}
		exemplars(x, &p.Attributes, p.Exemplars)
	}
}

// summaries writes the points of a summary.
func summaries(x *export, points []metricdata.SummaryDataPoint) {
	for i := range points {
		p := &points[i]
		if e := x.begin(summary); e != nil {
			e.times(p.StartTime, p.Time)
			e.putU64(count, p.Count)
			putSum(e, p.Sum)
			e.attributes(x.scope, &p.Attributes, quantilesSize(p.QuantileValues))
			e.quantiles(p.QuantileValues)
			x.end(e)
		}
	}
}

// exemplars writes the exemplars of a point with the attributes set.
func exemplars[N int64 | float64](x *export, set *attribute.Set, list []metricdata.Exemplar[N]) {
	for i := range list {
		e := x.begin(exemplar)
		if e == nil {
			return
		}
		p := &list[i]
		e.putU64(timeUnixNano, typed.UnixNano(p.Time))
		e.putID(traceID, p.TraceID, 16)
		e.putID(spanID, p.SpanID, 8)
		putValue(e, p.Value)
		e.filtered(p.FilteredAttributes)
		e.attributes(x.scope, set, 0)
		x.end(e)
	}
}

func (e *encoder) times(start, end time.Time) {
	e.putU64(startTimeUnixNano, typed.UnixNano(start))
	e.putU64(timeUnixNano, typed.UnixNano(end))
}

func (e *encoder) temporality(t metricdata.Temporality) {
	word := ""
	switch t {
	case metricdata.DeltaTemporality:
		word = "delta"
	case metricdata.CumulativeTemporality:
		word = "cumulative"
	}
	e.text(temporality, word, e.end-len(e.buf))
}
