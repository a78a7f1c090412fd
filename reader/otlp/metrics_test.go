package otlp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/userevents/userevents-go/record"
)

// pointOf returns an event that is a data point of the metric "requests".
func pointOf(p record.Point, edit func(ev *record.Record)) *record.Record {
	return event(record.KindMetric, func(ev *record.Record) {
		p.Unit, p.StartTime = "{request}", happened.Add(-time.Minute)
		ev.Message, ev.Timestamp, ev.Point = "requests", happened, &p
		ev.SetFields([]record.Field{field("route", record.StringValue("/"))})
		if edit != nil {
			edit(ev)
		}
	})
}

const pointJSON = `"startTimeUnixNano":"1699999940000000007","timeUnixNano":` + happenedJSON + `,"attributes":[{"key":"route","value":{"stringValue":"/"}}]`

func metricsJSON(metrics string) string {
	return `{"resourceMetrics":[{` + resourceJSON + `,"scopeMetrics":[{` + scopeJSON + `,"metrics":[` + metrics + `]}]}]}`
}

func TestPoints(t *testing.T) {
	number := record.Float64Value
	for name, test := range map[string]struct {
		point record.Point
		want  string
	}{
		"gauge": {
			record.Point{Type: record.PointGauge, Value: record.Int64Value(-3)},
			`"gauge":{"dataPoints":[{"asDouble":-3,` + pointJSON + `}]}`,
		},
		"large integer": {
			record.Point{Type: record.PointGauge, Value: record.Int64Value(1<<53 + 1)},
			`"gauge":{"dataPoints":[{"asInt":"9007199254740993",` + pointJSON + `}]}`,
		},
		"sum": {
			record.Point{Type: record.PointSum, Value: number(0.5), Temporality: record.TemporalityDelta, Monotonic: true},
			`"sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"asDouble":0.5,` + pointJSON + `}]}`,
		},
		"histogram": {
			record.Point{
				Type: record.PointHistogram, Temporality: record.TemporalityCumulative, Count: 3, Sum: number(4), Min: number(0.5), Max: number(2),
				Bounds: []float64{1, 2}, BucketCounts: []uint64{1, 0, 2},
			},
			`"histogram":{"aggregationTemporality":2,"dataPoints":[{"count":"3","sum":4,"min":0.5,"max":2,"explicitBounds":[1,2],"bucketCounts":["1","0","2"],` + pointJSON + `}]}`,
		},
		"histogram without what is not known, and buckets that are cut": {
			record.Point{Type: record.PointHistogram, Temporality: record.TemporalityDelta, Count: 3, Bounds: []float64{1, 2}, BucketCounts: []uint64{1}},
			`"histogram":{"aggregationTemporality":1,"dataPoints":[{"count":"3",` + pointJSON + `}]}`,
		},
		"exponential histogram": {
			record.Point{
				Type: record.PointExponentialHistogram, Temporality: record.TemporalityDelta, Count: 6, Sum: number(4), Min: number(-1), Max: number(2), Scale: -2, ZeroCount: 1,
				ZeroThreshold: 0.25, Positive: record.Buckets{Offset: -3, Counts: []uint64{1, 2}}, Negative: record.Buckets{Offset: 4, Counts: []uint64{2}},
			},
			`"exponentialHistogram":{"aggregationTemporality":1,"dataPoints":[{"count":"6","sum":4,"min":-1,"max":2,"scale":-2,"zeroCount":"1","zeroThreshold":0.25,
			"positive":{"offset":-3,"bucketCounts":["1","2"]},"negative":{"offset":4,"bucketCounts":["2"]},` + pointJSON + `}]}`,
		},
		"summary": {
			record.Point{Type: record.PointSummary, Count: 3, Sum: number(4), Quantiles: []record.Quantile{{Quantile: 0.5, Value: 1}}},
			`"summary":{"dataPoints":[{"count":"3","sum":4,"quantileValues":[{"quantile":0.5,"value":1}],` + pointJSON + `}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConverter(nil)
			add(t, c, pointOf(test.point, nil))
			assert.Equal(t, 1, c.Pending().DataPoints)
			_, _, metrics := takeJSON(t, c)
			assert.JSONEq(t, metricsJSON(`{"name":"requests","unit":"{request}",`+test.want+`}`), metrics)
			assert.Equal(t, Stats{DataPoints: 1}, c.Stats())
		})
	}
}

// Points of one metric are in one metric, for any points between them.
func TestPointsOfAMetric(t *testing.T) {
	c := NewConverter(nil)
	sum := record.Point{Type: record.PointSum, Temporality: record.TemporalityDelta, Monotonic: true, Value: record.Int64Value(1)}
	cumulative, upDown := sum, sum
	cumulative.Temporality, upDown.Monotonic = record.TemporalityCumulative, false
	for range 2 {
		add(t, c, pointOf(sum, nil), pointOf(cumulative, nil), pointOf(upDown, nil),
			pointOf(record.Point{Type: record.PointGauge}, nil), pointOf(sum, func(ev *record.Record) { ev.Message = "errors" }),
			pointOf(sum, func(ev *record.Record) { ev.Point.Unit = "1" }))
	}
	metrics := c.TakeMetrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	require.Equal(t, 6, metrics.Len())
	assert.Equal(t, 2, metrics.At(0).Sum().DataPoints().Len())
}

func TestExemplars(t *testing.T) {
	exemplar := func(edit func(ev *record.Record)) *record.Record {
		return pointOf(record.Point{
			Type: record.PointExemplar, Value: record.Float64Value(0.75), FilteredAttributes: []record.Field{field("user", record.StringValue("u"))},
		}, func(ev *record.Record) {
			ev.TraceID, ev.SpanID = testTrace, testSpan
			if edit != nil {
				edit(ev)
			}
		})
	}
	c := NewConverter(nil)
	add(t, c,
		exemplar(nil), // before its point
		pointOf(record.Point{Type: record.PointSum, Temporality: record.TemporalityDelta, Value: record.Float64Value(1)}, nil),
		pointOf(record.Point{Type: record.PointGauge}, func(ev *record.Record) { ev.PID = 813 }), // another process
		exemplar(nil),
		exemplar(func(ev *record.Record) { ev.Point.Value = record.Int64Value(1 << 60) }),
		exemplar(func(ev *record.Record) { ev.SetFields(nil) }), // another series
		exemplar(func(ev *record.Record) { ev.Message = "errors" }))
	_, _, metrics := takeJSON(t, c)
	assert.Contains(t, metrics, `"exemplars":[{`)
	assert.Equal(t, Stats{DataPoints: 2, OrphanExemplars: 3}, c.Stats())
	add(t, c, exemplar(nil))
	assert.EqualValues(t, 4, c.Stats().OrphanExemplars, "its point was taken")

	read, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics([]byte(metrics))
	require.NoError(t, err)
	point := read.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0)
	require.Equal(t, 2, point.Exemplars().Len())
	e := point.Exemplars().At(0)
	assert.EqualValues(t, testTrace, e.TraceID())
	assert.EqualValues(t, testSpan, e.SpanID())
	assert.Equal(t, happened, e.Timestamp().AsTime())
	assert.Equal(t, 0.75, e.DoubleValue())
	assert.Equal(t, map[string]any{"user": "u"}, e.FilteredAttributes().AsRaw())
	assert.EqualValues(t, 1<<60, point.Exemplars().At(1).IntValue())
}

func TestRequest(t *testing.T) {
	sent := pmetric.NewMetrics()
	for _, pid := range []int64{0, 1} {
		r := sent.ResourceMetrics().AppendEmpty()
		r.Resource().Attributes().PutStr("service.name", "shop")
		if pid != 0 {
			r.Resource().Attributes().PutInt("process.pid", pid)
		}
		m := r.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName("requests")
		m.SetDescription("all of them")
		m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(3)
	}
	request, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(sent)
	require.NoError(t, err)
	c := NewConverter(nil)
	add(t, c, event(record.KindMetric, func(ev *record.Record) { ev.Point = &record.Point{Type: record.PointOTLP, Request: request} }))
	assert.Equal(t, 2, c.Pending().DataPoints)
	_, _, metrics := takeJSON(t, c)
	rest := `"scopeMetrics":[{"scope":{},"metrics":[{"name":"requests","description":"all of them","gauge":{"dataPoints":[{"asInt":"3"}]}}]}]`
	assert.JSONEq(t, `{"resourceMetrics":[{`+resourceJSON+`,`+rest+`},{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},
		{"key":"process.pid","value":{"intValue":"812"}},{"key":"process.executable.name","value":{"stringValue":"myapp"}},
		{"key":"container.id","value":{"stringValue":"c0ffee"}}]},`+rest+`}]}`, metrics)

	err = c.Add(event(record.KindMetric, func(ev *record.Record) {
		ev.Point = &record.Point{Type: record.PointOTLP, Request: request[:len(request)-1]}
	}))
	assert.ErrorContains(t, err, "myapp_x of process 812: request of OTLP: ")
	assert.Equal(t, Stats{DataPoints: 2, Malformed: 1}, c.Stats())
	assert.Equal(t, Pending{}, c.Pending())
}
