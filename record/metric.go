package record

import (
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// PointType is the type of a metric's data point.
type PointType uint8

// The types of data points.
const (
	_ PointType = iota // the event is not a metric
	PointGauge
	PointSum
	PointHistogram
	PointExponentialHistogram
	PointSummary
	PointExemplar // an exemplar of a point, in a record of its own
	PointOTLP     // any number of points, encoded in Point.Request
)

var pointNames = [...]string{"none", "gauge", "sum", "histogram", "exponential histogram", "summary", "exemplar", "otlp"}

// String returns the name of the type, such as "histogram".
func (t PointType) String() string { return name(pointNames[:], t) }

// Temporality tells the start of the interval that a sum or a histogram covers, with the numbers of OpenTelemetry's
// protocol.
type Temporality uint8

// The temporalities.
const (
	_                     Temporality = iota // not known
	TemporalityDelta                         // since the last point
	TemporalityCumulative                    // since the start
)

var temporalityNames = [...]string{"unspecified", "delta", "cumulative"}

// String returns the name of the temporality, such as "delta".
func (t Temporality) String() string { return name(temporalityNames[:], t) }

// Point is a data point of a metric. [Record.Message] is the metric's name, Timestamp the time of the point, and Fields
// are the attributes of its series. If Record.Truncated is not 0, the last buckets or quantiles may be missing.
type Point struct {
	Type        PointType
	Unit        string // in the notation of UCUM
	Temporality Temporality
	Monotonic   bool      // PointSum: it never decreases
	StartTime   time.Time // start of the series or of the interval; zero if unknown

	Value Value // PointGauge, PointSum, PointExemplar: an integer or a float

	Count         uint64 // PointHistogram, PointExponentialHistogram, PointSummary
	Sum, Min, Max Value  // the same: integers or floats; null if unknown

	Bounds       []float64 // PointHistogram: the upper bound of each bucket but the last
	BucketCounts []uint64  // the number of values in each bucket

	Scale              int32 // PointExponentialHistogram
	ZeroCount          uint64
	ZeroThreshold      float64
	Positive, Negative Buckets

	Quantiles []Quantile // PointSummary

	FilteredAttributes []Field // PointExemplar: attributes that its series does not have

	Request []byte // PointOTLP: an ExportMetricsServiceRequest as protobuf, part of the record
}

// Buckets are the buckets of an exponential histogram on one side of zero.
type Buckets struct {
	Offset int32 // index of the first bucket
	Counts []uint64
}

// Quantile is a value of a summary.
type Quantile struct{ Quantile, Value float64 }

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
		kind: KindMetric, point: t, fields: pointFields, lifts: true,
		numbers: append(numbers, "time_unix_nano"),
		texts:   append(texts, "name", "unit", "attributes"),
	}
}

// pointFields are the fields of all data points. A name has the same meaning in each. The kernel's filters use the
// numbers in millionths and the rounded one; the texts beside them are exact.
var pointFields = with(map[string]setter{
	"start_time_unix_nano": number64(func(rec *Record, n uint64) { rec.Point.StartTime = unixNano(n) }),
	"unit":                 words(func(rec *Record, s string) { rec.Point.Unit = s }),
	"temporality":          {text: setTemporality},
	"monotonic":            number64(func(rec *Record, n uint64) { rec.Point.Monotonic = n != 0 }),
	"value":                setNumber(func(p *Point) *Value { return &p.Value }),
	"value_int":            number64(func(*Record, uint64) {}),
	"value_micro":          number64(func(*Record, uint64) {}),
	"count":                number64(func(rec *Record, n uint64) { rec.Point.Count = n }),
	"sum":                  setNumber(func(p *Point) *Value { return &p.Sum }),
	"sum_micro":            number64(func(*Record, uint64) {}),
	"min":                  setNumber(func(p *Point) *Value { return &p.Min }),
	"max":                  setNumber(func(p *Point) *Value { return &p.Max }),
	"max_micro":            number64(func(*Record, uint64) {}),
	"explicit_bounds":      words(func(rec *Record, s string) { rec.Point.Bounds = appendElements(rec.Point.Bounds, s, floatText) }),
	"bucket_counts": words(func(rec *Record, s string) {
		rec.Point.BucketCounts = appendElements(rec.Point.BucketCounts, s, countText)
	}),
	"scale":      number64(func(rec *Record, n uint64) { rec.Point.Scale = int32(n) }),
	"zero_count": number64(func(rec *Record, n uint64) { rec.Point.ZeroCount = n }),
	"positive":   words(func(rec *Record, s string) { rec.Point.Positive.set(s) }),
	"negative":   words(func(rec *Record, s string) { rec.Point.Negative.set(s) }),
	"quantiles": words(func(rec *Record, s string) {
		rec.Point.Quantiles = appendElements(rec.Point.Quantiles, s, quantileText)
	}),
	"filtered_attributes": members(func(rec *Record) *[]Field { return &rec.Point.FilteredAttributes }),
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

func setTemporality(rec *Record, b []byte) bool {
	t := slices.Index(temporalityNames[:], stringOf(b))
	if t <= 0 {
		return len(b) == 0
	}
	rec.Point.Temporality = Temporality(t)
	return true
}

// setNumber returns the setter of a number that is written as text. An empty text is an unknown number.
func setNumber(field func(*Point) *Value) setter {
	return setter{text: func(rec *Record, b []byte) bool {
		n := numberText(stringOf(b))
		*field(rec.Point) = n
		return n.Type() != TypeNull || len(b) == 0
	}}
}

// appendElements appends the elements of a list such as 0.5,1. It stops at an element that parse refuses: the program may have
// cut the list.
func appendElements[T any](dst []T, list string, parse func(string) (T, bool)) []T {
	for list != "" {
		text, rest, _ := strings.Cut(list, ",")
		v, ok := parse(text)
		if !ok {
			break
		}
		dst, list = append(dst, v), rest
	}
	return dst
}

func floatText(text string) (float64, bool) {
	v := numberText(text)
	return v.Float64(), v.Type() != TypeNull
}

func countText(text string) (uint64, bool) {
	v := numberText(text)
	return v.Uint64(), v.isInteger()
}

// quantileText returns the quantile of an element such as 0.99=34.
func quantileText(text string) (Quantile, bool) {
	q, v, _ := strings.Cut(text, "=")
	quantile, ok := floatText(q)
	value, ok2 := floatText(v)
	return Quantile{quantile, value}, ok && ok2
}

// set reads the index of the first bucket, a colon and counts: -3:12,7,0,1.
func (b *Buckets) set(text string) {
	offset, counts, _ := strings.Cut(text, ":")
	b.Offset = int32(numberText(offset).Int64())
	b.Counts = appendElements(b.Counts, counts, countText)
}

// otlpMetrics is the layout of the tracepoint that OpenTelemetry's metrics exporters of several languages use.
var otlpMetrics = &layout{
	kind: KindMetric, point: PointOTLP,
	numbers: []string{"protocol"},
	texts:   []string{"version"},
	bytes:   []string{"buffer"},
	fields: map[string]setter{
		"protocol": number64(func(*Record, uint64) {}),
		"version":  {text: func(*Record, []byte) bool { return true }},
		"buffer": {array: func(rec *Record, b []byte) bool {
			rec.Point.Request = b
			return true
		}},
	},
	applies: isProtobuf,
}

const protobuf = 0 // the protocol

// isProtobuf reports whether a record holds OTLP as protobuf: its version is then v0.19.00, for every version of OTLP.
func isProtobuf(r typed.Record) bool {
	protocol, _ := r.Lookup("protocol")
	version, _ := r.Lookup("version")
	return protocol.Uint64() == protobuf && strings.HasPrefix(stringOf(version.Bytes()), "v0.")
}

func isBytes(t tracepoint.Type) bool {
	return t.Kind == tracepoint.U8 && (t.Len > 0 || t.Location != tracepoint.Fixed)
}
