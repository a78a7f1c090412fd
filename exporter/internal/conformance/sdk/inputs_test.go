package sdk

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/internal/testscale"
)

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
