package ueventstrace_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/truncationotel"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// everyKind is an attribute of each kind.
var everyKind = []attribute.KeyValue{
	attribute.String("string", "text \n\x1b"),
	attribute.Int64("int", -1<<63),
	attribute.Bool("bool", true),
	attribute.Float64("float", 0.1),
	attribute.StringSlice("strings", []string{"a", "b"}),
	attribute.Int64Slice("ints", []int64{1, 2}),
	attribute.BoolSlice("bools", []bool{true, false}),
	attribute.Float64Slice("floats", []float64{0.5}),
	{Key: "bytes", Value: attribute.ByteSliceValue([]byte{1, 2})},
	{Key: "slice", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("x"))},
	{Key: "map", Value: attribute.MapValue(attribute.Int("a", 1))},
	{Key: "empty"},
}

// spans makes spans of every shape.
var spans = map[string]func(t *testing.T, tracer trace.Tracer){
	"a root": func(t *testing.T, tracer trace.Tracer) {
		_, s := tracer.Start(t.Context(), "root")
		s.End()
	},
	"everything": func(t *testing.T, tracer trace.Tracer) {
		_, s := tracer.Start(fromRemote(t.Context(), "vendor=1,other=2"), "everything", trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(everyKind...), trace.WithTimestamp(when),
			trace.WithLinks(trace.Link{SpanContext: remote, Attributes: []attribute.KeyValue{attribute.Int("n", 1)}}, trace.Link{SpanContext: remote.WithSpanID(trace.SpanID{1})}))
		s.AddEvent("first", trace.WithAttributes(everyKind...), trace.WithTimestamp(when.Add(time.Second)))
		s.RecordError(errors.New("it broke"), trace.WithTimestamp(when.Add(2*time.Second)))
		s.SetStatus(codes.Error, "because\nof that")
		s.SetName("renamed")
		s.End(trace.WithTimestamp(when.Add(1500 * time.Nanosecond)))
	},
	"a family": func(t *testing.T, tracer trace.Tracer) {
		ctx, parent := tracer.Start(t.Context(), "parent", trace.WithSpanKind(trace.SpanKindProducer))
		_, child := tracer.Start(ctx, "child", trace.WithSpanKind(trace.SpanKindConsumer))
		child.SetStatus(codes.Ok, "ignored")
		child.End()
		parent.End()
	},
	"above the SDK's limits": func(t *testing.T, tracer trace.Tracer) {
		_, s := tracer.Start(t.Context(), "much", trace.WithSpanKind(trace.SpanKindClient))
		for i := range 130 {
			s.SetAttributes(attribute.Int("a"+strconv.Itoa(i), i))
			s.AddEvent("e"+strconv.Itoa(i), trace.WithTimestamp(when))
			s.AddLink(trace.Link{SpanContext: remote})
		}
		s.End()
	},
}

// TestFields compares the records with the spans that the SDK gave to another exporter.
func TestFields(t *testing.T) {
	for name, make := range spans {
		t.Run(name, func(t *testing.T) {
			rig, tr := traced(t, ueventstrace.WithResourceAttributes("host.name", "not.there", "shard"))
			make(t, rig.tracer())
			assertSame(t, rig.memory.GetSpans(), records(t, tr))
		})
	}
}

// assertSame compares what was written with what the SDK made of spans. They are in the order
// in which they ended.
func assertSame(t *testing.T, want tracetest.SpanStubs, got []fields) {
	t.Helper()
	starts := map[string]fields{}
	var ended []fields
	for _, f := range got {
		if strings.HasSuffix(f[""], "_span_start") {
			starts[f["span_id"]] = f
		} else {
			ended = append(ended, f)
		}
	}
	next := func() fields {
		require.NotEmpty(t, ended)
		f := ended[0]
		ended = ended[1:]
		return f
	}
	require.Len(t, starts, len(want))
	for _, s := range want {
		ids := fields{"trace_id": s.SpanContext.TraceID().String(), "span_id": s.SpanContext.SpanID().String(), "truncated": "0"}
		where := fields{"scope_name": "my/package", "service_name": "shop", "resource": `{"host.name":"node1","shard":3}`}
		for _, link := range s.Links {
			f := next()
			assertFields(t, "_span_link", f, ids, where, fields{
				"linked_trace_id": link.SpanContext.TraceID().String(), "linked_span_id": link.SpanContext.SpanID().String(),
				"trace_flags": fmt.Sprint(uint8(link.SpanContext.TraceFlags())), "dropped_attributes_count": fmt.Sprint(link.DroppedAttributeCount),
			})
			assertAttributes(t, link.Attributes, link.SpanContext.TraceState().String(), f["attributes"])
		}
		for _, ev := range s.Events {
			f := next()
			assertFields(t, "_span_event", f, ids, where, fields{
				"time_unix_nano": fmt.Sprint(ev.Time.UnixNano()), "name": ev.Name, "dropped_attributes_count": fmt.Sprint(ev.DroppedAttributeCount),
			})
			assertAttributes(t, ev.Attributes, "", f["attributes"])
		}
		parent := s.Parent.SpanID().String()
		if !s.Parent.SpanID().IsValid() {
			parent = ""
		}
		identity := fields{
			"start_time_unix_nano": fmt.Sprint(s.StartTime.UnixNano()), "parent_span_id": parent,
			"parent_is_remote": fmt.Sprint(map[bool]int{true: 1}[s.Parent.IsRemote()]),
			"trace_flags":      fmt.Sprint(uint8(s.SpanContext.TraceFlags())), "kind": fmt.Sprint(int(s.SpanKind)),
		}
		f := next()
		assertFields(t, "_span", f, ids, where, identity, fields{
			"name": s.Name, "duration_ns": fmt.Sprint(s.EndTime.Sub(s.StartTime).Nanoseconds()),
			"status_code":              fmt.Sprint(map[codes.Code]int{codes.Ok: 1, codes.Error: 2}[s.Status.Code]),
			"status_message":           strings.ReplaceAll(s.Status.Description, "\n", `\n`),
			"dropped_attributes_count": fmt.Sprint(s.DroppedAttributes),
			"events":                   fmt.Sprint(len(s.Events)),
			"links":                    fmt.Sprint(len(s.Links)),
		})
		assertAttributes(t, s.Attributes, s.SpanContext.TraceState().String(), f["attributes"], s.DroppedEvents, s.DroppedLinks)
		start := starts[s.SpanContext.SpanID().String()]
		require.NotNil(t, start)
		assertFields(t, "_span_start", start, ids, where, identity)
	}
	assert.Empty(t, ended)
}

// assertFields checks that a record has these values.
func assertFields(t *testing.T, event string, got fields, want ...fields) {
	t.Helper()
	assert.True(t, strings.HasSuffix(got[""], event), "%s is no %s", got[""], event)
	for _, some := range want {
		for name, value := range some {
			have, ok := got[name]
			assert.True(t, ok, "%s has no %s", event, name)
			assert.Equal(t, value, have, "%s: %s", event, name)
		}
	}
}

// assertAttributes compares attributes with an object.
func assertAttributes(t *testing.T, want []attribute.KeyValue, state, text string, dropped ...int) {
	t.Helper()
	got := object(t, text)
	if state != "" {
		assert.Equal(t, state, got["user_events.trace_state"])
		delete(got, "user_events.trace_state")
	}
	for i, key := range []string{"otel.dropped_events_count", "otel.dropped_links_count"} {
		if i < len(dropped) && dropped[i] > 0 {
			assert.EqualValues(t, strconv.Itoa(dropped[i]), fmt.Sprint(got[key]))
			delete(got, key)
		}
	}
	assert.Equal(t, "v1.2.3", got["otel.scope.version"])
	delete(got, "otel.scope.version")
	assert.Len(t, got, len(want))
	for _, kv := range want {
		value, ok := got[string(kv.Key)]
		if !assert.True(t, ok, kv.Key) {
			continue
		}
		switch kv.Value.Type() {
		case attribute.STRING:
			assert.Equal(t, kv.Value.AsString(), value)
		case attribute.EMPTY:
			assert.Nil(t, value)
		case attribute.BYTESLICE:
			assert.Equal(t, "AQI=", value)
		default:
			assert.JSONEq(t, kv.Value.String(), string(must(t, value)))
		}
	}
}

// TestScope: a scope's schema and attributes become attributes.
// TestResources: spans of two providers with one processor have each their own resource, also in scopes of one name.
func TestResources(t *testing.T) {
	rig, tool := traced(t)
	other := rig.newProvider(sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "stock"))))
	for range 2 {
		for service, provider := range map[string]*sdktrace.TracerProvider{"shop": rig.provider, "stock": other} {
			for range 2 {
				_, s := provider.Tracer("x").Start(t.Context(), "s")
				s.End()
				list := records(t, tool)
				require.Len(t, list, 2, "the start and the span")
				for _, f := range list {
					assert.Equal(t, service, f["service_name"], f[""])
				}
			}
		}
	}
}

func TestScope(t *testing.T) {
	rig, tr := traced(t)
	_, s := rig.provider.Tracer("x", trace.WithSchemaURL("https://example.com/1"), trace.WithInstrumentationAttributes(attribute.Int("n", 1))).Start(t.Context(), "s")
	s.End()
	for _, f := range records(t, tr) {
		assert.JSONEq(t, `{"otel.scope.schema_url":"https://example.com/1","user_events.scope.attributes":{"n":1}}`, f["attributes"])
	}
}

// TestSizes: records of every size keep the limit, count what they lost, and their attributes are JSON.
func TestSizes(t *testing.T) {
	for _, opts := range [][]ueventstrace.Option{nil, {ueventstrace.WithMaxPayload(500)}} {
		rig, tr := traced(t, append(opts, ueventstrace.WithResourceAttributes("host.name"))...)
		limit := 4064
		if opts != nil {
			limit = 500
		}
		for n := range 60 {
			long := strings.Repeat("ä", n*n)
			_, s := rig.tracer().Start(t.Context(), long, trace.WithAttributes(attribute.String("long", long), attribute.String("long2", long)))
			s.AddEvent(long, trace.WithAttributes(attribute.String("long", long)))
			s.SetStatus(codes.Error, long)
			s.End()
			for _, raw := range tr.Records() {
				assert.LessOrEqual(t, len(raw.Payload), limit)
				f := decode(t, raw)
				object(t, f["attributes"])
				whole := !strings.Contains(fmt.Sprint(f), "...") && strings.Contains(f["attributes"], `"long":"`+long+`"`)
				assert.Equal(t, whole && strings.HasSuffix(f["attributes"], `"otel.scope.version":"v1.2.3"}`), f["truncated"] == "0", "%d %s %s", n, f[""], f["truncated"])
			}
		}
		for name, stats := range rig.Stats() {
			assert.Zero(t, stats.Refused, name)
			if name != "app_span_link" {
				assert.EqualValues(t, 60, stats.Written, name)
				assert.Positive(t, stats.Truncated, name)
			}
		}
	}
}

// TestExporterWritesTheSame: the exporter writes what the processor writes at the end.
func TestExporterWritesTheSame(t *testing.T) {
	for name, make := range spans {
		t.Run(name, func(t *testing.T) {
			rig := newRig(t, ueventstrace.WithResourceAttributes("host.name", "shard"))
			borrowed := rig.kernel.Provider()
			defer borrowed.Close()
			exporter, err := ueventstrace.NewExporter("export", ueventstrace.WithProvider(borrowed), ueventstrace.WithResourceAttributes("host.name", "shard"))
			require.NoError(t, err)
			provider := rig.newProvider(sdktrace.WithBatcher(exporter))
			defer func() { assert.NoError(t, provider.Shutdown(t.Context()), "which ends the batcher's goroutine") }()
			tr := rig.attach(t, "app_*", "export_*")
			make(t, provider.Tracer("my/package"))
			require.NoError(t, provider.ForceFlush(t.Context()))
			var processed, exported []fields
			for _, f := range records(t, tr) {
				name := f[""]
				delete(f, "")
				switch {
				case strings.HasPrefix(name, "export_"):
					exported = append(exported, f)
				case name != "app_span_start":
					processed = append(processed, f)
				}
			}
			assert.Equal(t, processed, exported)
		})
	}
}

// TestTruncation: a span that is too large is cut fairly, and says so.
func TestTruncation(t *testing.T) {
	for event, encoding := range map[string]ueventstrace.Option{"app_span": nil, "app_L4K4": ueventstrace.WithCommonSchema4()} {
		for _, limit := range []int{4064, 1024} {
			rig := newRig(t, encoding, ueventstrace.WithMaxPayload(limit))
			rig.provider = rig.newProvider(sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeCountLimit: -1, AttributeValueLengthLimit: -1}))
			tr := rig.attach(t, event)
			for _, c := range truncationtest.Cases() {
				t.Run(fmt.Sprintf("%s/%s/%d", event, c.Name, limit), func(t *testing.T) {
					scope := trace.WithInstrumentationAttributes(truncationotel.KeyValues(c.Bound)...)
					_, s := rig.provider.Tracer("my/package", scope).Start(t.Context(), c.Message, trace.WithAttributes(truncationotel.KeyValues(c.Attrs)...))
					s.End()
					records := tr.Records()
					require.Len(t, records, 1)
					got, err := truncationotel.Decode(records[0], "name")
					require.NoError(t, err)
					assert.NoError(t, c.Check(limit, got))
				})
			}
		}
	}
}
