package ueventsmetric

import (
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/exporter/internal/component"
)

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
