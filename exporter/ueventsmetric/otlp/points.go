package otlp

import (
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/internal/typedfield"
)

// Field numbers of opentelemetry.proto.metrics.v1 that several kinds of points have.
const (
	pointStart = 2
	pointTime  = 3
	pointCount = 4
	pointSum   = 5
)

// The functions below write a point of each kind. They write attributes last: where a point is too large, these get the
// room that the other fields leave.

func number[N int64 | float64](x *export, p *metricdata.DataPoint[N]) {
	x.fixed64(pointStart, typedfield.UnixNano(p.StartTime))
	x.fixed64(pointTime, typedfield.UnixNano(p.Time))
	putNumber(&x.wire, 6, 4, p.Value)
	exemplars(x, 5, p.Exemplars)
	x.attributes(7, &p.Attributes)
}

func histogram[N int64 | float64](x *export, p *metricdata.HistogramDataPoint[N]) {
	x.fixed64(pointStart, typedfield.UnixNano(p.StartTime))
	x.fixed64(pointTime, typedfield.UnixNano(p.Time))
	x.fixed64(pointCount, p.Count)
	x.putDouble(pointSum, float64(p.Sum))
	if x.cut < cutBuckets {
		x.packedFixed64(6, p.BucketCounts)
		x.packedDouble(7, p.Bounds)
	}
	exemplars(x, 8, p.Exemplars)
	extremum(&x.wire, 11, p.Min)
	extremum(&x.wire, 12, p.Max)
	x.attributes(9, &p.Attributes)
}

func expHistogram[N int64 | float64](x *export, p *metricdata.ExponentialHistogramDataPoint[N]) {
	x.fixed64(pointStart, typedfield.UnixNano(p.StartTime))
	x.fixed64(pointTime, typedfield.UnixNano(p.Time))
	x.fixed64(pointCount, p.Count)
	x.putDouble(pointSum, float64(p.Sum))
	x.zigzag(6, p.Scale)
	x.fixed64(7, p.ZeroCount)
	if x.cut < cutBuckets {
		x.expBuckets(8, p.PositiveBucket)
		x.expBuckets(9, p.NegativeBucket)
	}
	exemplars(x, 11, p.Exemplars)
	extremum(&x.wire, 12, p.Min)
	extremum(&x.wire, 13, p.Max)
	x.double(14, p.ZeroThreshold)
	x.attributes(1, &p.Attributes)
}

func (x *export) expBuckets(field byte, b metricdata.ExponentialBucket) {
	at := x.message(field)
	x.zigzag(1, b.Offset)
	x.packedUvarint(2, b.Counts)
	x.close(at)
}

func summary(x *export, p *metricdata.SummaryDataPoint) {
	x.fixed64(pointStart, typedfield.UnixNano(p.StartTime))
	x.fixed64(pointTime, typedfield.UnixNano(p.Time))
	x.fixed64(pointCount, p.Count)
	x.double(pointSum, p.Sum)
	if x.cut < cutBuckets {
		for i := 0; i < len(p.QuantileValues) && !x.full(); i++ {
			at := x.message(6)
			x.double(1, p.QuantileValues[i].Quantile)
			x.double(2, p.QuantileValues[i].Value)
			x.close(at)
		}
	}
	x.attributes(7, &p.Attributes)
}

func exemplars[N int64 | float64](x *export, field byte, list []metricdata.Exemplar[N]) {
	if x.cut >= cutExemplars {
		return
	}
	for i := 0; i < len(list) && !x.full(); i++ {
		e := &list[i]
		at := x.message(field)
		x.fixed64(2, typedfield.UnixNano(e.Time))
		putNumber(&x.wire, 6, 3, e.Value)
		// An id of another length makes a decoder refuse the whole request.
		if len(e.SpanID) == 8 {
			putBytes(&x.wire, 4, e.SpanID)
		}
		if len(e.TraceID) == 16 {
			putBytes(&x.wire, 5, e.TraceID)
		}
		for _, kv := range e.FilteredAttributes {
			x.keyValue(7, kv)
		}
		x.close(at)
	}
}

// putNumber writes an integer or a floating-point number, each a field of its own.
func putNumber[N int64 | float64](w *wire, integer, double byte, v N) {
	switch v := any(v).(type) {
	case int64:
		w.putFixed64(integer, uint64(v))
	case float64:
		w.putDouble(double, v)
	}
}

// extremum writes the smallest or the largest value, if it is known.
func extremum[N int64 | float64](w *wire, field byte, e metricdata.Extrema[N]) {
	if v, ok := e.Value(); ok {
		w.putDouble(field, float64(v))
	}
}
