package ueventsmetric

import (
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/payload"
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

// sumOf returns the kind for points of a sum.
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
