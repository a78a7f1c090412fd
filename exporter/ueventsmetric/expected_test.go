package ueventsmetric_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// fields are what a record says: texts, or an object of attributes.
type fields map[string]any

// records returns the records that an exporter called app writes of metric data, as its documentation says.
func records(app string, rm *metricdata.ResourceMetrics) (list []fields) {
	service, _ := rm.Resource.Set().Value("service.name")
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			w := &expectation{app: app, service: service.AsString(), scope: sm.Scope, metric: m}
			switch d := m.Data.(type) {
			case metricdata.Gauge[int64]:
				numbers(w, "gauge", d.DataPoints, nil)
			case metricdata.Gauge[float64]:
				numbers(w, "gauge", d.DataPoints, nil)
			case metricdata.Sum[int64]:
				numbers(w, sumEvent(d.Temporality, d.IsMonotonic), d.DataPoints, fields{"temporality": temporality(d.Temporality), "monotonic": map[bool]string{false: "0", true: "1"}[d.IsMonotonic]})
			case metricdata.Sum[float64]:
				numbers(w, sumEvent(d.Temporality, d.IsMonotonic), d.DataPoints, fields{"temporality": temporality(d.Temporality), "monotonic": map[bool]string{false: "0", true: "1"}[d.IsMonotonic]})
			case metricdata.Histogram[int64]:
				histograms(w, d)
			case metricdata.Histogram[float64]:
				histograms(w, d)
			case metricdata.ExponentialHistogram[int64]:
				expHistograms(w, d)
			case metricdata.ExponentialHistogram[float64]:
				expHistograms(w, d)
			case metricdata.Summary:
				for _, p := range d.DataPoints {
					var quantiles []string
					for _, q := range p.QuantileValues {
						quantiles = append(quantiles, float(q.Quantile)+"="+float(q.Value))
					}
					w.add("summary", p.StartTime, p.Time, p.Attributes, fields{
						"count": unsigned(p.Count), "sum": float(p.Sum), "sum_micro": scaled(p.Sum, 1e6), "quantiles": strings.Join(quantiles, ","),
					})
				}
			}
			list = append(list, w.list...)
		}
	}
	return list
}

// expectation is the records of a metric.
type expectation struct {
	app, service string
	scope        instrumentation.Scope
	metric       metricdata.Metrics
	list         []fields
}

func (w *expectation) add(event string, start, end time.Time, set attribute.Set, more fields) {
	attributes := members(set.ToSlice())
	if w.scope.SchemaURL != "" {
		attributes["otel.scope.schema_url"] = w.scope.SchemaURL
	}
	if w.scope.Attributes.Len() > 0 {
		attributes["user_events.scope.attributes"] = members(w.scope.Attributes.ToSlice())
	}
	f := fields{
		"": w.app + "_metric_" + event, "name": w.metric.Name, "unit": w.metric.Unit, "scope_name": w.scope.Name, "service_name": w.service,
		"attributes": attributes, "truncated": "0", "time_unix_nano": nano(end),
	}
	if withoutVersion[event] && w.scope.Version != "" {
		attributes["otel.scope.version"] = w.scope.Version
	} else if !withoutVersion[event] {
		f["scope_version"] = w.scope.Version
	}
	if event != "exemplar" {
		f["start_time_unix_nano"] = nano(start)
	}
	for name, v := range more {
		if name == "" {
			attributes["user_events.zero_threshold"] = v // which has no field
		} else {
			f[name] = v
		}
	}
	w.list = append(w.list, f)
}

// withoutVersion are the events without a field scope_version.
var withoutVersion = map[string]bool{"exp_histogram": true, "cumulative_histogram": true, "cumulative_exp_histogram": true}

// eventOf returns the event for points of a temporality: a kernel that adds up all points of an event needs deltas.
func eventOf(event string, t metricdata.Temporality) string {
	if t != metricdata.DeltaTemporality {
		return "cumulative_" + event
	}
	return event
}

func sumEvent(t metricdata.Temporality, monotonic bool) string {
	if !monotonic {
		return "updown_sum"
	}
	return eventOf("sum", t)
}

func numbers[N int64 | float64](w *expectation, event string, points []metricdata.DataPoint[N], more fields) {
	for _, p := range points {
		f := fields{"value": numberText(p.Value), "value_int": scaled(p.Value, 1), "value_micro": scaled(p.Value, 1e6)}
		maps.Copy(f, more)
		w.add(event, p.StartTime, p.Time, p.Attributes, f)
		exemplars(w, p.Attributes, p.Exemplars)
	}
}

func histograms[N int64 | float64](w *expectation, d metricdata.Histogram[N]) {
	for _, p := range d.DataPoints {
		f := distribution(d.Temporality, p.Count, p.Sum, p.Min, p.Max)
		f["explicit_bounds"], f["bucket_counts"] = join(p.Bounds, float), join(p.BucketCounts, unsigned)
		w.add(eventOf("histogram", d.Temporality), p.StartTime, p.Time, p.Attributes, f)
		exemplars(w, p.Attributes, p.Exemplars)
	}
}

func expHistograms[N int64 | float64](w *expectation, d metricdata.ExponentialHistogram[N]) {
	for _, p := range d.DataPoints {
		f := distribution(d.Temporality, p.Count, p.Sum, p.Min, p.Max)
		f["scale"], f["zero_count"] = strconv.Itoa(int(p.Scale)), unsigned(p.ZeroCount)
		f["positive"], f["negative"] = bucketText(p.PositiveBucket), bucketText(p.NegativeBucket)
		if p.ZeroThreshold != 0 {
			f[""] = attributeValue(attribute.Float64Value(p.ZeroThreshold))
		}
		w.add(eventOf("exp_histogram", d.Temporality), p.StartTime, p.Time, p.Attributes, f)
		exemplars(w, p.Attributes, p.Exemplars)
	}
}

func distribution[N int64 | float64](t metricdata.Temporality, count uint64, sum N, lo, hi metricdata.Extrema[N]) fields {
	f := fields{"temporality": temporality(t), "count": unsigned(count), "sum": numberText(sum), "sum_micro": scaled(sum, 1e6), "min": "", "max": "", "max_micro": "0"}
	if v, ok := lo.Value(); ok {
		f["min"] = numberText(v)
	}
	if v, ok := hi.Value(); ok {
		f["max"], f["max_micro"] = numberText(v), scaled(v, 1e6)
	}
	return f
}

func exemplars[N int64 | float64](w *expectation, set attribute.Set, list []metricdata.Exemplar[N]) {
	for _, e := range list {
		f := fields{
			"trace_id": hex.EncodeToString(e.TraceID), "span_id": hex.EncodeToString(e.SpanID), "filtered_attributes": "",
			"value": numberText(e.Value), "value_int": scaled(e.Value, 1), "value_micro": scaled(e.Value, 1e6),
		}
		if len(e.FilteredAttributes) > 0 {
			f["filtered_attributes"] = members(e.FilteredAttributes)
		}
		w.add("exemplar", time.Time{}, e.Time, set, f)
	}
}

func temporality(t metricdata.Temporality) string {
	return map[metricdata.Temporality]string{metricdata.DeltaTemporality: "delta", metricdata.CumulativeTemporality: "cumulative"}[t]
}

func nano(t time.Time) string {
	if t.Unix() < 0 {
		return "0"
	}
	return nanos(t)
}

func join[T any](list []T, element func(T) string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = element(v)
	}
	return strings.Join(texts, ",")
}

func unsigned(n uint64) string { return strconv.FormatUint(n, 10) }

func numberText[N int64 | float64](v N) string {
	if n, ok := any(v).(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	return float(float64(v))
}

var exponent = regexp.MustCompile(`e([+-])0(\d)$`)

// float returns a number in the notation of JSON, or a word.
func float(v float64) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "NaN"
	case abs > math.MaxFloat64:
		return map[bool]string{true: "-Infinity", false: "Infinity"}[v < 0]
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		return exponent.ReplaceAllString(strconv.FormatFloat(v, 'e', -1, 64), "e$1$2")
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// scaled returns a number times a factor, rounded and limited to 64 bits.
func scaled[N int64 | float64](v N, factor int64) string {
	product := new(big.Float).SetPrec(200)
	switch v := any(v).(type) {
	case int64:
		product.Mul(product.SetInt64(v), big.NewFloat(float64(factor)))
	case float64:
		if math.IsNaN(v) {
			return strconv.FormatInt(math.MinInt64, 10)
		}
		product.SetFloat64(math.Round(v * float64(factor)))
	}
	n, _ := product.Int64() // which is the nearest
	return strconv.FormatInt(n, 10)
}

// members returns attributes as an object of JSON is decoded, with numbers as numberOf has them.
func members(kvs []attribute.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range kvs {
		m[string(kv.Key)] = attributeValue(kv.Value)
	}
	return m
}

func attributeValue(v attribute.Value) any {
	array := []any{}
	switch v.Type() {
	case attribute.STRING:
		return v.AsString()
	case attribute.INT64:
		return json.Number(strconv.FormatInt(v.AsInt64(), 10))
	case attribute.BOOL:
		return v.AsBool()
	case attribute.FLOAT64:
		if text := float(v.AsFloat64()); strings.Contains(text, "N") || strings.Contains(text, "I") {
			return text
		}
		return numberOf(json.Number(float(v.AsFloat64())))
	case attribute.BYTESLICE:
		return base64.StdEncoding.EncodeToString(v.AsByteSlice())
	case attribute.MAP:
		return members(v.AsMap())
	case attribute.STRINGSLICE:
		for _, e := range v.AsStringSlice() {
			array = append(array, e)
		}
	case attribute.INT64SLICE:
		for _, e := range v.AsInt64Slice() {
			array = append(array, attributeValue(attribute.Int64Value(e)))
		}
	case attribute.BOOLSLICE:
		for _, e := range v.AsBoolSlice() {
			array = append(array, e)
		}
	case attribute.FLOAT64SLICE:
		for _, e := range v.AsFloat64Slice() {
			array = append(array, attributeValue(attribute.Float64Value(e)))
		}
	case attribute.SLICE:
		for _, e := range v.AsSlice() {
			array = append(array, attributeValue(e))
		}
	default:
		return nil
	}
	return array
}

// numberOf returns one text for all spellings of a number.
func numberOf(n json.Number) json.Number {
	if i, err := n.Int64(); err == nil && i != 0 {
		return json.Number(strconv.FormatInt(i, 10))
	}
	f, _ := n.Float64()
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
