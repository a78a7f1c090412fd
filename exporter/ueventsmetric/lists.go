package ueventsmetric

import (
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/exporter/internal/component"
)

// putBuckets writes bounds and counts of a histogram.
func putBuckets(r *component.Record, bounds []float64, counts []uint64) {
	putList(r, explicitBounds, len(r.Buf), len(bounds), func(dst []byte, i int) []byte {
		return text.AppendFloat(dst, bounds[i], 64)
	})
	putCounts(r, bucketCounts, len(r.Buf), counts)
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

// putList writes a text that begins at begin, of n elements with commas between them. A list that is longer than the
// limit is going to be cut, so its other elements are not written.
func putList(r *component.Record, field, begin, n int, element func(dst []byte, i int) []byte) {
	for i := 0; i < n && len(r.Buf)-begin <= r.Limit(); i++ {
		if i > 0 {
			r.Buf = append(r.Buf, ',')
		}
		r.Buf = element(r.Buf, i)
	}
	r.EndRaw(r.At(field), begin)
}
