package ueventsmetric

import (
	"math"
	"strconv"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// kind is the kind of points that an event is for.
type kind uint8

const (
	gauge kind = iota
	sum
	histogram
	expHistogram
	cumulativeSum
	cumulativeHistogram
	cumulativeExpHistogram
	updownSum
	summary
	exemplar
	kinds
)

// of returns the kind for points of a temporality. The kernel may add up deltas, so only these are points of kind k.
func (k kind) of(t metricdata.Temporality) kind {
	if t == metricdata.DeltaTemporality {
		return k
	}
	return k + cumulativeSum - sum
}

func sumOf(t metricdata.Temporality, monotonic bool) kind {
	if !monotonic {
		return updownSum
	}
	return sum.of(t)
}

// The fields that some of the events have.
const (
	timeUnixNano = iota
	startTimeUnixNano
	temporality
	monotonic
	truncated
	traceID
	spanID

	value
	valueInt
	valueMicro
	count
	sumText
	sumMicro
	minText
	maxText
	maxMicro

	scale
	zeroCount
	positive
	negative
	explicitBounds
	bucketCounts
	quantiles

	name
	unit
	scopeName
	scopeVersion
	serviceName
	filteredAttributes
	attributes
	fieldCount
)

// numberSize is the size of the longest number that text.AppendFloat writes, such as -0.0000012345678901234567, with a
// NUL.
const numberSize = 26

var fields = [fieldCount]payload.Field{
	timeUnixNano:      {Name: "time_unix_nano", Type: payload.U64},
	startTimeUnixNano: {Name: "start_time_unix_nano", Type: payload.U64},
	temporality:       {Name: "temporality", Type: payload.String, Size: len("cumulative\x00")},
	monotonic:         {Name: "monotonic", Type: payload.U8},
	truncated:         payload.Truncated,
	traceID:           payload.TraceID,
	spanID:            payload.SpanID,

	value:      {Name: "value", Type: payload.String, Size: numberSize},
	valueInt:   {Name: "value_int", Type: payload.S64},
	valueMicro: {Name: "value_micro", Type: payload.S64},
	count:      {Name: "count", Type: payload.U64},
	sumText:    {Name: "sum", Type: payload.String, Size: numberSize},
	sumMicro:   {Name: "sum_micro", Type: payload.S64},
	minText:    {Name: "min", Type: payload.String, Size: numberSize},
	maxText:    {Name: "max", Type: payload.String, Size: numberSize},
	maxMicro:   {Name: "max_micro", Type: payload.S64},

	scale:          {Name: "scale", Type: payload.S32},
	zeroCount:      {Name: "zero_count", Type: payload.U64},
	positive:       {Name: "positive", Type: payload.String, Class: payload.List},
	negative:       {Name: "negative", Type: payload.String, Class: payload.List},
	explicitBounds: {Name: "explicit_bounds", Type: payload.String, Class: payload.List},
	bucketCounts:   {Name: "bucket_counts", Type: payload.String, Class: payload.List},
	quantiles:      {Name: "quantiles", Type: payload.String, Class: payload.List},

	name:               payload.TextField("name"),
	unit:               payload.TextField("unit"),
	scopeName:          attrs.ScopeName,
	scopeVersion:       attrs.ScopeVersion,
	serviceName:        attrs.ServiceName,
	filteredAttributes: {Name: "filtered_attributes", Type: payload.String, Class: payload.JSON},
	attributes:         payload.Attributes,
}

// events have the suffixes of their names and their fields, which docs/wire-formats.md lists. Texts are written in their order.
var events = [kinds]struct {
	suffix string
	schema *payload.Schema
}{
	gauge:                  {"metric_gauge", schema(described, timeUnixNano, startTimeUnixNano, truncated, value, valueInt, valueMicro)},
	sum:                    {"metric_sum", sumSchema},
	histogram:              {"metric_histogram", histogramSchema(described, explicitBounds, bucketCounts)},
	expHistogram:           {"metric_exp_histogram", expSchema},
	cumulativeSum:          {"metric_cumulative_sum", sumSchema},
	cumulativeHistogram:    {"metric_cumulative_histogram", histogramSchema(unversioned, explicitBounds, bucketCounts)},
	cumulativeExpHistogram: {"metric_cumulative_exp_histogram", expSchema},
	updownSum:              {"metric_updown_sum", sumSchema},
	summary:                {"metric_summary", schema(described, timeUnixNano, startTimeUnixNano, truncated, count, sumText, sumMicro, quantiles)},
	exemplar:               {"metric_exemplar", schema(described, timeUnixNano, traceID, spanID, truncated, value, valueInt, valueMicro, filteredAttributes)},
}

var (
	// The texts of all events. A declaration has room for 511 bytes: some have no field for the version of the scope.
	described   = []int{name, unit, scopeName, scopeVersion, serviceName, attributes}
	unversioned = []int{name, unit, scopeName, serviceName, attributes}

	sumSchema = schema(described, timeUnixNano, startTimeUnixNano, temporality, monotonic, truncated, value, valueInt, valueMicro)
	expSchema = histogramSchema(unversioned, scale, zeroCount, positive, negative)
)

func schema(texts []int, own ...int) *payload.Schema {
	return payload.Subset(fields[:], append(own, texts...)...)
}

func histogramSchema(texts []int, own ...int) *payload.Schema {
	common := []int{timeUnixNano, startTimeUnixNano, temporality, truncated, count, sumText, sumMicro, minText, maxText, maxMicro}
	return schema(texts, append(common, own...)...)
}

func putValue[N int64 | float64](r *component.Record, v N) {
	putNumber(r, value, v)
	whole, micro := integers(v)
	r.U64(valueInt, uint64(whole))
	r.U64(valueMicro, uint64(micro))
}

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
