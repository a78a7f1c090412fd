package ueventstrace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// commonSchema returns the only record of a tracing tool as JSON.
func commonSchema(t *testing.T, tr *ueventstest.Tool) string {
	t.Helper()
	raw := tr.Records()
	require.Len(t, raw, 1)
	assert.Equal(t, "app_L4K4", raw[0].Declaration.Name)
	ev, err := eventheader.Decode(raw[0].Declaration.Name, raw[0].Payload)
	require.NoError(t, err)
	assert.Equal(t, "Span", ev.Name)
	text, err := ev.AppendFieldsJSON(nil)
	require.NoError(t, err)
	return "{" + string(text) + "}"
}

func TestCommonSchema(t *testing.T) {
	rig := newRig(t, ueventstrace.WithCommonSchema4(), ueventstrace.WithResourceAttributes("shard"))
	tr := rig.attach(t, "app_*")
	_, s := rig.tracer().Start(fromRemote(t.Context(), "vendor=1"), "GET /", trace.WithTimestamp(when), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithLinks(trace.Link{SpanContext: remote}, trace.Link{SpanContext: remote.WithSpanID(trace.SpanID{7: 1})}),
		trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 500), attribute.String("url.full", "http://x/"),
			attribute.Int("n", -1), attribute.StringSlice("list", []string{"a", "b"})))
	s.AddEvent("first", trace.WithTimestamp(when), trace.WithAttributes(attribute.Bool("ok", false)))
	s.SetStatus(codes.Error, "beside a status code")
	s.End(trace.WithTimestamp(when.Add(1000)))
	id := s.SpanContext().SpanID().String()
	assert.Equal(t, `{"__csver__":1024,`+
		`"PartA":{"time":"2026-11-21T10:20:30.123457789Z","ext_dt_traceId":"4bf90000000000000000000000000036","ext_dt_spanId":"`+id+`","ext_dt_traceFlags":1,"ext_cloud_role":"shop","ext_cloud_roleInstance":"shop-7"},`+
		`"PartB":{"_typeName":"Span","name":"GET /","startTime":"2026-11-21T10:20:30.123456789Z","success":false,"kind":1,"parentId":"f0000000000000b7",`+
		`"links":"[{\"toTraceId\":\"4bf90000000000000000000000000036\",\"toSpanId\":\"f0000000000000b7\"},{\"toTraceId\":\"4bf90000000000000000000000000036\",\"toSpanId\":\"0000000000000001\"}]",`+
		`"httpMethod":"GET","httpStatusCode":500,"httpUrl":"http://x/"},`+
		`"PartC":{"otel.scope.name":"my/package","otel.scope.version":"v1.2.3","otel.status_description":"beside a status code",`+
		`"user_events.trace_state":"vendor=1","user_events.parent_is_remote":true,"user_events.events_count":1,"user_events.links_count":2,`+
		`"shard":3,"n":-1,"list":["a","b"],`+
		`"user_events.event":{"name":"first","time":"2026-11-21T10:20:30.123456789Z","attributes":{"ok":false}},`+
		`"user_events.link":{"toTraceId":"4bf90000000000000000000000000036","toSpanId":"f0000000000000b7","traceFlags":1},`+
		`"user_events.link":{"toTraceId":"4bf90000000000000000000000000036","toSpanId":"0000000000000001","traceFlags":1}}}`, commonSchema(t, tr))

	for kind := trace.SpanKindInternal; kind <= trace.SpanKindConsumer; kind++ {
		_, s = rig.tracer().Start(t.Context(), "s", trace.WithSpanKind(kind))
		s.SetStatus(codes.Error, "because")
		s.End()
		text := commonSchema(t, tr)
		assert.Contains(t, text, `"kind":`+string('0'+byte(kind)-1))
		assert.Contains(t, text, `"statusMessage":"because"`)
		assert.NotContains(t, text, "parentId")
	}
	assert.EqualValues(t, 6, rig.Stats()["app_L4K4"].Written)
	assert.Len(t, rig.Stats(), 1, "one event, at the end")
}

// TestCommonSchemaAttributesNamedAsFields: an attribute whose key is one that the record writes itself is not written, and
// stays where the record has no such field.
func TestCommonSchemaAttributesNamedAsFields(t *testing.T) {
	rig := newRig(t, ueventstrace.WithCommonSchema4(), ueventstrace.WithResourceAttributes("shard"))
	tr := rig.attach(t, "app_*")
	var forged []attribute.KeyValue
	own := []string{
		"shard", "otel.scope.name", "otel.scope.version", "user_events.scope.attributes", "user_events.trace_state", "user_events.parent_is_remote", "user_events.events_count",
	}
	for _, key := range append(own, "otel.scope.schema_url", "host.name") {
		forged = append(forged, attribute.String(key, "forged"))
	}
	tracer := rig.provider.Tracer("my/package", trace.WithInstrumentationVersion("v1.2.3"), trace.WithInstrumentationAttributes(attribute.Int("n", 1)))
	_, s := tracer.Start(fromRemote(t.Context(), "vendor=1"), "s", trace.WithAttributes(forged...))
	s.AddEvent("e")
	s.End()
	text := commonSchema(t, tr)
	for _, key := range own {
		assert.Equal(t, 1, strings.Count(text, `"`+key+`":`), "%s: %s", key, text)
	}
	assert.Equal(t, 2, strings.Count(text, "forged"), text)
}

// TestCommonSchemaOwnFields: a span has at once all fields of part C that it may have.
func TestCommonSchemaOwnFields(t *testing.T) {
	rig := newRig(t, ueventstrace.WithCommonSchema4())
	tr := rig.attach(t, "app_*")
	provider := rig.newProvider(sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
		AttributeCountLimit: 1, EventCountLimit: 1, LinkCountLimit: 1, AttributePerEventCountLimit: -1, AttributePerLinkCountLimit: -1, AttributeValueLengthLimit: -1,
	}))
	tracer := provider.Tracer("my/package", trace.WithInstrumentationVersion("v1.2.3"), trace.WithSchemaURL("https://example.com"),
		trace.WithInstrumentationAttributes(attribute.Int("n", 1)))
	_, s := tracer.Start(fromRemote(t.Context(), "vendor=1"), "s", trace.WithAttributes(attribute.Int("http.response.status_code", 500), attribute.Int("n", 1)),
		trace.WithLinks(trace.Link{SpanContext: remote}, trace.Link{SpanContext: remote}))
	s.AddEvent("first")
	s.AddEvent("second")
	s.SetStatus(codes.Error, "because")
	s.End()
	assert.Contains(t, commonSchema(t, tr), `"PartC":{"otel.scope.name":"my/package","otel.scope.version":"v1.2.3",`+
		`"otel.scope.schema_url":"https://example.com","otel.status_description":"because","user_events.trace_state":"vendor=1","user_events.parent_is_remote":true,`+
		`"user_events.events_count":1,"user_events.links_count":1,"otel.dropped_attributes_count":1,"otel.dropped_events_count":1,"otel.dropped_links_count":1,"user_events.scope.attributes":{"n":1},`)
}
