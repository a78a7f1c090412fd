package reader

import "time"

// PointType is the type of a metric's data point.
type PointType uint8

// The types of data points.
const (
	NoPoint PointType = iota // the event is no metric
	Gauge
	Sum
	Histogram
	ExpHistogram // exponential
	Summary
	Exemplar // an exemplar of a point, which is another record
	OTLP     // any number of points: Point.Request has them
)

var pointNames = [...]string{"none", "gauge", "sum", "histogram", "exponential histogram", "summary", "exemplar", "otlp"}

// String returns the name of the type, such as "histogram".
func (t PointType) String() string { return name(pointNames[:], t) }

// Temporality says what the values of a sum or a histogram add to, with the numbers of OpenTelemetry's protocol.
type Temporality uint8

// The temporalities.
const (
	UnspecifiedTemporality Temporality = iota
	Delta                              // since the last point
	Cumulative                         // since the start
)

var temporalityNames = [...]string{"unspecified", "delta", "cumulative"}

// String returns the name of the temporality, such as "delta".
func (t Temporality) String() string { return name(temporalityNames[:], t) }

// Point is a data point of a metric. [Event.Message] is the metric's name, Timestamp the time of the point, and Fields
// are the attributes of its series. The record may lack the last buckets or quantiles: Event.Truncated is not 0 then.
type Point struct {
	Type        PointType
	Unit        string // in the notation of UCUM
	Temporality Temporality
	Monotonic   bool      // of a Sum: it never decreases
	StartTime   time.Time // when the series or the interval began; zero if not known

	Value Value // of a Gauge, a Sum or an Exemplar: an integer or a float

	Count         uint64 // of histograms and summaries
	Sum, Min, Max Value  // the same: integers or floats; null if not known

	Bounds       []float64 // of a Histogram: the upper bound of each bucket but the last
	BucketCounts []uint64  // the number of values in each bucket

	Scale              int32 // of an ExpHistogram
	ZeroCount          uint64
	ZeroThreshold      float64
	Positive, Negative Buckets

	Quantiles []Quantile // of a Summary

	FilteredAttributes []Field // of an Exemplar: attributes that its series does not have

	Request []byte // of OTLP: an ExportMetricsServiceRequest as protobuf, part of the record
}

// Buckets are those of an exponential histogram on one side of zero.
type Buckets struct {
	Offset int32 // the index of the first bucket
	Counts []uint64
}

// Quantile is a value of a summary.
type Quantile struct{ Quantile, Value float64 }
