package sdk

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader/otlp"
	"github.com/userevents/userevents-go/record"
)

// capture is the transport of an exporter. It keeps the requests that the exporter sends, and answers that they arrived.
type capture struct {
	mu     sync.Mutex
	bodies [][]byte
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, body)
	header := http.Header{"Content-Type": []string{"application/x-protobuf"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(nil)), Request: r}, nil
}

func (c *capture) client() *http.Client { return &http.Client{Transport: c} }

// requests returns the requests, as JSON.
func requests[T any](t *testing.T, c *capture, unmarshal func([]byte) (T, error), marshal func(T) ([]byte, error)) (list [][]byte) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, body := range c.bodies {
		data, err := unmarshal(body)
		require.NoError(t, err)
		text, err := marshal(data)
		require.NoError(t, err)
		list = append(list, text)
	}
	return list
}

// converted returns the data of the records that a program writes.
func converted(t *testing.T, run recordtest.Program) *otlp.Converter {
	t.Helper()
	c := otlp.NewConverter(nil)
	var ev record.Record
	for i, s := range recordtest.Samples(t, run) {
		require.NoError(t, s.Decoder.Decode(s.Raw, &ev))
		require.Zero(t, ev.Truncated)
		ev.Time, ev.Monotonic, ev.PID, ev.TID = time.Unix(1800000000, int64(i)), uint64(i+1), 812, 815
		require.NoError(t, c.Add(&ev))
	}
	st := c.Stats()
	assert.Zero(t, st.OrphanEvents+st.OrphanLinks+st.OrphanExemplars)
	return c
}

// item is a log record, a span or a data point in JSON, with its origin.
type item map[string]any

// items returns the items of requests, with sorted attributes.
func items(t *testing.T, texts [][]byte, resources, scopes, list string) (all []item) {
	t.Helper()
	for _, text := range texts {
		var data map[string]any
		require.NoError(t, json.Unmarshal(text, &data))
		for _, r := range data[resources].([]any) {
			for _, s := range r.(map[string]any)[scopes].([]any) {
				for _, one := range s.(map[string]any)[list].([]any) {
					for _, point := range pointsOf(one) {
						add := item{"resource": r.(map[string]any)["resource"], "scope": s.(map[string]any)["scope"], "schemaUrl": s.(map[string]any)["schemaUrl"], "item": point}
						sortAttributes(map[string]any(add))
						all = append(all, add)
					}
				}
			}
		}
	}
	return clone(all) // items of one resource shared it
}

// pointsOf returns the data points of a metric, each with its metric. Log records and spans are returned unchanged.
func pointsOf(one any) (list []any) {
	for _, kind := range []string{"gauge", "sum", "histogram", "exponentialHistogram", "summary"} {
		data, ok := one.(map[string]any)[kind].(map[string]any)
		if !ok {
			continue
		}
		for _, p := range data["dataPoints"].([]any) {
			list = append(list, map[string]any{
				"name": one.(map[string]any)["name"], "unit": one.(map[string]any)["unit"], "kind": kind, "point": p,
				"temporality": data["aggregationTemporality"], "monotonic": data["isMonotonic"],
			})
		}
		return list
	}
	return []any{one}
}

// walk calls f with each object of a JSON value, the inner ones first.
func walk(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(e, f)
		}
	case map[string]any:
		for _, e := range v {
			walk(e, f)
		}
		f(v)
	}
}

func sortAttributes(v any) {
	walk(v, func(o map[string]any) {
		for _, list := range o {
			list, ok := list.([]any)
			if !ok || len(list) == 0 {
				continue
			}
			if first, ok := list[0].(map[string]any); ok && first["key"] != nil {
				slices.SortFunc(list, func(a, b any) int {
					return bytes.Compare([]byte(a.(map[string]any)["key"].(string)), []byte(b.(map[string]any)["key"].(string)))
				})
			}
		}
	})
}

// remove removes an attribute and reports whether it was there.
func remove(o any, name string) bool {
	owner := o.(map[string]any)
	list, _ := owner["attributes"].([]any)
	i := slices.IndexFunc(list, func(a any) bool { return a.(map[string]any)["key"] == name })
	if i < 0 {
		return false
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(owner, "attributes")
	} else {
		owner["attributes"] = list
	}
	return true
}

// compare compares what the SDK's exporter sends with what package otlp makes of the same input, which has attributes for
// the origin of the records besides.
func compare(t *testing.T, sdk, ours []item) {
	t.Helper()
	require.Len(t, ours, len(sdk))
	for i := range sdk {
		assert.True(t, remove(ours[i]["resource"], "process.pid"))
		for _, name := range []string{"thread.id", "user_events.name"} {
			remove(ours[i]["item"], name)
		}
		for _, o := range []item{sdk[i], ours[i]} {
			if resource := o["resource"].(map[string]any); len(resource) == 0 {
				o["resource"] = nil
			}
		}
		want, err := json.MarshalIndent(sdk[i], "", " ")
		require.NoError(t, err)
		got, err := json.MarshalIndent(ours[i], "", " ")
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "item %d", i)
	}
}

// The functions in this file apply the differences that the package comment of otlp documents to what the SDK's exporter
// sends.

// asTyped applies the types that the JSON of typed events keeps: bytes are base64 texts, and NaN and the infinities are
// texts.
func asTyped(v any) {
	walk(v, func(o map[string]any) {
		if s, ok := o["bytesValue"]; ok {
			delete(o, "bytesValue")
			o["stringValue"] = s
		}
		if n, ok := o["doubleValue"].(string); ok { // NaN or an infinity
			delete(o, "doubleValue")
			o["stringValue"] = n
		}
	})
}

// asText applies the types that OpenTelemetry's text of a list keeps, in which whole numbers have no fraction.
func asText(v any) {
	walk(v, func(o map[string]any) {
		if n, ok := o["doubleValue"].(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1e15 {
			delete(o, "doubleValue")
			o["intValue"] = strconv.FormatInt(int64(n), 10)
		}
	})
}

// asSchema applies the types that the Common Schema keeps: all but those in lists of several types, which are JSON.
func asSchema(v any) {
	walk(v, func(o map[string]any) {
		array, ok := o["arrayValue"].(map[string]any)
		if !ok {
			return
		}
		kinds := map[string]bool{}
		for _, e := range array["values"].([]any) {
			kind := "none"
			for kind = range e.(map[string]any) {
			}
			kinds[kind] = true
		}
		if len(kinds) > 1 || kinds["none"] || kinds["arrayValue"] || kinds["kvlistValue"] {
			asTyped(array)
			asText(array)
		}
	})
}

// asTextBody makes the body of a log record a text, as typed events have it. A body that is empty is null.
func asTextBody(logged any, text string) {
	body := map[string]any{}
	if text != "" {
		body["stringValue"] = text
	}
	logged.(map[string]any)["body"] = body
}

// withLinks removes from links whether the linked span is in another program, which events do not tell, and adds the
// trace state, which the SDK does not send.
func withLinks(span any, states []string) {
	links, _ := span.(map[string]any)["links"].([]any)
	for i, l := range links {
		l := l.(map[string]any)
		if flags := int(l["flags"].(float64)) & 0xff; flags != 0 {
			l["flags"] = float64(flags)
		} else {
			delete(l, "flags")
		}
		if states[i] != "" {
			l["traceState"] = states[i]
		}
	}
}

// asDouble makes integers up to 2^53 floating-point numbers.
func asDouble(v any) {
	walk(v, func(o map[string]any) {
		s, ok := o["asInt"].(string)
		if !ok {
			return
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n <= 1<<53 && n >= -1<<53 {
			delete(o, "asInt")
			o["asDouble"] = float64(n)
		}
	})
}

// resourceInRecord moves the attributes of the resource to the record, but for the identity of the service: the Common Schema
// has no other place for them.
func resourceInRecord(i item) {
	resource, logged := i["resource"].(map[string]any), i["item"].(map[string]any)
	list, _ := resource["attributes"].([]any)
	var kept []any
	for _, a := range list {
		if key, _ := a.(map[string]any)["key"].(string); strings.HasPrefix(key, "service.") {
			kept = append(kept, a)
			continue
		}
		own, _ := logged["attributes"].([]any)
		logged["attributes"] = append(own, a)
	}
	resource["attributes"] = kept
	sortAttributes(logged)
}

// clone returns a copy that shares nothing.
func clone(items []item) (copied []item) {
	text, err := json.Marshal(items)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	if err != nil {
		panic(err)
	}
	return copied
}

// seeds returns how many random inputs each test has.
func seeds() uint64 { return uint64(testscale.Count(200, 20)) }

var (
	started  = time.Unix(1700000000, 7).UTC()
	resource = sdkresource.NewWithAttributes("https://example/resource", attribute.String("service.name", "shop"),
		attribute.String("service.instance.id", "7"), attribute.String("host.name", "node1"), attribute.Int("replica", 3))
	resourceKeys = []attribute.Key{"host.name", "replica", "service.instance.id"}
	// schemaKeys are those without a place of their own in the Common Schema.
	schemaKeys = resourceKeys[:2]
)

// inputs makes random inputs.
type inputs struct{ *rand.Rand }

func newInputs(seed uint64) inputs { return inputs{rand.New(rand.NewPCG(seed, 7))} }

func (in inputs) one(of ...string) string { return of[in.IntN(len(of))] }

// text returns a text: also an empty one, and ones with all that is escaped.
func (in inputs) text() string {
	return in.one("", "a", "GET /users/{id}", "größe 😀", "a\nb\tc\x00\x1b[2J\\n\"'", "\u202e\ufeff", "null", "12", `{"a":1}`)
}

func (in inputs) float() float64 {
	return []float64{0, 0.5, 3, -2, 1e21, -1e-300, 0.1, math.Pi, 12345}[in.IntN(9)]
}

func (in inputs) int() int64 {
	return []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 53, in.Int64()}[in.IntN(7)]
}

// value returns a value of any type, with lists and maps up to a depth.
func (in inputs) value(depth int) attribute.Value {
	kinds := 9
	if depth > 0 {
		kinds = 11
	}
	switch in.IntN(kinds) {
	case 0:
		return attribute.BoolValue(in.IntN(2) == 0)
	case 1:
		return attribute.Int64Value(in.int())
	case 2:
		return attribute.Float64Value([]float64{in.float(), math.NaN(), math.Inf(-1)}[in.IntN(3)])
	case 3:
		return attribute.StringSliceValue([]string{in.text(), in.text()})
	case 4:
		return attribute.Int64SliceValue([]int64{in.int(), in.int()})
	case 5:
		return attribute.Float64SliceValue([]float64{in.float(), in.float()})
	case 6:
		return attribute.BoolSliceValue([]bool{true, false})
	case 7:
		return attribute.ByteSliceValue([]byte{0, 0xff, byte(in.IntN(256))})
	case 8:
		return attribute.StringValue(in.text())
	case 9:
		return attribute.SliceValue(in.value(depth-1), in.value(depth-1), attribute.Value{})
	default:
		return attribute.MapValue(attribute.KeyValue{Key: "b", Value: in.value(depth - 1)}, attribute.KeyValue{Key: "a.b", Value: in.value(depth - 1)})
	}
}

// attributes returns attributes with different keys.
func (in inputs) attributes() (list []attribute.KeyValue) {
	for i := range in.IntN(6) {
		list = append(list, attribute.KeyValue{Key: attribute.Key(in.one("http.route", "größe", "a b", "k") + strconv.Itoa(i)), Value: in.value(2)})
	}
	return list
}

// time returns a time with nanoseconds.
func (in inputs) time() time.Time { return started.Add(time.Duration(in.Int64N(int64(time.Hour)))) }

func (in inputs) traceID() (id trace.TraceID) {
	id[0], id[15] = byte(1+in.IntN(255)), byte(in.IntN(256))
	return id
}

func (in inputs) spanID() (id trace.SpanID) {
	id[0], id[7] = byte(1+in.IntN(255)), byte(in.IntN(256))
	return id
}

func (in inputs) spanContext() trace.SpanContext {
	state, err := trace.ParseTraceState(in.one("", "a=b,c=d"))
	if err != nil {
		panic(err)
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: in.traceID(), SpanID: in.spanID(), TraceFlags: trace.TraceFlags(in.IntN(4)), TraceState: state, Remote: in.IntN(2) == 0,
	})
}
