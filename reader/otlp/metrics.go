package otlp

import (
	"bytes"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/userevents/userevents-go/record"
)

const (
	metricSize = len(`{"name":,"description":"","unit":,"exponentialHistogram":{"dataPoints":[],"aggregationTemporality":2}},`)
	pointSize  = len(`{"attributes":[],"startTimeUnixNano":"","timeUnixNano":"","count":"","sum":,"min":,"max":,"scale":,"zeroCount":"",`+
		`"positive":{"offset":,"bucketCounts":[]},"negative":{"offset":,"bucketCounts":[]},"exemplars":[],"zeroThreshold":}`) + 11*numberSize
	exemplarSize = len(`{"filteredAttributes":[],"timeUnixNano":"","asDouble":,"spanId":"","traceId":""},`) + 2*numberSize + 2*(16+8)
)

type metricKey struct {
	origin      origin
	name, unit  string
	kind        record.PointType
	temporality record.Temporality
	monotonic   bool
}

// lastPoint is the last point of a process. Its exemplars follow it.
type lastPoint struct {
	origin     origin
	name, unit string
	attributes []byte
	exemplars  pmetric.ExemplarSlice
}

// metrics are the data points since the last Take.
type metrics struct {
	data    pmetric.Metrics
	metrics map[metricKey]pmetric.Metric
	last    map[int32]*lastPoint // by process
	points  int
	groups[pmetric.ResourceMetrics, pmetric.ScopeMetrics, pmetric.MetricSlice]
}

func (m *metrics) reset() {
	data := pmetric.NewMetrics()
	scope := func(r pmetric.ResourceMetrics) pmetric.ScopeMetrics { return r.ScopeMetrics().AppendEmpty() }
	*m = metrics{
		data: data, metrics: map[metricKey]pmetric.Metric{}, last: map[int32]*lastPoint{},
		groups: newGroups(data.ResourceMetrics().AppendEmpty, scope, pmetric.ScopeMetrics.Metrics),
	}
}

// metric returns the metric of an event's data point.
func (c *Converter) metric(o origin, ev *record.Record) pmetric.Metric {
	p := ev.Point
	key := metricKey{o, ev.Message, p.Unit, p.Type, p.Temporality, p.Monotonic}
	if m, ok := c.metrics.metrics[key]; ok {
		return m
	}
	m := c.metrics.group(o).AppendEmpty()
	key.name, key.unit = c.texts.keep(ev.Message), c.texts.keep(p.Unit)
	m.SetName(key.name)
	m.SetUnit(key.unit)
	c.metrics.bytes += metricSize + jsonSize(key.name) + jsonSize(key.unit)
	temporality := pmetric.AggregationTemporality(p.Temporality)
	switch p.Type {
	case record.PointSum:
		m.SetEmptySum().SetAggregationTemporality(temporality)
		m.Sum().SetIsMonotonic(p.Monotonic)
	case record.PointHistogram:
		m.SetEmptyHistogram().SetAggregationTemporality(temporality)
	case record.PointExponentialHistogram:
		m.SetEmptyExponentialHistogram().SetAggregationTemporality(temporality)
	case record.PointSummary:
		m.SetEmptySummary()
	default:
		m.SetEmptyGauge()
	}
	c.metrics.metrics[key] = m
	return m
}

type point interface {
	Attributes() pcommon.Map
	SetTimestamp(pcommon.Timestamp)
	SetStartTimestamp(pcommon.Timestamp)
}

func (c *Converter) addPoint(ev *record.Record) {
	o := c.originOf(ev)
	if ev.Point.Type == record.PointExemplar {
		c.addExemplar(o, ev)
		return
	}
	m := c.metric(o, ev)
	size := pointSize + 2*numberSize*(len(ev.Point.BucketCounts)+len(ev.Point.Positive.Counts)+len(ev.Point.Negative.Counts)+2*len(ev.Point.Quantiles))
	switch m.Type() {
	case pmetric.MetricTypeSum:
		p := m.Sum().DataPoints().AppendEmpty()
		setNumber(p, ev.Point.Value)
		size += c.describePoint(p, o, ev, p.Exemplars())
	case pmetric.MetricTypeHistogram:
		p := m.Histogram().DataPoints().AppendEmpty()
		setHistogram(p, ev.Point)
		size += c.describePoint(p, o, ev, p.Exemplars())
	case pmetric.MetricTypeExponentialHistogram:
		p := m.ExponentialHistogram().DataPoints().AppendEmpty()
		setExpHistogram(p, ev.Point)
		size += c.describePoint(p, o, ev, p.Exemplars())
	case pmetric.MetricTypeSummary:
		p := m.Summary().DataPoints().AppendEmpty()
		setSummary(p, ev.Point)
		size += c.describePoint(p, o, ev, pmetric.NewExemplarSlice())
	default:
		p := m.Gauge().DataPoints().AppendEmpty()
		setNumber(p, ev.Point.Value)
		size += c.describePoint(p, o, ev, p.Exemplars())
	}
	c.metrics.bytes += size
	c.metrics.points++
	c.stats.DataPoints++
}

// describePoint sets the fields that all data points share, and returns their approximate size in JSON.
func (c *Converter) describePoint(p point, o origin, ev *record.Record, exemplars pmetric.ExemplarSlice) (size int) {
	p.SetTimestamp(timestampOr(ev.Timestamp, ev.Time))
	p.SetStartTimestamp(timestamp(ev.Point.StartTime))
	l := c.metrics.last[ev.PID]
	if l == nil {
		l = &lastPoint{}
		c.metrics.last[ev.PID] = l
	}
	l.origin, l.name, l.unit, l.exemplars = o, c.texts.keep(ev.Message), c.texts.keep(ev.Point.Unit), exemplars
	l.attributes = record.AppendJSON(l.attributes[:0], ev.Fields())
	return c.putAll(p.Attributes(), ev.Fields(), 0)
}

// addExemplar adds an exemplar to the last point of its process if both have the same metric and series.
func (c *Converter) addExemplar(o origin, ev *record.Record) {
	l := c.metrics.last[ev.PID]
	if l == nil || l.origin != o || l.name != ev.Message || l.unit != ev.Point.Unit || !bytes.Equal(l.attributes, record.AppendJSON(nil, ev.Fields())) {
		c.stats.OrphanExemplars++
		return
	}
	e := l.exemplars.AppendEmpty()
	e.SetTimestamp(timestamp(ev.Timestamp))
	e.SetTraceID(ev.TraceID)
	e.SetSpanID(ev.SpanID)
	if v, ok := exactInt(ev.Point.Value); ok {
		e.SetIntValue(v)
	} else {
		e.SetDoubleValue(ev.Point.Value.Float64())
	}
	c.metrics.bytes += exemplarSize + c.putAll(e.FilteredAttributes(), ev.Point.FilteredAttributes, 0)
}

func (c *Converter) addRequest(ev *record.Record) error {
	data, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(ev.Point.Request)
	if err != nil {
		return err
	}
	for _, r := range data.ResourceMetrics().All() {
		c.metrics.bytes += c.identify(r.Resource().Attributes(), ev) + groupSize
	}
	c.metrics.bytes += len(ev.Point.Request) * requestGrowth
	c.metrics.points += data.DataPointCount()
	c.stats.DataPoints += uint64(data.DataPointCount())
	data.ResourceMetrics().MoveAndAppendTo(c.metrics.data.ResourceMetrics())
	return nil
}

// requestGrowth exceeds the ratio of an OTLP request's size as JSON to its size as protobuf. An attribute without key and
// value has the largest.
const requestGrowth = 12

// maxExact is the limit up to which a float64 represents every integer.
const maxExact = 1 << 53

// exactInt returns an integer beyond maxExact. All other numbers become float64, so that the points of a series have
// one type: the text of a value does not tell an integer from a whole float.
func exactInt(v record.Value) (i int64, ok bool) {
	i = v.Int64()
	return i, v.Type() == record.TypeInt64 && (i > maxExact || i < -maxExact)
}

func setNumber(p pmetric.NumberDataPoint, v record.Value) {
	if i, ok := exactInt(v); ok {
		p.SetIntValue(i)
	} else {
		p.SetDoubleValue(v.Float64())
	}
}

// ifKnown calls set with a number unless it is null.
func ifKnown(v record.Value, set func(float64)) {
	if v.Type() != record.TypeNull {
		set(v.Float64())
	}
}

func setHistogram(p pmetric.HistogramDataPoint, from *record.Point) {
	p.SetCount(from.Count)
	ifKnown(from.Sum, p.SetSum)
	ifKnown(from.Min, p.SetMin)
	ifKnown(from.Max, p.SetMax)
	// A truncated record may lack buckets, which the data model does not allow: the point then gets none.
	if len(from.BucketCounts) == len(from.Bounds)+1 {
		p.ExplicitBounds().FromRaw(from.Bounds)
		p.BucketCounts().FromRaw(from.BucketCounts)
	}
}

func setExpHistogram(p pmetric.ExponentialHistogramDataPoint, from *record.Point) {
	p.SetCount(from.Count)
	ifKnown(from.Sum, p.SetSum)
	ifKnown(from.Min, p.SetMin)
	ifKnown(from.Max, p.SetMax)
	p.SetScale(from.Scale)
	p.SetZeroCount(from.ZeroCount)
	p.SetZeroThreshold(from.ZeroThreshold)
	setBuckets(p.Positive(), &from.Positive)
	setBuckets(p.Negative(), &from.Negative)
}

func setBuckets(to pmetric.ExponentialHistogramDataPointBuckets, from *record.Buckets) {
	to.SetOffset(from.Offset)
	to.BucketCounts().FromRaw(from.Counts)
}

func setSummary(p pmetric.SummaryDataPoint, from *record.Point) {
	p.SetCount(from.Count)
	ifKnown(from.Sum, p.SetSum)
	for _, q := range from.Quantiles {
		to := p.QuantileValues().AppendEmpty()
		to.SetQuantile(q.Quantile)
		to.SetValue(q.Value)
	}
}
