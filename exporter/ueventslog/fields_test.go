package ueventslog_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/text"
)

// everyKind is an attribute of each kind.
var everyKind = []attribute.KeyValue{
	attribute.String("string", "va\"lue\n"),
	attribute.Bool("bool", true),
	attribute.Int64("int", math.MinInt64),
	attribute.Float64("float", 0.25),
	attribute.Float64("nan", math.NaN()),
	attribute.Float64("inf", math.Inf(-1)),
	attribute.StringSlice("strings", []string{"a", "ü", ""}),
	attribute.BoolSlice("bools", []bool{true, false}),
	attribute.Int64Slice("ints", []int64{1, -2}),
	attribute.Float64Slice("floats", []float64{1.5, math.Inf(1)}),
	attribute.ByteSlice("bytes", []byte{0, 1, 0xff}),
	{Key: "empty"},
	attribute.Slice("slice", attribute.IntValue(1), attribute.StringValue("two"), attribute.Value{}),
	attribute.Map("map", attribute.Int("a", 1), attribute.Map("b", attribute.String("c", "d"))),
}

// records are emitted by tests that compare what is written with what the SDK hands to another
// exporter.
var records = map[string]func(*log.Record){
	"nothing": func(*log.Record) {},
	"everything": func(r *log.Record) {
		r.SetTimestamp(when)
		r.SetObservedTimestamp(when.Add(time.Second))
		r.SetSeverity(log.SeverityWarn2)
		r.SetSeverityText("WARNING")
		r.SetEventName("cache.miss")
		r.SetBody(attribute.StringValue("the cache missed"))
		r.AddAttributes(everyKind...)
	},
	"a time before 1970": func(r *log.Record) { r.SetTimestamp(time.Unix(-1, 0)) },
	"an error":           func(r *log.Record) { r.SetErr(fmt.Errorf("get: %w", errors.New("refused"))) },
	"an attribute error": func(r *log.Record) {
		r.SetErr(errors.New("x"))
		r.AddAttributes(attribute.String("exception.message", "y"))
	},
	"a body with control":      func(r *log.Record) { r.SetBody(attribute.StringValue("a\nb")) },
	"an empty body":            func(r *log.Record) { r.SetBody(attribute.StringValue("")) },
	"a body of type bool":      func(r *log.Record) { r.SetBody(attribute.BoolValue(false)) },
	"a body of type int":       func(r *log.Record) { r.SetBody(attribute.Int64Value(-7)) },
	"a body of type float":     func(r *log.Record) { r.SetBody(attribute.Float64Value(math.Inf(1))) },
	"a body of type bytes":     func(r *log.Record) { r.SetBody(attribute.ByteSliceValue([]byte("abc"))) },
	"a body of type strings":   func(r *log.Record) { r.SetBody(attribute.StringSliceValue([]string{"a", "b"})) },
	"a body of type bools":     func(r *log.Record) { r.SetBody(attribute.BoolSliceValue([]bool{true})) },
	"a body of type ints":      func(r *log.Record) { r.SetBody(attribute.Int64SliceValue([]int64{1, 2})) },
	"a body of type floats":    func(r *log.Record) { r.SetBody(attribute.Float64SliceValue([]float64{1.5})) },
	"a body of type slice":     func(r *log.Record) { r.SetBody(attribute.SliceValue(attribute.IntValue(1), attribute.Value{})) },
	"a body of type map":       func(r *log.Record) { r.SetBody(attribute.MapValue(everyKind...)) },
	"an attribute twice":       func(r *log.Record) { r.AddAttributes(attribute.Int("a", 1), attribute.Int("a", 2)) },
	"a severity out of range":  func(r *log.Record) { r.SetSeverity(25) },
	"a severity below":         func(r *log.Record) { r.SetSeverity(-1) },
	"a severity without bound": func(r *log.Record) { r.SetSeverity(math.MaxInt) },
}

// printed returns a text as it is printed.
func printed(s string) string {
	b, _ := text.Append(nil, s, math.MaxInt)
	return string(b)
}

// nanoseconds returns a time as the field holds it.
func nanoseconds(t time.Time) string {
	if t.IsZero() || t.Unix() < 0 {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

// TestFields: every field says what the SDK hands to an exporter in memory, also if the SDK has no part in it.
func TestFields(t *testing.T) {
	for name, fill := range records {
		for _, c := range []struct {
			name   string
			inSpan bool
			opts   []log.LoggerOption
		}{
			{"bare", false, nil},
			{"in a span", true, []log.LoggerOption{log.WithInstrumentationVersion("v1.2.3")}},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				rig, tr := traced(t)
				ctx := t.Context()
				if c.inSpan {
					ctx = inSpan(ctx)
				}
				var r log.Record
				fill(&r)
				rig.provider.Logger("my/package", c.opts...).Emit(ctx, r)
				require.Len(t, rig.memory.records, 1)
				want := &rig.memory.records[0]
				assertSame(t, want, fields(t, tr))
				assert.Len(t, rig.memory.records, 1, "nothing is logged about logging")

				require.NoError(t, rig.Shutdown(t.Context()))
				r.SetObservedTimestamp(want.ObservedTimestamp())
				rig.newOwn(t).Logger("my/package", c.opts...).Emit(ctx, r)
				assertSame(t, want, fields(t, tr))
			})
		}
	}
}

// assertSame compares all fields of an event with the record that the SDK made.
func assertSame(t *testing.T, want *sdklog.Record, got map[string]string) {
	t.Helper()
	id := func(b []byte, valid bool) string {
		if !valid {
			return ""
		}
		return hex.EncodeToString(b)
	}
	traceID, spanID := want.TraceID(), want.SpanID()
	body := printed(want.Body().String())
	scope := want.InstrumentationScope()
	same := map[string]string{
		"time_unix_nano":           nanoseconds(want.Timestamp()),
		"observed_time_unix_nano":  nanoseconds(want.ObservedTimestamp()),
		"severity_number":          strconv.Itoa(int(min(want.Severity(), math.MaxInt32))),
		"trace_id":                 id(traceID[:], traceID.IsValid()),
		"span_id":                  id(spanID[:], spanID.IsValid()),
		"trace_flags":              strconv.Itoa(int(want.TraceFlags())),
		"truncated":                "0",
		"duplicate":                "0",
		"dropped_attributes_count": strconv.Itoa(want.DroppedAttributes()),
		"severity_text":            want.SeverityText(),
		"event_name":               want.EventName(),
		"scope_version":            scope.Version,
		"scope_name":               scope.Name,
		"service_name":             "shop",
		"resource":                 "",
		"body":                     body,
	}
	var attrs []attribute.KeyValue
	want.WalkAttributes(func(kv attribute.KeyValue) bool {
		attrs = append(attrs, kv)
		return true
	})
	// The text of a map is the object that the specification describes.
	assert.JSONEq(t, attribute.MapValue(attrs...).String(), got["attributes"])
	for name, value := range same {
		assert.Equal(t, value, got[name], name)
	}
	assert.Len(t, got, len(same)+2, "attributes and the event's name")
}

// TestAttributeOrder: attributes stand in the order in which they were added.
func TestAttributeOrder(t *testing.T) {
	rig, tr := traced(t)
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m", everyKind...))
	assert.Equal(t, `{"string":"va\"lue\n","bool":true,"int":-9223372036854775808,"float":0.25,"nan":"NaN","inf":"-Infinity",`+
		`"strings":["a","ü",""],"bools":[true,false],"ints":[1,-2],"floats":[1.5,"Infinity"],"bytes":"AAH/","empty":null,`+
		`"slice":[1,"two",null],"map":{"a":1,"b":{"c":"d"}}}`, fields(t, tr)["attributes"])
}

func TestDroppedAttributes(t *testing.T) {
	rig, tr := traced(t)
	rig.provider = rig.newProvider(sdklog.WithAttributeCountLimit(2))
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("a", 1), attribute.Int("b", 2), attribute.Int("c", 3)))
	got := fields(t, tr)
	assert.Equal(t, "1", got["dropped_attributes_count"])
	assert.Equal(t, `{"a":1,"b":2}`, got["attributes"])
	assert.Equal(t, "0", got["truncated"], "that is what we cut")
}

// TestDuplicates: where the provider allows attributes with the same key, all are written.
func TestDuplicates(t *testing.T) {
	rig, tr := traced(t)
	rig.provider = rig.newProvider(sdklog.WithAllowKeyDuplication())
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("a", 1), attribute.Int("a", 2)))
	assert.Equal(t, `{"a":1,"a":2}`, fields(t, tr)["attributes"])
}

// TestReservedKeys: an attribute whose key is one that records write themselves is there once, with the value of the record.
func TestReservedKeys(t *testing.T) {
	forged := []attribute.KeyValue{
		attribute.String("otel.scope.schema_url", "forged"), attribute.Int("user_events.scope.attributes", 1), attribute.Int("otel.scope.version", 1),
		attribute.Int("otel.dropped_attributes_count", 99), attribute.String("severity_text", "forged"),
		attribute.Int("dropped", 1),
	}
	for name, c := range map[string]struct{ event, attributes string }{
		"severity": {"app_log_info", `{"otel.scope.version":1,"otel.dropped_attributes_count":99,"severity_text":"forged","user_events.scope.attributes":{"n":1},"otel.scope.schema_url":"https://example.com/1"}`},
		"declared": {"app_log_e", `{"user_events.scope.attributes":{"n":1},"otel.scope.version":"v1","otel.scope.schema_url":"https://example.com/1","otel.dropped_attributes_count":1,"severity_text":"notice"}`},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newRig(t, ueventslog.WithDeclarations(ueventslog.Declare[number]("e", nil)))
			tr := rig.attach(t, c.event)
			rig.provider = rig.newProvider(sdklog.WithAttributeCountLimit(len(forged) - 1))
			r := event(log.SeverityInfo, "e", forged...)
			r.SetSeverityText("notice")
			scope := []log.LoggerOption{log.WithInstrumentationVersion("v1"), log.WithSchemaURL("https://example.com/1"), log.WithInstrumentationAttributes(attribute.Int("n", 1))}
			rig.provider.Logger("my/package", scope...).Emit(t.Context(), r)
			assert.Equal(t, c.attributes, fields(t, tr)["attributes"])
		})
	}
}

func TestScope(t *testing.T) {
	rig, tr := traced(t)
	rig.provider.Logger("my/package", log.WithSchemaURL("https://example.com/1"), log.WithInstrumentationAttributes(
		attribute.Int("n", 1), attribute.StringSlice("list", []string{"x"}),
	)).Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("a", 1)))
	got := fields(t, tr)
	assert.Equal(t, "my/package", got["scope_name"])
	assert.JSONEq(t, `{"a":1,"otel.scope.schema_url":"https://example.com/1","user_events.scope.attributes":{"list":["x"],"n":1}}`, got["attributes"])
}

func TestResource(t *testing.T) {
	rig, tr := traced(t, ueventslog.WithResourceAttributes("host.name"), ueventslog.WithResourceAttributes("shard", "unknown"))
	for range 2 { // the second one is remembered
		rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m"))
		got := fields(t, tr)
		assert.Equal(t, `{"host.name":"node1","shard":3}`, got["resource"])
		assert.Equal(t, "shop", got["service_name"])
	}
	rig.provider = rig.newProvider(sdklog.WithResource(nil))
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m"))
	got := fields(t, tr)
	assert.Empty(t, got["resource"], "another provider has another resource")
	assert.Empty(t, got["service_name"])
}

// TestNotKept: what a record held is not read after OnEmit, and the record is not changed.
func TestNotKept(t *testing.T) {
	rig, tr := traced(t)
	list := []string{"before"}
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "m", attribute.StringSlice("list", list)))
	list[0] = "after"
	assert.Equal(t, `{"list":["before"]}`, fields(t, tr)["attributes"])
}

// TestCanceled: a context that is done keeps no record from being written.
func TestCanceled(t *testing.T) {
	rig, tr := traced(t)
	ctx, cancel := contextDone(t)
	defer cancel()
	rig.logger().Emit(ctx, record(log.SeverityInfo, "m"))
	assert.Equal(t, "m", fields(t, tr)["body"])
}
