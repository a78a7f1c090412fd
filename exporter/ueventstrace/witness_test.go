package ueventstrace_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
)

// source makes random spans.
type source struct{ *rand.Rand }

// letters are characters that encodings treat in ways of their own.
var letters = []rune("abcXYZ 019.,;:-_/\\\"'`{}[]()<>&%$\x00\n\r\t\x1b\x7f\u0085\u2028\u202eäß€語😀")

// text returns a text that may be empty.
func (r source) text() string {
	b := make([]rune, r.IntN(12))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func (r source) texts() (list []string) {
	for range r.IntN(4) {
		list = append(list, r.text())
	}
	return list
}

func (r source) float() float64 {
	return []float64{0, math.Copysign(0, -1), 0.1, -1.5e-300, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), float64(r.Int64())}[r.IntN(9)]
}

func (r source) int() int64 {
	return []int64{0, -1, math.MinInt64, math.MaxInt64, int64(r.Uint64())}[r.IntN(5)]
}

// value returns a value of any type, with lists and maps in it.
func (r source) value(depth int) attribute.Value {
	kinds := 12
	if depth > 2 {
		kinds = 9
	}
	switch r.IntN(kinds) {
	case 0:
		return attribute.BoolValue(r.IntN(2) == 0)
	case 1:
		return attribute.Int64Value(r.int())
	case 2:
		return attribute.Float64Value(r.float())
	case 3:
		return attribute.Value{}
	case 4:
		return attribute.StringSliceValue(r.texts())
	case 5:
		return attribute.Int64SliceValue([]int64{r.int(), r.int()})
	case 6:
		return attribute.Float64SliceValue([]float64{r.float(), r.float()})
	case 7:
		return attribute.BoolSliceValue([]bool{true, r.IntN(2) == 0})
	case 8:
		return attribute.ByteSliceValue([]byte(r.text()))
	case 9:
		list := make([]attribute.Value, r.IntN(3))
		for i := range list {
			list[i] = r.value(depth + 1)
		}
		return attribute.SliceValue(list...)
	case 10:
		return attribute.MapValue(r.attributes(depth + 1)...)
	default:
		return attribute.StringValue(r.text())
	}
}

// sourceKeys are the keys of attributes: some are names of fields, too.
var sourceKeys = []attribute.Key{
	"http.request.method", "name", "time", "attributes", "truncated", "ünïcode", "with space", "UPPER", "n", "service.name",
	"http.response.status_code", "db.query.text", "url.full", "rpc.system.name", "exception.message",
}

func (r source) attributes(depth int) (list []attribute.KeyValue) {
	for _, i := range r.Perm(len(sourceKeys))[:r.IntN(5)] {
		list = append(list, attribute.KeyValue{Key: sourceKeys[i], Value: r.value(depth)})
	}
	return list
}

// context returns the context of a span, of which anything may be missing.
func (r source) context() trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(r.IntN(4)), Remote: r.IntN(2) == 0}
	if r.IntN(8) > 0 {
		c.TraceID, c.SpanID = trace.TraceID{byte(r.Uint32()), 7: byte(r.Uint32()), 15: 1}, trace.SpanID{byte(r.Uint32()), 7: 1}
	}
	if r.IntN(3) == 0 {
		c.TraceState, _ = trace.ParseTraceState("vendor=a,other=b")
	}
	return trace.NewSpanContext(c)
}

func (r source) time() time.Time { return time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC() }

// span returns a span as the SDK hands it to exporters.
func (r source) span() tracetest.SpanStub {
	s := tracetest.SpanStub{
		Name: r.text(), SpanContext: r.context(), SpanKind: trace.SpanKind(r.IntN(6)), StartTime: r.time(),
		Attributes: r.attributes(0), DroppedAttributes: r.IntN(3), DroppedEvents: r.IntN(3), DroppedLinks: r.IntN(3), Resource: res,
		InstrumentationScope: instrumentation.Scope{Name: r.text(), Version: r.text(), SchemaURL: r.text()},
	}
	s.EndTime = s.StartTime.Add(time.Duration(r.Int64N(1 << 50)))
	if r.IntN(2) == 0 {
		s.Parent = r.context()
	}
	if s.InstrumentationScope.Name != "" && r.IntN(3) == 0 { // SpanStub ignores a scope without texts
		s.InstrumentationScope.Attributes = attribute.NewSet(r.attributes(0)...)
	}
	switch s.Status.Code = codes.Code(r.IntN(3)); s.Status.Code {
	case codes.Error:
		s.Status.Description = r.text()
	}
	for range r.IntN(3) {
		s.Events = append(s.Events, sdktrace.Event{Name: r.text(), Time: r.time(), Attributes: r.attributes(0), DroppedAttributeCount: r.IntN(2)})
	}
	for range r.IntN(3) {
		s.Links = append(s.Links, sdktrace.Link{SpanContext: r.context(), Attributes: r.attributes(0), DroppedAttributeCount: r.IntN(2)})
	}
	return s
}

// checkTyped compares the records of a span that has ended with what the SDK says of it. The events whose names end in
// one of the suffixes are enabled.
func checkTyped(t *testing.T, name string, s *tracetest.SpanStub, got []fields, suffixes ...string) {
	t.Helper()
	want, objects := typedRecords(name, s)
	for i, w := range want {
		if !slices.Contains(suffixes, strings.TrimPrefix(w[""], name)) {
			continue
		}
		require.NotEmpty(t, got)
		f := got[0]
		got = got[1:]
		require.Equal(t, "", differ(plainMembers(objects[i], false), ordered(f["attributes"]), false), "%v", f)
		delete(f, "attributes")
		for field, value := range f {
			f[field] = text.Unescape(value)
		}
		require.Equal(t, w, f)
	}
	require.Empty(t, got)
}

// endSuffixes end the names of the events that are written when a span ends.
var endSuffixes = []string{"_span_link", "_span_event", "_span"}

// checkCommonSchema is the same for the Common Schema.
func checkCommonSchema(t *testing.T, s *tracetest.SpanStub, event string, payload []byte) {
	t.Helper()
	ev, err := eventheader.Decode(event, payload)
	require.NoError(t, err)
	got, err := ev.AppendFieldsJSON(nil)
	require.NoError(t, err)
	require.Equal(t, "", differ(plainMembers(commonSchemaRecord(s), true), ordered("{"+string(got)+"}"), true), "%s", got)
}

// TestRandomSpans compares records of random spans, which the SDK could hand over, with the spans.
func TestRandomSpans(t *testing.T) {
	testscale.HostOnly(t)
	rig, tool := traced(t)
	name := "cs" // another name on the same kernel
	cs, err := ueventstrace.NewExporter(name, ueventstrace.WithProvider(rig.borrowed), ueventstrace.WithCommonSchema4())
	require.NoError(t, err)
	csTool := rig.attach(t, name+"_L4K4")
	r := source{rand.New(rand.NewPCG(1, 2))}
	for range testscale.Count(5_000, 500) {
		s := r.span()
		span := s.Snapshot()
		rig.OnEnd(span)
		checkTyped(t, "app", &s, records(t, tool), endSuffixes...)
		require.NoError(t, cs.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{span}))
		raw := csTool.Records()
		require.Len(t, raw, 1)
		checkCommonSchema(t, &s, raw[0].Declaration.Name, raw[0].Payload)
	}
}

// TestRandomSpansOfOneEvent: an event's records are the same when it is enabled alone.
func TestRandomSpansOfOneEvent(t *testing.T) {
	rig := newRig(t)
	r := source{rand.New(rand.NewPCG(5, 6))}
	for _, suffix := range endSuffixes {
		tool := rig.attach(t, "app"+suffix)
		for range 300 {
			s := r.span()
			rig.OnEnd(s.Snapshot())
			checkTyped(t, "app", &s, records(t, tool), suffix)
		}
		tool.Detach()
	}
}
