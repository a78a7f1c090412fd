package ueventsmetric

import (
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// kind is what one of the events is about.
type kind uint8

const (
	gauge kind = iota
	sum
	histogram
	expHistogram
	summary
	exemplar
	kinds
)

// field is a field that some of the events have.
type field uint8

const (
	timeUnixNano field = iota
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
	zeroThreshold
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
	fields
)

// numberSize is the length of the longest number that typed.AppendFloat writes, such as
// -0.0000012345678901234567.
const numberSize = 25

// temporalitySize is the length of the word cumulative.
const temporalitySize = 10

var (
	text   = tracepoint.Dynamic(tracepoint.Char)
	number = tracepoint.Array(tracepoint.Char, numberSize)
	u64    = tracepoint.Scalar(tracepoint.U64)
	s64    = tracepoint.Scalar(tracepoint.S64)
)

var declarations = [fields]tracepoint.Field{
	timeUnixNano:      {Name: "time_unix_nano", Type: u64},
	startTimeUnixNano: {Name: "start_time_unix_nano", Type: u64},
	temporality:       {Name: "temporality", Type: tracepoint.Array(tracepoint.Char, temporalitySize)},
	monotonic:         {Name: "monotonic", Type: tracepoint.Scalar(tracepoint.U8)},
	truncated:         {Name: "truncated", Type: tracepoint.Scalar(tracepoint.U32)},
	traceID:           {Name: "trace_id", Type: tracepoint.Array(tracepoint.Char, typed.TraceIDSize)},
	spanID:            {Name: "span_id", Type: tracepoint.Array(tracepoint.Char, typed.SpanIDSize)},

	value:      {Name: "value", Type: number},
	valueInt:   {Name: "value_int", Type: s64},
	valueMicro: {Name: "value_micro", Type: s64},
	count:      {Name: "count", Type: u64},
	sumText:    {Name: "sum", Type: number},
	sumMicro:   {Name: "sum_micro", Type: s64},
	minText:    {Name: "min", Type: number},
	maxText:    {Name: "max", Type: number},
	maxMicro:   {Name: "max_micro", Type: s64},

	scale:          {Name: "scale", Type: tracepoint.Scalar(tracepoint.S32)},
	zeroCount:      {Name: "zero_count", Type: u64},
	zeroThreshold:  {Name: "zero_threshold", Type: number},
	positive:       {Name: "positive", Type: text},
	negative:       {Name: "negative", Type: text},
	explicitBounds: {Name: "explicit_bounds", Type: text},
	bucketCounts:   {Name: "bucket_counts", Type: text},
	quantiles:      {Name: "quantiles", Type: text},

	name:               {Name: "name", Type: text},
	unit:               {Name: "unit", Type: text},
	scopeName:          {Name: "scope_name", Type: text},
	scopeVersion:       {Name: "scope_version", Type: text},
	serviceName:        {Name: "service_name", Type: text},
	filteredAttributes: {Name: "filtered_attributes", Type: text},
	attributes:         {Name: "attributes", Type: text},
}

// schema is what the payloads of an event hold, made ready for writing.
type schema struct {
	layout *typed.Layout
	at     [fields]int // offsets in a payload; absent for fields that the event has not
	texts  int         // how many of the fields are texts of any length
}

const absent = -1

// suffixes end the names of the events.
var suffixes = [kinds]string{
	gauge:        "_metric_gauge",
	sum:          "_metric_sum",
	histogram:    "_metric_histogram",
	expHistogram: "_metric_exp_histogram",
	summary:      "_metric_summary",
	exemplar:     "_metric_exemplar",
}

var schemas = func() (s [kinds]*schema) {
	times := []field{timeUnixNano, startTimeUnixNano}
	values := []field{value, valueInt, valueMicro}
	texts := []field{name, unit, scopeName, scopeVersion, serviceName, attributes}
	for k, lists := range [kinds][][]field{
		gauge:     {times, {truncated}, values, texts},
		sum:       {times, {temporality, monotonic, truncated}, values, texts},
		histogram: {times, {temporality, truncated, count, sumText, sumMicro, minText, maxText, maxMicro, explicitBounds, bucketCounts}, texts},
		expHistogram: {
			times,
			{temporality, truncated, count, sumText, sumMicro, minText, maxText, maxMicro},
			{scale, zeroCount, zeroThreshold, positive, negative},
			texts,
		},
		summary:  {times, {truncated, count, sumText, sumMicro, quantiles}, texts},
		exemplar: {{timeUnixNano, traceID, spanID, truncated}, values, {filteredAttributes}, texts},
	} {
		s[k] = newSchema(lists)
	}
	return s
}()

// newSchema returns the schema of an event. The lists are constants, and a test registers all of
// them.
func newSchema(lists [][]field) *schema {
	s := new(schema)
	for f := range s.at {
		s.at[f] = absent
	}
	d := tracepoint.Declaration{Name: "any"}
	var order []field
	for _, list := range lists {
		for _, f := range list {
			order = append(order, f)
			d.Fields = append(d.Fields, declarations[f])
			if declarations[f].Type == text {
				s.texts++
			}
		}
	}
	layout, err := typed.NewLayout(d)
	if err != nil {
		panic(err)
	}
	s.layout = layout
	for i, offset := range layout.Offsets() {
		s.at[order[i]] = offset
	}
	return s
}

// declaration returns the declaration of the event under a name.
func (s *schema) declaration(name string) tracepoint.Declaration {
	d := s.layout.Declaration()
	d.Name = name
	return d
}

// least is the smallest limit of a payload: beside the fixed part, a few characters of each
// text, which are also enough for an empty object.
func (s *schema) least() int { return s.layout.EmptySize() + s.texts*leastText }

const leastText = len(typed.CutMark + "\x00")
