package ueventsmetric

import (
	"math"
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// putValue writes the value of a gauge, a sum or an exemplar.
func putValue[N int64 | float64](r *component.Record, v N) {
	putNumber(r, value, v)
	whole, micro := integers(v)
	r.U64(valueInt, uint64(whole))
	r.U64(valueMicro, uint64(micro))
}

// putSum writes the sum of a histogram or a summary.
func putSum[N int64 | float64](r *component.Record, v N) {
	putNumber(r, sumText, v)
	_, micro := integers(v)
	r.U64(sumMicro, uint64(micro))
}

// putDistribution writes what both kinds of histograms have. Extrema need not be known.
func putDistribution[N int64 | float64](r *component.Record, t metricdata.Temporality, n uint64, sum N, lo, hi metricdata.Extrema[N]) {
	r.Text(temporality, word(t))
	r.U64(count, n)
	putSum(r, sum)
	if v, ok := lo.Value(); ok {
		putNumber(r, minText, v)
	}
	if v, ok := hi.Value(); ok {
		putNumber(r, maxText, v)
		_, micro := integers(v)
		r.U64(maxMicro, uint64(micro))
	}
}

// putNumber writes the exact value of a number as text.
func putNumber[N int64 | float64](r *component.Record, field int, v N) {
	begin := len(r.Buf)
	switch v := any(v).(type) {
	case int64:
		r.Buf = strconv.AppendInt(r.Buf, v, 10)
	case float64:
		r.Buf = text.AppendFloat(r.Buf, v, 64)
	}
	r.EndRaw(r.At(field), begin)
}

// integers returns the integer that is nearest to v, and v in millionths, both limited to the range of 64 bits.
func integers[N int64 | float64](v N) (whole, micro int64) {
	const million = 1_000_000
	switch v := any(v).(type) {
	case float64:
		return typedfield.Scale(v, 1), typedfield.Scale(v, million)
	case int64:
		switch {
		case v > math.MaxInt64/million:
			return v, math.MaxInt64
		case v < math.MinInt64/million:
			return v, math.MinInt64
		}
		return v, v * million
	}
	return 0, 0
}

// bounds is the text of a histogram's bounds. All points of a metric share these, so it is written once.
type bounds struct {
	of   []float64
	text []byte
}

// put writes the bounds of a point.
func (b *bounds) put(r *component.Record, of []float64) {
	if len(of) == 0 {
		return
	}
	if len(b.of) != len(of) || &b.of[0] != &of[0] {
		b.of = of
		b.text = appendList(b.text[:0], r.Limit(), len(of), func(dst []byte, i int) []byte { return text.AppendFloat(dst, of[i], 64) })
	}
	begin := len(r.Buf)
	r.Buf = append(r.Buf, b.text...)
	r.EndRaw(r.At(explicitBounds), begin)
}

// putExpBuckets writes buckets of an exponential histogram: the index of the first one, a colon
// and their counts.
func putExpBuckets(r *component.Record, field int, b metricdata.ExponentialBucket) {
	if len(b.Counts) == 0 {
		return
	}
	begin := len(r.Buf)
	r.Buf = strconv.AppendInt(r.Buf, int64(b.Offset), 10)
	r.Buf = append(r.Buf, ':')
	putCounts(r, field, begin, b.Counts)
}

// putQuantiles writes the values of a summary by their quantiles, as 0.5=12,0.99=34.
func putQuantiles(r *component.Record, values []metricdata.QuantileValue) {
	putList(r, quantiles, len(r.Buf), len(values), func(dst []byte, i int) []byte {
		dst = append(text.AppendFloat(dst, values[i].Quantile, 64), '=')
		return text.AppendFloat(dst, values[i].Value, 64)
	})
}

func putCounts(r *component.Record, field, begin int, counts []uint64) {
	putList(r, field, begin, len(counts), func(dst []byte, i int) []byte {
		return strconv.AppendUint(dst, counts[i], 10)
	})
}

// putList writes a text that begins at begin, of n elements.
func putList(r *component.Record, field, begin, n int, element func(dst []byte, i int) []byte) {
	r.Buf = appendList(r.Buf, begin+r.Limit(), n, element)
	r.EndRaw(r.At(field), begin)
}

// appendList appends n elements with commas between them. What comes after limit bytes is going to be cut, so it is not
// written.
func appendList(dst []byte, limit, n int, element func(dst []byte, i int) []byte) []byte {
	for i := 0; i < n && len(dst) <= limit; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, i)
	}
	return dst
}
