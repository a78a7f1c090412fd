package output

import (
	"encoding/base64"
	"strconv"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// appendPoint appends the main values of a data point as text.
func appendPoint(b []byte, p *reader.Point) []byte {
	put := func(name string, v reader.Value) {
		if v.Type() != reader.TypeNull {
			b = append(b, ' ')
			b = append(b, name...)
			b = append(b, '=')
			b = v.AppendText(b)
		}
	}
	start := len(b)
	b = append(b, ' ')
	b = append(b, p.Type.String()...)
	put("value", p.Value)
	if p.Type == reader.PointHistogram || p.Type == reader.PointExponentialHistogram || p.Type == reader.PointSummary {
		put("count", reader.Uint64Value(p.Count))
		put("sum", p.Sum)
		put("min", p.Min)
		put("max", p.Max)
	}
	for _, q := range p.Quantiles {
		b = append(b, " p"...)
		b = strconv.AppendFloat(b, q.Quantile*100, 'g', 6, 64)
		b = append(b, '=')
		b = attrjson.AppendFloat(b, q.Value)
	}
	if p.Unit != "" {
		put("unit", reader.StringValue(p.Unit))
	}
	return append(b[:start], b[start+1:]...)
}

func appendPointJSON(b []byte, p *reader.Point, c *clock) []byte {
	o := begin(b)
	o.str("type", p.Type.String())
	o.str("unit", p.Unit)
	if p.Temporality != reader.TemporalityUnspecified {
		o.str("temporality", p.Temporality.String())
	}
	if p.Monotonic {
		o.key("monotonic")
		o.b = append(o.b, "true"...)
	}
	if !p.StartTime.IsZero() {
		o.key("start_time")
		o.b = c.appendQuoted(o.b, p.StartTime)
	}
	o.value("value", p.Value)
	o.uint("count", p.Count)
	o.value("sum", p.Sum)
	o.value("min", p.Min)
	o.value("max", p.Max)
	o.list("bounds", len(p.Bounds), func(b []byte, i int) []byte { return attrjson.AppendFloat(b, p.Bounds[i]) })
	counts(&o, "bucket_counts", p.BucketCounts)
	if p.Type == reader.PointExponentialHistogram {
		o.key("scale")
		o.b = strconv.AppendInt(o.b, int64(p.Scale), 10)
		o.uint("zero_count", p.ZeroCount)
		if p.ZeroThreshold != 0 {
			o.value("zero_threshold", reader.Float64Value(p.ZeroThreshold))
		}
		buckets(&o, "positive", &p.Positive)
		buckets(&o, "negative", &p.Negative)
	}
	o.list("quantiles", len(p.Quantiles), func(b []byte, i int) []byte {
		q := begin(b)
		q.value("quantile", reader.Float64Value(p.Quantiles[i].Quantile))
		q.value("value", reader.Float64Value(p.Quantiles[i].Value))
		return q.end()
	})
	o.fields("filtered_attributes", p.FilteredAttributes)
	if len(p.Request) > 0 {
		o.key("request")
		o.b = append(base64.StdEncoding.AppendEncode(append(o.b, '"'), p.Request), '"')
	}
	return o.end()
}

func counts(o *object, name string, list []uint64) {
	o.list(name, len(list), func(b []byte, i int) []byte { return strconv.AppendUint(b, list[i], 10) })
}

func buckets(o *object, name string, s *reader.Buckets) {
	if len(s.Counts) == 0 {
		return
	}
	o.key(name)
	in := begin(o.b)
	in.key("offset")
	in.b = strconv.AppendInt(in.b, int64(s.Offset), 10)
	counts(&in, "counts", s.Counts)
	o.b = in.end()
}
