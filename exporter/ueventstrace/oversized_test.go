package ueventstrace_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// long is a text that fits no record.
var long = strings.Repeat("SELECT ä ", 700)

// shape is a span that is too large.
type shape struct {
	name     string
	before   []attribute.KeyValue // attributes before those that survive
	after    []attribute.KeyValue
	status   string
	version  string // of the scope
	resource string
	least    int // values that are truncated at least
}

// oversized has long texts in the places that only spans have; see TestTruncation for the others.
var oversized = map[string]shape{
	"attribute": {before: []attribute.KeyValue{attribute.String("db.query.text", long)}},
	"bytes":     {before: []attribute.KeyValue{{Key: "bytes", Value: attribute.ByteSliceValue([]byte(long))}}},
	"numbers":   {before: []attribute.KeyValue{attribute.Int64Slice("numbers", make([]int64, 3000))}},
	"status":    {status: long},
	"resource":  {resource: long},
	"version":   {version: long},
	"everything": {
		name: long, status: long, version: long, resource: long,
		before: []attribute.KeyValue{attribute.String("db.query.text", long)}, after: []attribute.KeyValue{attribute.String("log", long)}, least: 6,
	},
}

// end makes the span and ends it.
func (s shape) end(t *testing.T, rig *rig) trace.SpanContext {
	t.Helper()
	if s.name == "" {
		s.name = "GET /users"
	}
	if s.status == "" {
		s.status = "timeout"
	}
	if s.version == "" {
		s.version = "v1.2.3"
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rig.Processor),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("host.name", "node1"+s.resource))))
	list := append([]attribute.KeyValue{attribute.Int("first", 1)}, s.before...)
	list = append(list, attribute.Int("http.response.status_code", 500), attribute.String("error.type", "timeout"))
	_, span := provider.Tracer("my/package", trace.WithInstrumentationVersion(s.version)).
		Start(fromRemote(t.Context(), "vendor=1"), s.name, trace.WithAttributes(append(list, s.after...)...))
	span.SetStatus(codes.Error, s.status)
	span.End()
	return span.SpanContext()
}

// TestOversized: whatever is long, ids, numbers and short texts survive.
func TestOversized(t *testing.T) {
	for name, s := range oversized {
		for _, limit := range []int{0, 1000} {
			t.Run(fmt.Sprint(name, " ", limit), func(t *testing.T) {
				rig := newRig(t, ueventstrace.WithResourceAttributes("host.name"), ueventstrace.WithMaxPayload(limit))
				tr := rig.attach(t, "app_span", "app_span_start")
				sc := s.end(t, rig)
				raw := tr.Records()
				require.Len(t, raw, 2)
				for _, r := range raw {
					assert.LessOrEqual(t, len(r.Payload), map[int]int{0: 4064, 1000: 1000}[limit])
					f := decode(t, r)
					assert.Equal(t, sc.TraceID().String(), f["trace_id"])
					assert.Equal(t, sc.SpanID().String(), f["span_id"])
					assert.Equal(t, remote.SpanID().String(), f["parent_span_id"])
					assert.Equal(t, "my/package", f["scope_name"])
					assert.Equal(t, "shop", f["service_name"])
					text := f["attributes"]
					attributes := object(t, text)
					assert.Contains(t, text, `"http.response.status_code":500`)
					assert.Contains(t, text, `"first":1`)
					assert.Equal(t, "timeout", attributes["error.type"])
					assert.Equal(t, "vendor=1", attributes["user_events.trace_state"])
					if s.version == "" {
						assert.Equal(t, "v1.2.3", attributes["otel.scope.version"])
					} else {
						assert.Contains(t, attributes["otel.scope.version"], "...")
					}
					if s.name == "" {
						assert.Equal(t, "GET /users", f["name"])
					}
					if r.Event == "app_span" {
						var truncated int
						_, err := fmt.Sscan(f["truncated"], &truncated)
						require.NoError(t, err)
						assert.GreaterOrEqual(t, truncated, max(1, s.least))
						assert.Equal(t, uevents.EventStats{Written: 1, Truncated: 1}, rig.Stats()["app_span"])
						if s.status == "" {
							assert.Equal(t, "timeout", f["status_message"])
						}
					}
				}
			})
		}
	}
}

// TestLeastLimitCommonSchema: under every limit that is accepted, a span with a long text keeps its ids, times and numbers.
func TestLeastLimitCommonSchema(t *testing.T) {
	accepted := 0
	for limit := 100; accepted < 50; limit++ {
		k := ueventstest.New(t, nil)
		borrowed := k.Provider()
		p, err := ueventstrace.NewProcessor("app", ueventstrace.WithProvider(borrowed), ueventstrace.WithCommonSchema4(), ueventstrace.WithMaxPayload(limit))
		if err != nil {
			require.ErrorIs(t, err, fs.ErrInvalid)
			require.Zero(t, accepted, "all above are accepted")
			require.NoError(t, borrowed.Close())
			continue
		}
		accepted++
		tool, err := k.Attach(ueventstest.Ftrace, "app_*")
		require.NoError(t, err)
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(resource.Empty()))
		_, span := provider.Tracer("").Start(fromRemote(t.Context(), ""), "GET /users", trace.WithTimestamp(when), trace.WithAttributes(attribute.String("db.query.text", long)))
		span.End(trace.WithTimestamp(when.Add(1)))
		sc := span.SpanContext()
		text := commonSchema(t, tool)
		for _, want := range []string{
			sc.TraceID().String(), sc.SpanID().String(), `"parentId":"` + remote.SpanID().String() + `"`, `"success":true`, `"kind":0`,
			`"2026-11-21T10:20:30.123456789Z"`, `"2026-11-21T10:20:30.123456790Z"`,
		} {
			require.Contains(t, text, want, limit)
		}
		require.Equal(t, uevents.EventStats{Written: 1, Truncated: 1}, p.Stats()["app_L4K4"])
		require.NoError(t, provider.Shutdown(t.Context()))
		require.NoError(t, borrowed.Close())
	}
}

// TestOversizedCommonSchema is the same in the Common Schema.
func TestOversizedCommonSchema(t *testing.T) {
	for name, s := range oversized {
		if name == "status" {
			continue // this schema has no status message beside an HTTP status
		}
		t.Run(name, func(t *testing.T) {
			rig := newRig(t, ueventstrace.WithCommonSchema4(), ueventstrace.WithResourceAttributes("host.name"))
			tr := rig.attach(t, "app_*")
			sc := s.end(t, rig)
			raw := tr.Records()
			require.Len(t, raw, 1)
			assert.LessOrEqual(t, len(raw[0].Payload), 4064)
			ev, err := eventheader.Decode(raw[0].Declaration.Name, raw[0].Payload)
			require.NoError(t, err)
			text, err := ev.AppendFieldsJSON(nil)
			require.NoError(t, err)
			for _, want := range []string{
				sc.TraceID().String(), sc.SpanID().String(), `"parentId":"` + remote.SpanID().String() + `"`, `"httpStatusCode":500`, `"first":1`,
				`"error.type":"timeout"`, `"ext_cloud_role":"shop"`,
			} {
				assert.Contains(t, string(text), want)
			}
			assert.Equal(t, uevents.EventStats{Written: 1, Truncated: 1}, rig.Stats()["app_L4K4"])
		})
	}
}

// TestManyTextsCommonSchema: texts that are too many, but short, take no room of ids and times.
func TestManyTextsCommonSchema(t *testing.T) {
	for _, n := range []int{50, 100, 120} {
		rig := newRig(t, ueventstrace.WithCommonSchema4())
		tr := rig.attach(t, "app_*")
		var s shape
		for i := range n {
			s.before = append(s.before, attribute.String(fmt.Sprint("key", i), long[:60]))
		}
		sc := s.end(t, rig)
		text := commonSchema(t, tr)
		assert.Contains(t, text, `"ext_dt_traceId":"`+sc.TraceID().String()+`","ext_dt_spanId":"`+sc.SpanID().String()+`"`)
		assert.Contains(t, text, `"parentId":"`+remote.SpanID().String()+`"`)
		assert.Regexp(t, `"startTime":"[^"]*Z"`, text)
	}
}
