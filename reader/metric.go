package reader

import (
	"slices"
	"strings"
)

// The layouts of data points. All need pointFields.
var (
	exemplarPoint = pointLayout(PointExemplar, []string{"value", "filtered_attributes", "trace_id", "span_id"}, nil)
	sumPoint      = pointLayout(PointSum, []string{"value", "temporality"}, []string{"monotonic"})
	gaugePoint    = pointLayout(PointGauge, []string{"value"}, nil)
	histogram     = pointLayout(PointHistogram, []string{"sum", "explicit_bounds", "bucket_counts"}, []string{"count"})
	expHistogram  = pointLayout(PointExponentialHistogram, []string{"sum", "positive", "negative"}, []string{"count", "scale", "zero_count"})
	summary       = pointLayout(PointSummary, []string{"sum", "quantiles"}, []string{"count"})
)

func pointLayout(t PointType, texts, numbers []string) *layout {
	return &layout{
		kind: KindMetric, point: t, fields: pointFields, finish: finishOtel,
		numbers: append(numbers, "time_unix_nano"),
		texts:   append(texts, "name", "unit", "attributes"),
	}
}

// pointFields are the fields of all data points. A name has the same meaning in each. The kernel's filters use the
// numbers in millionths and the rounded one; the texts beside them are exact.
var pointFields = with(map[string]setter{
	"start_time_unix_nano": number64(func(ev *Event, n uint64) { ev.Point.StartTime = unixNano(n) }),
	"unit":                 words(func(ev *Event, s string) { ev.Point.Unit = s }),
	"temporality":          {text: setTemporality},
	"monotonic":            number64(func(ev *Event, n uint64) { ev.Point.Monotonic = n != 0 }),
	"value":                setNumber(func(p *Point) *Value { return &p.Value }),
	"value_int":            number64(func(*Event, uint64) {}),
	"value_micro":          number64(func(*Event, uint64) {}),
	"count":                number64(func(ev *Event, n uint64) { ev.Point.Count = n }),
	"sum":                  setNumber(func(p *Point) *Value { return &p.Sum }),
	"sum_micro":            number64(func(*Event, uint64) {}),
	"min":                  setNumber(func(p *Point) *Value { return &p.Min }),
	"max":                  setNumber(func(p *Point) *Value { return &p.Max }),
	"max_micro":            number64(func(*Event, uint64) {}),
	"explicit_bounds":      words(func(ev *Event, s string) { ev.Point.Bounds = appendFloats(ev.Point.Bounds, s) }),
	"bucket_counts":        words(func(ev *Event, s string) { ev.Point.BucketCounts = appendCounts(ev.Point.BucketCounts, s) }),
	"scale":                number64(func(ev *Event, n uint64) { ev.Point.Scale = int32(n) }),
	"zero_count":           number64(func(ev *Event, n uint64) { ev.Point.ZeroCount = n }),
	"positive":             words(func(ev *Event, s string) { ev.Point.Positive.set(s) }),
	"negative":             words(func(ev *Event, s string) { ev.Point.Negative.set(s) }),
	"quantiles":            words(func(ev *Event, s string) { ev.Point.Quantiles = appendQuantiles(ev.Point.Quantiles, s) }),
	"filtered_attributes":  members(func(ev *Event) *[]Field { return &ev.Point.FilteredAttributes }),
}, append(origin, "time_unix_nano", "trace_id", "span_id", "name")...)

// newPoint returns an empty point of a type.
func (s *scratch) newPoint(t PointType) *Point {
	if s.point == nil {
		s.point = new(Point)
	}
	p := s.point
	*p = Point{
		Type:   t,
		Bounds: p.Bounds[:0], BucketCounts: p.BucketCounts[:0], Quantiles: p.Quantiles[:0], FilteredAttributes: p.FilteredAttributes[:0],
		Positive: Buckets{Counts: p.Positive.Counts[:0]}, Negative: Buckets{Counts: p.Negative.Counts[:0]},
	}
	return p
}

func setTemporality(ev *Event, b []byte) bool {
	t := slices.Index(temporalityNames[:], stringOf(b))
	if t <= 0 {
		return len(b) == 0
	}
	ev.Point.Temporality = Temporality(t)
	return true
}

// setNumber returns the setter of a number that is written as text. An empty text is an unknown number.
func setNumber(field func(*Point) *Value) setter {
	return setter{text: func(ev *Event, b []byte) bool {
		n := numberText(stringOf(b))
		*field(ev.Point) = n
		return n.Type() != TypeNull || len(b) == 0
	}}
}

// appendFloats appends the numbers of a list such as 0.5,1. It stops at an element that is not a number: the program
// may have cut the list.
func appendFloats(dst []float64, list string) []float64 {
	for list != "" {
		text, rest, _ := strings.Cut(list, ",")
		v := numberText(text)
		if v.Type() == TypeNull {
			break
		}
		dst, list = append(dst, v.Float64()), rest
	}
	return dst
}

// appendCounts is appendFloats for a list such as 12,0,3.
func appendCounts(dst []uint64, list string) []uint64 {
	for list != "" {
		text, rest, _ := strings.Cut(list, ",")
		v := numberText(text)
		if v.Type() == TypeFloat64 || v.Type() == TypeNull {
			break
		}
		dst, list = append(dst, v.Uint64()), rest
	}
	return dst
}

// set reads the index of the first bucket, a colon and counts: -3:12,7,0,1.
func (b *Buckets) set(text string) {
	offset, counts, _ := strings.Cut(text, ":")
	b.Offset = int32(numberText(offset).Int64())
	b.Counts = appendCounts(b.Counts, counts)
}

// appendQuantiles is appendFloats for a list such as 0.5=12,0.99=34.
func appendQuantiles(dst []Quantile, list string) []Quantile {
	for list != "" {
		text, rest, _ := strings.Cut(list, ",")
		q, v, _ := strings.Cut(text, "=")
		quantile, value := numberText(q), numberText(v)
		if quantile.Type() == TypeNull || value.Type() == TypeNull {
			break
		}
		dst, list = append(dst, Quantile{quantile.Float64(), value.Float64()}), rest
	}
	return dst
}
