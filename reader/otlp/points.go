package otlp

import (
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/userevents/userevents-go/reader"
)

// maxExact is the limit up to which a float64 represents every integer.
const maxExact = 1 << 53

// exactInt returns an integer beyond maxExact. All other numbers become float64, so that the points of a series have
// one type: the text of a value does not tell an integer from a whole float.
func exactInt(v reader.Value) (i int64, ok bool) {
	i = v.Int64()
	return i, v.Type() == reader.TypeInt64 && (i > maxExact || i < -maxExact)
}

func setNumber(p pmetric.NumberDataPoint, v reader.Value) {
	if i, ok := exactInt(v); ok {
		p.SetIntValue(i)
	} else {
		p.SetDoubleValue(v.Float64())
	}
}

// ifKnown calls set with a number unless it is null.
func ifKnown(v reader.Value, set func(float64)) {
	if v.Type() != reader.TypeNull {
		set(v.Float64())
	}
}

func setHistogram(p pmetric.HistogramDataPoint, from *reader.Point) {
	p.SetCount(from.Count)
	ifKnown(from.Sum, p.SetSum)
	ifKnown(from.Min, p.SetMin)
	ifKnown(from.Max, p.SetMax)
	// A truncated record may lack buckets, which the data model does not allow: the point then gets none.
	if len(from.BucketCounts) == len(from.Bounds)+1 {
		p.ExplicitBounds().FromRaw(from.Bounds)
		p.BucketCounts().FromRaw(from.BucketCounts)
	}
}

func setExpHistogram(p pmetric.ExponentialHistogramDataPoint, from *reader.Point) {
	p.SetCount(from.Count)
	ifKnown(from.Sum, p.SetSum)
	ifKnown(from.Min, p.SetMin)
	ifKnown(from.Max, p.SetMax)
	p.SetScale(from.Scale)
	p.SetZeroCount(from.ZeroCount)
	p.SetZeroThreshold(from.ZeroThreshold)
	setBuckets(p.Positive(), &from.Positive)
	setBuckets(p.Negative(), &from.Negative)
}

func setBuckets(to pmetric.ExponentialHistogramDataPointBuckets, from *reader.Buckets) {
	to.SetOffset(from.Offset)
	to.BucketCounts().FromRaw(from.Counts)
}

func setSummary(p pmetric.SummaryDataPoint, from *reader.Point) {
	p.SetCount(from.Count)
	ifKnown(from.Sum, p.SetSum)
	for _, q := range from.Quantiles {
		to := p.QuantileValues().AppendEmpty()
		to.SetQuantile(q.Quantile)
		to.SetValue(q.Value)
	}
}
