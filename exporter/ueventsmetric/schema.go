package ueventsmetric

import (
	"github.com/userevents/userevents-go/encode/text"
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

// numberSize is the length of the longest number that text.AppendFloat writes, such as
// -0.0000012345678901234567.
const numberSize = 25

var (
	textType = tracepoint.Dynamic(tracepoint.Char)
	u64      = tracepoint.Scalar(tracepoint.U64)
	s64      = tracepoint.Scalar(tracepoint.S64)
)

var declarations = [fields]tracepoint.Field{
	timeUnixNano:      {Name: "time_unix_nano", Type: u64},
	startTimeUnixNano: {Name: "start_time_unix_nano", Type: u64},
	temporality:       {Name: "temporality", Type: textType},
	monotonic:         {Name: "monotonic", Type: tracepoint.Scalar(tracepoint.U8)},
	truncated:         {Name: "truncated", Type: tracepoint.Scalar(tracepoint.U32)},
	traceID:           {Name: "trace_id", Type: textType},
	spanID:            {Name: "span_id", Type: textType},

	value:      {Name: "value", Type: textType},
	valueInt:   {Name: "value_int", Type: s64},
	valueMicro: {Name: "value_micro", Type: s64},
	count:      {Name: "count", Type: u64},
	sumText:    {Name: "sum", Type: textType},
	sumMicro:   {Name: "sum_micro", Type: s64},
	minText:    {Name: "min", Type: textType},
	maxText:    {Name: "max", Type: textType},
	maxMicro:   {Name: "max_micro", Type: s64},

	scale:          {Name: "scale", Type: tracepoint.Scalar(tracepoint.S32)},
	zeroCount:      {Name: "zero_count", Type: u64},
	positive:       {Name: "positive", Type: textType},
	negative:       {Name: "negative", Type: textType},
	explicitBounds: {Name: "explicit_bounds", Type: textType},
	bucketCounts:   {Name: "bucket_counts", Type: textType},
	quantiles:      {Name: "quantiles", Type: textType},

	name:               {Name: "name", Type: textType},
	unit:               {Name: "unit", Type: textType},
	scopeName:          {Name: "scope_name", Type: textType},
	scopeVersion:       {Name: "scope_version", Type: textType},
	serviceName:        {Name: "service_name", Type: textType},
	filteredAttributes: {Name: "filtered_attributes", Type: textType},
	attributes:         {Name: "attributes", Type: textType},
}

// sizes are the most bytes that texts of limited length take, with their NUL. They are written first, and never cut.
var sizes = [fields]int{
	temporality: len("cumulative\x00"),
	traceID:     typed.TraceIDSize,
	spanID:      typed.SpanIDSize,
	value:       numberSize + 1,
	sumText:     numberSize + 1,
	minText:     numberSize + 1,
	maxText:     numberSize + 1,
}

// schema is what the payloads of an event hold, made ready for writing.
type schema struct {
	layout *typed.Layout
	at     [fields]int // offsets in a payload; absent for fields that the event has not
	texts  int         // how many of the fields are texts of any length
	sized  int         // what the others take at most
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
	// A declaration has room for 511 bytes: what few points have is an attribute of exponential histograms.
	few := []field{name, unit, scopeName, serviceName, attributes}
	texts := []field{name, unit, scopeName, scopeVersion, serviceName, attributes}
	for k, lists := range [kinds][][]field{
		gauge:     {times, {truncated}, values, texts},
		sum:       {times, {temporality, monotonic, truncated}, values, texts},
		histogram: {times, {temporality, truncated, count, sumText, sumMicro, minText, maxText, maxMicro, explicitBounds, bucketCounts}, texts},
		expHistogram: {
			times,
			{temporality, truncated, count, sumText, sumMicro, minText, maxText, maxMicro},
			{scale, zeroCount, positive, negative},
			few,
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
			switch {
			case sizes[f] > 0:
				s.sized += sizes[f]
			case declarations[f].Type == textType:
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

// least is the smallest limit of a payload: beside the fixed part, ids and numbers, a few characters of each
// text, which are also enough for an empty object.
func (s *schema) least() int { return s.layout.FixedSize() + s.sized + s.texts*leastText }

const leastText = len(text.CutMark + "\x00")
