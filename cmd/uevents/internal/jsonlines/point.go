package jsonlines

import (
	"encoding/base64"
	"strconv"

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
			p.Type, err = parseName(reader.OTLP+1, reader.PointType.String, m.Value)
		case "unit":
			p.Unit = m.Value.Text()
		case "temporality":
			p.Temporality, err = parseName(reader.Cumulative+1, reader.Temporality.String, m.Value)
		case "monotonic":
			p.Monotonic = m.Value.Bool()
		case "start_time":
			p.StartTime, err = parseTime(m.Value)
		case "value":
			p.Value = parseNumber(m.Value)
		case "count":
			p.Count = m.Value.Uint64()
		case "sum":
			p.Sum = parseNumber(m.Value)
		case "min":
			p.Min = parseNumber(m.Value)
		case "max":
			p.Max = parseNumber(m.Value)
		case "bounds":
			for _, f := range m.Value.Fields() {
				p.Bounds = append(p.Bounds, parseNumber(f.Value).Float64())
			}
		case "bucket_counts":
			p.BucketCounts = parseCounts(m.Value)
		case "scale":
			p.Scale = int32(m.Value.Int64())
		case "zero_count":
			p.ZeroCount = m.Value.Uint64()
		case "zero_threshold":
			p.ZeroThreshold = parseNumber(m.Value).Float64()
		case "positive":
			p.Positive = parseBuckets(m.Value)
		case "negative":
			p.Negative = parseBuckets(m.Value)
		case "quantiles":
			for _, f := range m.Value.Fields() {
				quantile, _ := f.Value.Lookup("quantile")
				value, _ := f.Value.Lookup("value")
				p.Quantiles = append(p.Quantiles, reader.Quantile{Quantile: parseNumber(quantile).Float64(), Value: parseNumber(value).Float64()})
			}
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

// parseNumber returns a number. JSON has non-finite numbers as texts.
func parseNumber(v reader.Value) reader.Value {
	if f, err := strconv.ParseFloat(v.Text(), 64); err == nil {
		return reader.Float64Value(f)
	}
	return v
}

func parseCounts(v reader.Value) (counts []uint64) {
	for _, f := range v.Fields() {
		counts = append(counts, f.Value.Uint64())
	}
	return counts
}

func parseBuckets(v reader.Value) (b reader.Buckets) {
	offset, _ := v.Lookup("offset")
	counts, _ := v.Lookup("counts")
	return reader.Buckets{Offset: int32(offset.Int64()), Counts: parseCounts(counts)}
}
