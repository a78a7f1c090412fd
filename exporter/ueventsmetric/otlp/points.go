package otlp

import (
	"encoding/binary"
	"math"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/internal/typedfield"
)

// The functions below write a point of each kind. They write attributes last: where a point is too large, these get the room that
// the other fields leave.

func number[N int64 | float64](x *export, p *metricdata.DataPoint[N]) {
	x.times(p.StartTime, p.Time)
	putNumber(&x.wire, 6, 4, p.Value)
	exemplars(x, 5, p.Exemplars)
	x.attributes(7, &p.Attributes)
}

func histogram[N int64 | float64](x *export, p *metricdata.HistogramDataPoint[N]) {
	x.times(p.StartTime, p.Time)
	x.fixed64(4, p.Count)
	x.putFixed64(5, math.Float64bits(float64(p.Sum)))
	if x.cut < cutBuckets {
		packed(&x.wire, 6, p.BucketCounts, binary.LittleEndian.AppendUint64)
		packed(&x.wire, 7, p.Bounds, appendDouble)
	}
	exemplars(x, 8, p.Exemplars)
	extremum(&x.wire, 11, p.Min)
	extremum(&x.wire, 12, p.Max)
	x.attributes(9, &p.Attributes)
}

func expHistogram[N int64 | float64](x *export, p *metricdata.ExponentialHistogramDataPoint[N]) {
	x.times(p.StartTime, p.Time)
	x.fixed64(4, p.Count)
	x.putFixed64(5, math.Float64bits(float64(p.Sum)))
	x.zigzag(6, p.Scale)
	x.fixed64(7, p.ZeroCount)
	if x.cut < cutBuckets {
		x.expBuckets(8, p.PositiveBucket)
		x.expBuckets(9, p.NegativeBucket)
	}
	exemplars(x, 11, p.Exemplars)
	extremum(&x.wire, 12, p.Min)
	extremum(&x.wire, 13, p.Max)
	x.fixed64(14, math.Float64bits(p.ZeroThreshold))
	x.attributes(1, &p.Attributes)
}

func (x *export) expBuckets(field byte, b metricdata.ExponentialBucket) {
	at := x.message(field)
	x.zigzag(1, b.Offset)
	packed(&x.wire, 2, b.Counts, binary.AppendUvarint)
	x.close(at)
}

func summary(x *export, p *metricdata.SummaryDataPoint) {
	x.times(p.StartTime, p.Time)
	x.fixed64(4, p.Count)
	x.fixed64(5, math.Float64bits(p.Sum))
	if x.cut < cutBuckets {
		for i := 0; i < len(p.QuantileValues) && !x.full(); i++ {
			at := x.message(6)
			x.fixed64(1, math.Float64bits(p.QuantileValues[i].Quantile))
			x.fixed64(2, math.Float64bits(p.QuantileValues[i].Value))
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

func (x *export) times(start, end time.Time) {
	x.fixed64(2, typedfield.UnixNano(start))
	x.fixed64(3, typedfield.UnixNano(end))
}

// putNumber writes an integer or a floating-point number, each a field of its own.
func putNumber[N int64 | float64](w *wire, integer, double byte, v N) {
	switch v := any(v).(type) {
	case int64:
		w.putFixed64(integer, uint64(v))
	case float64:
		w.putFixed64(double, math.Float64bits(v))
	}
}

// extremum writes the smallest or the largest value, if it is known.
func extremum[N int64 | float64](w *wire, field byte, e metricdata.Extrema[N]) {
	if v, ok := e.Value(); ok {
		w.putFixed64(field, math.Float64bits(float64(v)))
	}
}

func appendDouble(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}
