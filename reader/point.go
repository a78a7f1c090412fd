package reader

import "time"

// PointType is the type of a metric's data point.
type PointType uint8

// The types of data points.
const (
	PointNone PointType = iota // the event is not a metric
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
	TemporalityUnspecified Temporality = iota
	TemporalityDelta                   // since the last point
	TemporalityCumulative              // since the start
)

var temporalityNames = [...]string{"unspecified", "delta", "cumulative"}

// String returns the name of the temporality, such as "delta".
func (t Temporality) String() string { return name(temporalityNames[:], t) }

// Point is a data point of a metric. [Event.Message] is the metric's name, Timestamp the time of the point, and Fields
// are the attributes of its series. If Event.Truncated is not 0, the last buckets or quantiles may be missing.
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
