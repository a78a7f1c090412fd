package jsonlines

import (
	"encoding/base64"
	"fmt"
	"math"

	"github.com/userevents/userevents-go/reader"
)

// setPoint sets the data point of a metric.
func setPoint(ev *reader.Event, v reader.Value) error {
	p := &reader.Point{}
	ev.Point = p
	for _, m := range v.Fields() {
		var err error
		switch m.Name {
		case "type":
			p.Type, err = parseName(reader.PointOTLP+1, reader.PointType.String, m.Value)
		case "unit":
			p.Unit = m.Value.Text()
		case "temporality":
			p.Temporality, err = parseName(reader.TemporalityCumulative+1, reader.Temporality.String, m.Value)
		case "monotonic":
			p.Monotonic = m.Value.Bool()
		case "start_time":
			p.StartTime, err = parseTime(m.Value)
		case "value":
			p.Value, err = parseNumber(m.Value)
		case "count":
			p.Count, err = parseCount(m.Value)
		case "sum":
			p.Sum, err = parseNumber(m.Value)
		case "min":
			p.Min, err = parseNumber(m.Value)
		case "max":
			p.Max, err = parseNumber(m.Value)
		case "bounds":
			p.Bounds, err = parseList(m.Value, parseFloat)
		case "bucket_counts":
			p.BucketCounts, err = parseList(m.Value, parseCount)
		case "scale":
			p.Scale = int32(m.Value.Int64())
		case "zero_count":
			p.ZeroCount, err = parseCount(m.Value)
		case "zero_threshold":
			p.ZeroThreshold, err = parseFloat(m.Value)
		case "positive":
			p.Positive, err = parseBuckets(m.Value)
		case "negative":
			p.Negative, err = parseBuckets(m.Value)
		case "quantiles":
			p.Quantiles, err = parseList(m.Value, parseQuantile)
		case "filtered_attributes":
			p.FilteredAttributes = m.Value.Fields()
		case "request":
			p.Request, err = base64.StdEncoding.DecodeString(m.Value.Text())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseNumber returns a number. JSON has those that are not finite as texts.
func parseNumber(v reader.Value) (reader.Value, error) {
	switch v.Type() {
	case reader.TypeInt64, reader.TypeUint64, reader.TypeFloat64:
		return v, nil
	}
	switch v.Text() {
	case "NaN":
		return reader.Float64Value(math.NaN()), nil
	case "Infinity":
		return reader.Float64Value(math.Inf(1)), nil
	case "-Infinity":
		return reader.Float64Value(math.Inf(-1)), nil
	}
	return v, fmt.Errorf("no number: %s", v)
}

func parseFloat(v reader.Value) (float64, error) {
	n, err := parseNumber(v)
	return n.Float64(), err
}

func parseCount(v reader.Value) (uint64, error) {
	if v.Type() != reader.TypeUint64 && (v.Type() != reader.TypeInt64 || v.Int64() < 0) {
		return 0, fmt.Errorf("no count: %s", v)
	}
	return v.Uint64(), nil
}

func parseList[T any](v reader.Value, parse func(reader.Value) (T, error)) (list []T, err error) {
	for _, f := range v.Fields() {
		element, err := parse(f.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	return list, nil
}

func parseBuckets(v reader.Value) (b reader.Buckets, err error) {
	offset, _ := v.Lookup("offset")
	counts, _ := v.Lookup("counts")
	b.Offset = int32(offset.Int64())
	b.Counts, err = parseList(counts, parseCount)
	return b, err
}

func parseQuantile(v reader.Value) (q reader.Quantile, err error) {
	quantile, _ := v.Lookup("quantile")
	value, _ := v.Lookup("value")
	if q.Quantile, err = parseFloat(quantile); err != nil {
		return q, err
	}
	q.Value, err = parseFloat(value)
	return q, err
}
