package ueventsmetric

import (
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
)

// offsetSize is the length of the longest offset of a bucket, with a colon.
const offsetSize = len("-2147483648:")

// countsSize returns how many bytes a list of counts takes.
func countsSize(counts []uint64) int {
	size := 1 // a NUL
	for _, c := range counts {
		size += len("0,")
		for ; c > 9; c /= 10 {
			size++
		}
	}
	return size
}

// boundsSize returns how many bytes a list of bounds takes at most.
func boundsSize(bounds []float64) int { return 1 + len(bounds)*(numberSize+len(",")) }

// quantilesSize returns how many bytes the values of a summary take at most.
func quantilesSize(values []metricdata.QuantileValue) int {
	return 1 + len(values)*(2*numberSize+len("=,"))
}

// buckets writes bounds and counts of a histogram.
func (e *encoder) buckets(bounds []float64, counts []uint64) {
	e.list(explicitBounds, len(e.buf), e.share(countsSize(counts)), len(bounds), func(dst []byte, i int) []byte {
		return text.AppendFloat(dst, bounds[i], 64)
	})
	e.counts(bucketCounts, len(e.buf), e.left(), counts)
}

// expBuckets writes the buckets of an exponential histogram: the index of the first one, a colon
// and their counts.
func (e *encoder) expBuckets(pos, neg metricdata.ExponentialBucket) {
	e.expBucket(positive, pos, e.share(offsetSize+countsSize(neg.Counts)))
	e.expBucket(negative, neg, e.left())
}

func (e *encoder) expBucket(f field, b metricdata.ExponentialBucket, max int) {
	if len(b.Counts) == 0 {
		return
	}
	begin := len(e.buf)
	e.buf = strconv.AppendInt(e.buf, int64(b.Offset), 10)
	e.buf = append(e.buf, ':')
	e.counts(f, begin, max, b.Counts)
}

// quantiles writes the values of a summary by their quantiles, as 0.5=12,0.99=34.
func (e *encoder) quantiles(values []metricdata.QuantileValue) {
	e.list(quantiles, len(e.buf), e.left(), len(values), func(dst []byte, i int) []byte {
		dst = append(text.AppendFloat(dst, values[i].Quantile, 64), '=')
		return text.AppendFloat(dst, values[i].Value, 64)
	})
}

func (e *encoder) counts(f field, begin, max int, counts []uint64) {
	e.list(f, begin, max, len(counts), func(dst []byte, i int) []byte {
		return strconv.AppendUint(dst, counts[i], 10)
	})
}

// left returns how many bytes the payload can still take.
func (e *encoder) left() int { return e.end - len(e.buf) }

// share returns how many bytes the first of two lists may take, if the second one has so many.
func (e *encoder) share(second int) int { return e.left() - min(second, e.left()/2) }

// list writes a text of n elements with commas between them, which begins at begin and takes at
// most max bytes, with its NUL. It is cut between two elements, so that no number is read for
// what it is not, and then ends in a mark.
func (e *encoder) list(f field, begin, max, n int, element func(dst []byte, i int) []byte) {
	if n == 0 {
		return
	}
	end := begin + max - len("\x00")
	for i := range n {
		whole := len(e.buf)
		e.buf = element(e.buf, i)
		room := end
		if i < n-1 {
			e.buf = append(e.buf, ',')
			room -= len(text.CutMark)
		}
		if len(e.buf) > room {
			e.cut++
			if whole+len(text.CutMark) > end {
				e.buf = e.buf[:begin]
				return
			}
			e.buf = append(e.buf[:whole], text.CutMark...)
			break
		}
	}
	e.buf = typed.EndText(e.buf, base, base+e.o.at[f], begin)
}
