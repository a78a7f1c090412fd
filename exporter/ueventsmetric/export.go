package ueventsmetric

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/typedfield"
)

type export struct {
	*Exporter
	component.Batch
	resource *attrs.Described
	scope    *instrumentation.Scope
	metric   *metricdata.Metrics
}

func (e *Exporter) export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	x := &export{Exporter: e, Batch: e.common.Batch(ctx, "points"), resource: e.common.Resources.Describe(rm.Resource)}
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		x.scope = &sm.Scope
		for j := range sm.Metrics {
			x.metric = &sm.Metrics[j]
			x.points()
		}
	}
	return x.End(sdkmetric.ErrExporterShutdown)
}

func (x *export) points() {
	switch d := x.metric.Data.(type) {
	case metricdata.Gauge[int64]:
		numbers(x, gauge, d.DataPoints, 0, false)
	case metricdata.Gauge[float64]:
		numbers(x, gauge, d.DataPoints, 0, false)
	case metricdata.Sum[int64]:
		numbers(x, sumOf(d.Temporality, d.IsMonotonic), d.DataPoints, d.Temporality, d.IsMonotonic)
	case metricdata.Sum[float64]:
		numbers(x, sumOf(d.Temporality, d.IsMonotonic), d.DataPoints, d.Temporality, d.IsMonotonic)
	case metricdata.Histogram[int64]:
		histograms(x, d.DataPoints, d.Temporality)
	case metricdata.Histogram[float64]:
		histograms(x, d.DataPoints, d.Temporality)
	case metricdata.ExponentialHistogram[int64]:
		expHistograms(x, d.DataPoints, d.Temporality)
	case metricdata.ExponentialHistogram[float64]:
		expHistograms(x, d.DataPoints, d.Temporality)
	case metricdata.Summary:
		summaries(x, d.DataPoints)
	default:
		x.Fail(1, fmt.Errorf("metric %q: unknown aggregation %T", x.metric.Name, d))
	}
}

// enabled reports whether a point of that kind is to be written: its event is enabled and the export is not stopped.
func (x *export) enabled(k kind) bool { return x.events[k].Enabled() && !x.Stopped() }

func numbers[N int64 | float64](x *export, k kind, points []metricdata.DataPoint[N], t metricdata.Temporality, isMonotonic bool) {
	for i := range points {
		p := &points[i]
		if x.enabled(k) {
			r := x.begin(k, p.StartTime, p.Time)
			if k != gauge {
				r.Text(temporality, word(t))
				r.U8(monotonic, typedfield.Bool(isMonotonic))
			}
			putValue(&r, p.Value)
			x.end(&r, &p.Attributes, 0)
		}
		exemplars(x, &p.Attributes, p.Exemplars)
	}
}

func histograms[N int64 | float64](x *export, points []metricdata.HistogramDataPoint[N], t metricdata.Temporality) {
	buf := bufpool.Get()
	b := bounds{text: *buf}
	k := histogram.of(t)
	for i := range points {
		p := &points[i]
		if x.enabled(k) {
			r := x.begin(k, p.StartTime, p.Time)
			putDistribution(&r, t, p.Count, p.Sum, p.Min, p.Max)
			b.put(&r, p.Bounds)
			putCounts(&r, bucketCounts, len(r.Buf), p.BucketCounts)
			x.end(&r, &p.Attributes, 0)
		}
		exemplars(x, &p.Attributes, p.Exemplars)
	}
	*buf = b.text
	bufpool.Put(buf)
}

func expHistograms[N int64 | float64](x *export, points []metricdata.ExponentialHistogramDataPoint[N], t metricdata.Temporality) {
	k := expHistogram.of(t)
	for i := range points {
		p := &points[i]
		if x.enabled(k) {
			r := x.begin(k, p.StartTime, p.Time)
			putDistribution(&r, t, p.Count, p.Sum, p.Min, p.Max)
			r.U32(scale, uint32(p.Scale))
			r.U64(zeroCount, p.ZeroCount)
			putExpBuckets(&r, positive, p.PositiveBucket)
			putExpBuckets(&r, negative, p.NegativeBucket)
			x.end(&r, &p.Attributes, p.ZeroThreshold)
		}
		exemplars(x, &p.Attributes, p.Exemplars)
	}
}

func summaries(x *export, points []metricdata.SummaryDataPoint) {
	for i := range points {
		p := &points[i]
		if x.enabled(summary) {
			r := x.begin(summary, p.StartTime, p.Time)
			r.U64(count, p.Count)
			putSum(&r, p.Sum)
			putQuantiles(&r, p.QuantileValues)
			x.end(&r, &p.Attributes, 0)
		}
	}
}

func exemplars[N int64 | float64](x *export, set *attribute.Set, list []metricdata.Exemplar[N]) {
	for i := range list {
		if !x.enabled(exemplar) {
			return
		}
		p := &list[i]
		var r component.Record
		x.events[exemplar].Begin(&r)
		r.U64(timeUnixNano, typedfield.UnixNano(p.Time))
		r.ID(traceID, p.TraceID, len(p.TraceID) == 16)
		r.ID(spanID, p.SpanID, len(p.SpanID) == 8)
		putValue(&r, p.Value)
		if len(p.FilteredAttributes) > 0 {
			w := r.Object()
			for j := range p.FilteredAttributes {
				attrs.WriteJSON(&w, &p.FilteredAttributes[j])
			}
			r.EndObject(r.At(filteredAttributes), &w, attrjson.KeepAll) // a set has no duplicates
		}
		x.end(&r, set, 0)
	}
}

func (x *export) begin(k kind, start, end time.Time) (r component.Record) {
	x.events[k].Begin(&r)
	r.U64(startTimeUnixNano, typedfield.UnixNano(start))
	r.U64(timeUnixNano, typedfield.UnixNano(end))
	return r
}

func word(t metricdata.Temporality) string {
	switch t {
	case metricdata.DeltaTemporality:
		return "delta"
	case metricdata.CumulativeTemporality:
		return "cumulative"
	}
	return ""
}

// keyZeroThreshold is OpenTelemetry's name of a field that exponential histograms have no room for.
const keyZeroThreshold = "user_events.zero_threshold"

// end writes what the points of a metric have in common and the attributes of the series, and hands the record to the kernel.
func (x *export) end(r *component.Record, set *attribute.Set, zeroThreshold float64) {
	r.Text(name, x.metric.Name)
	r.Text(unit, x.metric.Unit)
	origin := &r.Event.Origin
	origin.Put(&r.Builder, x.scope, x.resource)
	w, duplicates := r.Object(), attrjson.KeepAll // a set has none
	for i := set.Iter(); i.Next(); {
		kv := i.Attribute()
		attrs.WriteMember(&w, &kv, &duplicates)
	}
	if zeroThreshold != 0 {
		w.Key(keyZeroThreshold)
		w.Float(zeroThreshold)
	}
	origin.WriteScope(&w, x.scope)
	r.EndObject(r.At(attributes), &w, duplicates)
	written, err := r.Write()
	if written {
		x.Wrote(1)
	} else if err != nil {
		x.Fail(1, err)
	}
}
