package ueventslog_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// commonSchema returns a rig for the encoding, whose events are all enabled.
func commonSchema(t *testing.T, opts ...ueventslog.Option) (*rig, *ueventstest.Tool) {
	return traced(t, append(opts, ueventslog.WithCommonSchema4())...)
}

// decoded returns the only event of a tool, and its fields as lines of name, type and value.
func decoded(t *testing.T, tr *ueventstest.Tool) (*eventheader.Event, []string) {
	t.Helper()
	records := tr.Records()
	require.Len(t, records, 1)
	ev, err := eventheader.Decode(records[0].Event, records[0].Payload)
	require.NoError(t, err)
	return ev, lines(t, ev)
}

// typeNames has the names of the types that log records have.
var typeNames = map[eventheader.Type]string{
	0x00a: "string8", 0xe0a: "string8 json", 0x00d: "binary", 0x20d: "binary signed",
	0x702: "value8 bool", 0x203: "value16 signed", 0x104: "value32 unsigned", 0x205: "value64 signed", 0x805: "value64 float",
}

// lines returns the fields of an event as lines of name, type and value.
func lines(t *testing.T, ev *eventheader.Event) (out []string) {
	t.Helper()
	var c eventheader.Cursor
	var structs []string
	value := func() string {
		if text := c.Value().Text(); text != nil {
			return string(text)
		}
		return strings.Trim(string(c.Value().AppendJSON(nil)), `"`)
	}
	for c.Reset(ev); c.Next(); {
		line := fmt.Sprintf("%s%s %s: ", strings.Join(structs, ""), c.NameBytes(), typeNames[c.Type()])
		switch c.Item() {
		case eventheader.ItemStruct:
			structs = append(structs, string(c.NameBytes())+".")
		case eventheader.ItemStructEnd:
			structs = structs[:len(structs)-1]
		case eventheader.ItemArray:
			list := []string{}
			for c.Next() && c.Item() != eventheader.ItemArrayEnd {
				list = append(list, value())
			}
			out = append(out, fmt.Sprint(line, list))
		default:
			out = append(out, line+value())
		}
	}
	require.NoError(t, c.Err())
	return out
}

// TestCommonSchema: the parts, fields and types of OpenTelemetry's exporter for Rust, in the order of the parts' names.
func TestCommonSchema(t *testing.T) {
	rig, tr := commonSchema(t, ueventslog.WithResourceAttributes("shard"))
	r := event(log.SeverityError2, "cache.miss",
		attribute.String("s", "text"), attribute.Int("i", -5), attribute.Float64("f", 0.25), attribute.Bool("b", true),
		attribute.Int("event_id", 77),
	)
	r.SetBody(attribute.StringValue("the cache missed"))
	r.SetSeverityText("ERR")
	rig.logger().Emit(inSpan(t.Context()), r)
	ev, got := decoded(t, tr)
	assert.Equal(t, "Log", ev.Name)
	assert.Equal(t, eventheader.LevelError, ev.Level)
	assert.Equal(t, eventheader.Name{Provider: "app", Level: eventheader.LevelError, Keyword: 1}, ev.Tracepoint)
	assert.Zero(t, ev.Activity)
	assert.Equal(t, []string{
		"__csver__ value32 unsigned: 1024",
		"PartA.time string8: 2026-11-21T10:20:30.123456789Z",
		"PartA.ext_dt_traceId string8: 4bf92f3577b34da6a3ce929d0e0e4736",
		"PartA.ext_dt_spanId string8: 00f067aa0ba902b7",
		"PartA.ext_dt_traceFlags value32 unsigned: 1",
		"PartA.ext_cloud_role string8: shop",
		"PartA.ext_cloud_roleInstance string8: shop-7",
		"PartB._typeName string8: Log",
		"PartB.body string8: the cache missed",
		"PartB.severityNumber value16 signed: 18",
		"PartB.severityText string8: ERR",
		"PartB.eventId value64 signed: 77",
		"PartB.name string8: cache.miss",
		"PartC.otel.scope.name string8: my/package",
		"PartC.otel.scope.version string8: v1.2.3",
		"PartC.shard value64 signed: 3",
		"PartC.s string8: text",
		"PartC.i value64 signed: -5",
		"PartC.f value64 float: 0.25",
		"PartC.b value8 bool: true",
	}, got)
}

// TestCommonSchemaLeast: what a record lacks is left out, PartC as a whole.
func TestCommonSchemaLeast(t *testing.T) {
	rig, tr := commonSchema(t)
	rig.provider = sdklog.NewLoggerProvider(sdklog.WithProcessor(rig.Processor), sdklog.WithResource(nil))
	var r log.Record
	r.SetObservedTimestamp(time.Date(2026, 11, 21, 0, 0, 0, 0, time.FixedZone("", 3600)))
	rig.provider.Logger("").Emit(t.Context(), r)
	_, got := decoded(t, tr)
	assert.Equal(t, []string{
		"__csver__ value32 unsigned: 1024",
		"PartA.time string8: 2026-11-20T23:00:00Z",
		"PartB._typeName string8: Log",
		"PartB.severityNumber value16 signed: 0",
	}, got)
}

func TestCommonSchemaTime(t *testing.T) {
	rig, tr := commonSchema(t)
	for ns, want := range map[int]string{0: "", 5e8: ".500", 120_000: ".000120", 1: ".000000001"} {
		var r log.Record
		r.SetTimestamp(time.Date(2026, 1, 2, 3, 4, 5, ns, time.UTC))
		rig.logger().Emit(t.Context(), r)
		_, got := decoded(t, tr)
		assert.Equal(t, "PartA.time string8: 2026-01-02T03:04:05"+want+"Z", got[1])
	}
}

// TestCommonSchemaBodies: scalars keep their type, all else is text.
func TestCommonSchemaBodies(t *testing.T) {
	rig, tr := commonSchema(t)
	for want, body := range map[string]attribute.Value{
		"string8: x":           attribute.StringValue("x"),
		"string8: ":            attribute.StringValue(""),
		"value64 signed: -1":   attribute.Int64Value(-1),
		"value64 float: 1.5":   attribute.Float64Value(1.5),
		"value8 bool: false":   attribute.BoolValue(false),
		"string8: [1,2]":       attribute.Int64SliceValue([]int64{1, 2}),
		`string8: {"a":["b"]}`: attribute.MapValue(attribute.StringSlice("a", []string{"b"})),
		"string8: YQ==":        attribute.ByteSliceValue([]byte("a")),
	} {
		r := record(log.SeverityInfo, "")
		r.SetBody(body)
		rig.logger().Emit(t.Context(), r)
		_, got := decoded(t, tr)
		assert.Contains(t, got, "PartB.body "+want)
	}
}

// TestCommonSchemaKinds: what the exporter for Rust drops is there.
func TestCommonSchemaKinds(t *testing.T) {
	rig, tr := commonSchema(t)
	rig.provider = rig.newProvider(sdklog.WithAttributeCountLimit(3))
	rig.provider.Logger("s", log.WithSchemaURL("https://example.com/1"), log.WithInstrumentationAttributes(attribute.Int("n", 1))).Emit(t.Context(),
		record(log.SeverityInfo, "m", attribute.StringSlice("strings", []string{"a", "b"}),
			attribute.Map("map", attribute.Int("x", 1), attribute.Map("y", attribute.Bool("z", true))),
			attribute.String("event_id", "no number"), attribute.Int("one.too.many", 1)))
	_, got := decoded(t, tr)
	for _, want := range []string{
		"PartC.strings string8: [a b]",
		"PartC.map.x value64 signed: 1",
		"PartC.map.y.z value8 bool: true",
		"PartC.event_id string8: no number",
		"PartC.otel.scope.name string8: s",
		"PartC.otel.scope.schema_url string8: https://example.com/1",
		"PartC.user_events.scope.attributes.n value64 signed: 1",
		"PartC.otel.dropped_attributes_count value64 signed: 1",
	} {
		assert.Contains(t, got, want)
	}
}

// TestCommonSchemaEveryKind: each kind of attribute has a type of its own, or is JSON.
func TestCommonSchemaEveryKind(t *testing.T) {
	rig, tr := commonSchema(t)
	rig.provider.Logger("").Emit(t.Context(), record(log.SeverityInfo, "m", append(slices.Clip(everyKind), attribute.Map("none"))...))
	_, got := decoded(t, tr)
	var partC []string
	for _, line := range got {
		if rest, ok := strings.CutPrefix(line, "PartC."); ok {
			partC = append(partC, rest)
		}
	}
	assert.Equal(t, []string{
		"string string8: va\"lue\\n",
		"bool value8 bool: true",
		"int value64 signed: -9223372036854775808",
		"float value64 float: 0.25",
		"nan value64 float: NaN",
		"inf value64 float: -Infinity",
		"strings string8: [a ü ]",
		"bools value8 bool: [true false]",
		"ints value64 signed: [1 -2]",
		"floats value64 float: [1.5 Infinity]",
		"bytes binary: 00 01 ff",
		"empty binary signed: null",
		`slice string8 json: [1,"two",null]`,
		"map.a value64 signed: 1",
		"map.b.c string8: d",
		"none string8 json: {}",
	}, partC)
}

// TestCommonSchemaDeclared: a declared record gives the event its name and changes nothing else.
func TestCommonSchemaDeclared(t *testing.T) {
	rig, tr := commonSchema(t, ueventslog.WithDeclarations(httpRequest, ueventslog.Declare[number]("x", &ueventslog.DeclarationOptions{Severities: []log.Severity{log.SeverityWarn}})))
	require.Len(t, rig.kernel.Events(), 5, "no tracepoints of their own")
	rig.logger().Emit(t.Context(), event(log.SeverityFatal, "http.request", attribute.Int("http.response.status_code", 404)))
	ev, got := decoded(t, tr)
	assert.Equal(t, "http_request", ev.Name)
	assert.Equal(t, "app_L1K1", ev.Tracepoint.String())
	assert.Contains(t, got, "PartC.http.response.status_code value64 signed: 404")
	assert.Contains(t, got, "PartB.name string8: http.request")
	rig.logger().Emit(t.Context(), event(log.SeverityInfo, "x"))
	ev, _ = decoded(t, tr)
	assert.Equal(t, "Log", ev.Name)
}

// TestCommonSchemaTooSmall: a limit that has no room for the time and the ids is an error of NewProcessor.
func TestCommonSchemaTooSmall(t *testing.T) {
	k := ueventstest.New(t, nil)
	provider := k.Provider()
	defer provider.Close()
	p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider), ueventslog.WithCommonSchema4(), ueventslog.WithMaxPayload(150))
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.ErrorContains(t, err, "too small")
	assert.Empty(t, k.Events())
	assert.False(t, p.Enabled(t.Context(), sdklog.EnabledParameters{}))
}

// TestCommonSchemaNameTooLong: a record whose name leaves no room keeps the general name.
func TestCommonSchemaNameTooLong(t *testing.T) {
	k := ueventstest.New(t, nil)
	provider := k.Provider()
	defer provider.Close()
	p, err := ueventslog.NewProcessor("app", ueventslog.WithProvider(provider), ueventslog.WithCommonSchema4(), ueventslog.WithMaxPayload(400),
		ueventslog.WithDeclarations(ueventslog.Declare[number]("e", &ueventslog.DeclarationOptions{Name: strings.Repeat("n", 200)})))
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.ErrorContains(t, err, `declaration of "e"`)
	tr, err := k.Attach(ueventstest.Ftrace, "app_*")
	require.NoError(t, err)
	sdklog.NewLoggerProvider(sdklog.WithProcessor(p)).Logger("").Emit(t.Context(), event(log.SeverityInfo, "e"))
	ev, _ := decoded(t, tr)
	assert.Equal(t, "Log", ev.Name)
	assert.Equal(t, uevents.EventStats{Written: 1}, p.Stats()["app_L4K1"])
}

// TestCommonSchemaAttributesNamedAsFields: an attribute whose key is one that the record writes itself is not written, and
// stays where the record has no such field.
func TestCommonSchemaAttributesNamedAsFields(t *testing.T) {
	rig, tr := commonSchema(t, ueventslog.WithResourceAttributes("shard"))
	var forged []attribute.KeyValue
	for _, key := range []string{"shard", "otel.scope.name", "otel.scope.version", "otel.scope.schema_url", "otel.dropped_attributes_count", "host.name"} {
		forged = append(forged, attribute.String(key, "forged"))
	}
	rig.logger().Emit(t.Context(), record(log.SeverityInfo, "x", forged...))
	_, got := decoded(t, tr)
	partC := slices.DeleteFunc(got, func(line string) bool { return !strings.HasPrefix(line, "PartC.") })
	assert.Equal(t, []string{
		"PartC.otel.scope.name string8: my/package",
		"PartC.otel.scope.version string8: v1.2.3",
		"PartC.shard value64 signed: 3",
		"PartC.otel.scope.schema_url string8: forged",
		"PartC.otel.dropped_attributes_count string8: forged",
		"PartC.host.name string8: forged",
	}, partC)
}

// TestPartBSurvives: attributes are dropped before what all records of the Common Schema have, under each limit.
func TestPartBSurvives(t *testing.T) {
	for limit := 350; limit < 1000; limit += 10 {
		rig, tr := traced(t, ueventslog.WithCommonSchema4(), ueventslog.WithMaxPayload(limit))
		provider := rig.newProvider(sdklog.WithAttributeCountLimit(-1))
		r := record(log.SeverityInfo, "message")
		for i := range 40 {
			r.AddAttributes(attribute.String(fmt.Sprint("k", i), strings.Repeat("x", 60)), attribute.Int(fmt.Sprint("n", i), i))
		}
		r.SetSeverityText("INFO")
		provider.Logger("scope").Emit(inSpan(t.Context()), r)
		records := tr.Records()
		require.Len(t, records, 1)
		ev, err := eventheader.Decode(records[0].Declaration.Name, records[0].Payload)
		require.NoError(t, err)
		fields, err := ev.AppendFieldsJSON(nil)
		require.NoError(t, err)
		for _, want := range []string{`"_typeName":"Log"`, `"body":"message"`, `"severityText":"INFO"`, `"severityNumber":9`} {
			assert.Contains(t, string(fields), want, limit)
		}
	}
}
