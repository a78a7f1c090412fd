package decode

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
)

func (r random) traceID() (id trace.TraceID) {
	for i := range id {
		id[i] = byte(r.IntN(256))
	}
	return id
}

func (r random) spanID() (id trace.SpanID) {
	for i := range id {
		id[i] = byte(r.IntN(256))
	}
	return id
}

func (r random) spanContext(remote bool) trace.SpanContext {
	state := trace.TraceState{}
	if r.IntN(3) == 0 {
		state, _ = trace.ParseTraceState("vendor=1,other=x")
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: r.traceID(), SpanID: r.spanID(), TraceFlags: trace.FlagsSampled, TraceState: state, Remote: remote})
}

// part is a logged event or link of a span.
type part struct {
	name string
	at   time.Time
	to   trace.SpanContext

	attributes []record.Field
	dropped    int
}

func (r random) parts() []part {
	list := make([]part, r.IntN(3))
	for i := range list {
		list[i] = part{
			name: r.text(), at: time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC(), to: r.spanContext(false),
			attributes: sortedMaps(r.fields(r.IntN(3), 1)), dropped: r.IntN(2),
		}
	}
	return list
}

var spanStatuses = map[codes.Code]record.Status{codes.Unset: record.StatusUnset, codes.Ok: record.StatusOK, codes.Error: record.StatusError}

// TestSpans: spans of package ueventstrace's exporter are read back, in both encodings.
func TestSpans(t *testing.T) {
	for name, encoding := range map[string]ueventstrace.Option{"typed": nil, "Common Schema": ueventstrace.WithCommonSchema4()} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			x, err := ueventstrace.NewExporter("myapp", ueventstrace.WithProvider(r.provider), encoding, ueventstrace.WithResourceAttributes("host.cpus"))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
			r.attach()
			for seed := range rounds() {
				random := newRandom(seed)
				logged := lastOfEach(sortedMaps(random.fields(random.IntN(6), 3)))
				scope := random.fields(random.IntN(3), 0)
				events, links := random.parts(), random.parts()
				span := tracetest.SpanStub{
					Name: random.text(), SpanContext: random.spanContext(false), SpanKind: trace.SpanKind(1 + random.IntN(5)),
					StartTime: time.Unix(random.Int64N(1<<33), random.Int64N(1e9)), Attributes: otelAttrs(logged),
					Status:            pick(random, sdktrace.Status{}, sdktrace.Status{Code: codes.Ok}, sdktrace.Status{Code: codes.Error, Description: random.text()}),
					DroppedAttributes: random.IntN(2), DroppedEvents: random.IntN(2), DroppedLinks: random.IntN(2), Resource: testResource,
					InstrumentationScope: instrumentation.Scope{
						Name: random.text(), Version: random.text(), SchemaURL: random.text(), Attributes: attribute.NewSet(otelAttrs(scope)...),
					},
				}
				span.EndTime = span.StartTime.Add(time.Duration(random.Int64N(1e12)))
				if random.IntN(2) == 0 {
					span.Parent = random.spanContext(random.IntN(2) == 0)
				}
				for _, e := range events {
					span.Events = append(span.Events, sdktrace.Event{Name: e.name, Time: e.at, Attributes: otelAttrs(e.attributes), DroppedAttributeCount: e.dropped})
				}
				for _, l := range links {
					span.Links = append(span.Links, sdktrace.Link{SpanContext: l.to, Attributes: otelAttrs(l.attributes), DroppedAttributeCount: l.dropped})
				}
				require.NoError(t, x.ExportSpans(context.Background(), tracetest.SpanStubs{span}.Snapshots()))

				got := r.events()
				ev := got[len(got)-1]
				assertSpan(t, &span, ev)
				if encoding == nil {
					recordtest.AssertFields(t, allAsJSON(sorted(scope)), ev.ScopeAttributes)
					recordtest.AssertFields(t, allAsJSON(logged), ev.Fields())
					recordtest.AssertFields(t, []record.Field{{Name: "host.cpus", Value: record.Int64Value(4)}}, ev.Resource)
					require.Len(t, got, len(links)+len(events)+1)
					for i, l := range links {
						assertLinkRecord(t, &span, l, got[i])
					}
					for i, e := range events {
						assertEventRecord(t, &span, e, got[len(links)+i])
					}
				} else {
					require.Len(t, got, 1)
					recordtest.AssertFields(t, asHeader(sorted(scope)), ev.ScopeAttributes)
					recordtest.AssertFields(t, append([]record.Field{{Name: "host.cpus", Value: record.Int64Value(4)}}, asHeader(logged)...), ev.Fields())
					recordtest.AssertFields(t, []record.Field{{Name: "service.instance.id", Value: record.StringValue("7")}}, ev.Resource)
					assertNested(t, events, links, ev)
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func assertSpan(t *testing.T, want *tracetest.SpanStub, ev *record.Record) {
	t.Helper()
	assert.Zero(t, ev.Truncated)
	assert.Equal(t, record.KindSpan, ev.Kind)
	assert.Zero(t, ev.Severity)
	assert.Empty(t, ev.EventName)
	assert.Equal(t, want.Name, ev.Message)
	assert.Equal(t, want.SpanContext.TraceID(), trace.TraceID(ev.TraceID))
	assert.Equal(t, want.SpanContext.SpanID(), trace.SpanID(ev.SpanID))
	assert.Equal(t, want.Parent.SpanID(), trace.SpanID(ev.ParentSpanID))
	assert.Equal(t, want.Parent.IsRemote(), ev.ParentRemote)
	assert.Equal(t, uint8(trace.FlagsSampled), ev.TraceFlags)
	assert.Equal(t, want.SpanContext.TraceState().String(), ev.TraceState)
	assert.Equal(t, record.SpanKind(want.SpanKind), ev.SpanKind)
	assert.Equal(t, spanStatuses[want.Status.Code], ev.Status)
	assert.Equal(t, want.Status.Description, ev.StatusMessage)
	assert.Equal(t, want.StartTime.UTC(), ev.Timestamp)
	assert.Equal(t, want.EndTime.Sub(want.StartTime), ev.Duration)
	assert.Equal(t, []int{len(want.Events), len(want.Links), want.DroppedAttributes, want.DroppedEvents, want.DroppedLinks},
		[]int{int(ev.EventCount), int(ev.LinkCount), int(ev.DroppedAttributes), int(ev.DroppedEvents), int(ev.DroppedLinks)})
	assert.Equal(t, "users \n", ev.ServiceName)
	scope := want.InstrumentationScope
	assert.Equal(t, []string{scope.Name, scope.Version, scope.SchemaURL}, []string{ev.ScopeName, ev.ScopeVersion, ev.ScopeSchemaURL})
}

func assertLinkRecord(t *testing.T, span *tracetest.SpanStub, want part, ev *record.Record) {
	t.Helper()
	assert.Equal(t, record.KindSpanLink, ev.Kind)
	assert.Equal(t, span.SpanContext.TraceID(), trace.TraceID(ev.TraceID))
	assert.Equal(t, span.SpanContext.SpanID(), trace.SpanID(ev.SpanID))
	assert.Equal(t, want.to.TraceID(), trace.TraceID(ev.LinkedTraceID))
	assert.Equal(t, want.to.SpanID(), trace.SpanID(ev.LinkedSpanID))
	assert.Equal(t, uint8(1), ev.TraceFlags)
	assert.Equal(t, want.to.TraceState().String(), ev.TraceState)
	assert.Equal(t, uint32(want.dropped), ev.DroppedAttributes)
	recordtest.AssertFields(t, allAsJSON(want.attributes), ev.Fields())
}

func assertEventRecord(t *testing.T, span *tracetest.SpanStub, want part, ev *record.Record) {
	t.Helper()
	assert.Equal(t, record.KindSpanEvent, ev.Kind)
	assert.Equal(t, span.SpanContext.TraceID(), trace.TraceID(ev.TraceID))
	assert.Equal(t, span.SpanContext.SpanID(), trace.SpanID(ev.SpanID))
	assert.Equal(t, want.name, ev.Message)
	assert.Equal(t, want.at, ev.Timestamp)
	assert.Equal(t, uint32(want.dropped), ev.DroppedAttributes)
	recordtest.AssertFields(t, allAsJSON(want.attributes), ev.Fields())
}

// assertNested checks the events and links that are in the record of their span.
func assertNested(t *testing.T, events, links []part, ev *record.Record) {
	t.Helper()
	require.Len(t, ev.NestedEvents, len(events))
	for i, want := range events {
		got := ev.NestedEvents[i]
		assert.Equal(t, want.name, got.Name)
		assert.Equal(t, want.at, got.Time)
		assert.Equal(t, uint32(want.dropped), got.DroppedAttributes)
		recordtest.AssertFields(t, asHeader(want.attributes), got.Attributes)
	}
	require.Len(t, ev.NestedLinks, len(links))
	for i, want := range links {
		got := ev.NestedLinks[i]
		assert.Equal(t, want.to.TraceID(), trace.TraceID(got.TraceID))
		assert.Equal(t, want.to.SpanID(), trace.SpanID(got.SpanID))
		assert.Equal(t, uint8(1), got.TraceFlags)
		assert.Equal(t, want.to.TraceState().String(), got.TraceState)
		assert.Equal(t, uint32(want.dropped), got.DroppedAttributes)
		recordtest.AssertFields(t, asHeader(want.attributes), got.Attributes)
	}
}

// TestSpanStart: a started span is read back, and the slice for Perfetto beside it is of KindOther.
func TestSpanStart(t *testing.T) {
	r := newRig(t)
	p, err := ueventstrace.NewTracerProvider("myapp", ueventstrace.WithProvider(r.provider), ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
	r.attach()
	parent := newRandom(1).spanContext(true)
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent)
	before := time.Now()
	_, span := p.Tracer("scope").Start(ctx, "a\nb", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("k", "v")))
	defer span.End()
	var kinds []string
	for _, ev := range r.events() {
		kinds = append(kinds, ev.Name+" "+ev.Kind.String())
		if ev.Kind != record.KindSpanStart {
			continue
		}
		assert.Equal(t, "a\nb", ev.Message)
		assert.Equal(t, parent.TraceID(), trace.TraceID(ev.TraceID))
		assert.Equal(t, parent.SpanID(), trace.SpanID(ev.ParentSpanID))
		assert.NotZero(t, ev.SpanID)
		assert.True(t, ev.ParentRemote)
		assert.Equal(t, record.SpanKindClient, ev.SpanKind)
		assert.WithinRange(t, ev.Timestamp, before, time.Now())
		assert.Equal(t, "scope", ev.ScopeName)
		recordtest.AssertFields(t, []record.Field{{Name: "k", Value: record.StringValue("v")}}, ev.Fields())
	}
	assert.ElementsMatch(t, []string{"myapp_span_start span start", "myapp_slice other"}, kinds)
}

// TestWellKnownAttributesOfSpans: attributes that the Common Schema renames have their own names again.
func TestWellKnownAttributesOfSpans(t *testing.T) {
	r := newRig(t)
	x, err := ueventstrace.NewExporter("myapp", ueventstrace.WithProvider(r.provider), ueventstrace.WithCommonSchema4())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
	r.attach()
	want := []record.Field{{Name: "http.response.status_code", Value: record.Int64Value(500)}}
	for _, key := range []string{
		"db.system.name", "db.namespace", "db.query.text", "http.request.method", "url.full", "messaging.system",
		"messaging.destination.name", "messaging.url", "rpc.system.name", "rpc.response.status_code",
	} {
		want = append(want, record.Field{Name: key, Value: record.StringValue("value of " + key)})
	}
	span := tracetest.SpanStub{
		Name: "GET", SpanContext: newRandom(1).spanContext(false), SpanKind: trace.SpanKindClient, Attributes: otelAttrs(want),
		Status: sdktrace.Status{Code: codes.Error, Description: "server"}, Resource: testResource,
	}
	require.NoError(t, x.ExportSpans(context.Background(), tracetest.SpanStubs{span}.Snapshots()))
	ev := r.event()
	recordtest.AssertFields(t, want, ev.Fields())
	assert.Equal(t, record.StatusError, ev.Status)
	assert.Equal(t, "server", ev.StatusMessage)
}

// TestFieldsJSONOfUsualRecords: the attributes of typed records stay as the program wrote them, and decoding without the option
// gives the same.
func TestFieldsJSONOfUsualRecords(t *testing.T) {
	for i, c := range usual {
		r := newRig(t)
		rec := r.writeUsual(i)
		kept := recordtest.CompareKept(t, r.decoder(rec), rec.Payload)
		assert.Equal(t, r.decoder(rec).Source() != "EventHeader", kept, c.name)
	}
}

// TestPlain: a plain event has every field of every adapter's records, in their order and as they are written.
func TestPlain(t *testing.T) {
	for i, c := range usual {
		t.Run(c.name, func(t *testing.T) {
			rig := newRig(t)
			rec := rig.writeUsual(i)
			d := rig.decoder(rec)
			var ev, interpreted record.Record
			require.NoError(t, d.Plain().Decode(raw(rec), &ev))
			assert.Equal(t, record.KindOther, ev.Kind)
			assert.Equal(t, c.event, ev.Name)
			for _, s := range []string{ev.Message, ev.ServiceName, ev.ScopeName, ev.TraceState, ev.SeverityText} {
				assert.Empty(t, s)
			}
			assert.Empty(t, ev.Resource)
			assert.Nil(t, ev.Point)
			assert.True(t, ev.Timestamp.IsZero())
			require.NoError(t, d.Decode(raw(rec), &interpreted))
			assert.NotEqual(t, record.KindOther, interpreted.Kind)
			if ev.Header != nil {
				assert.Equal(t, interpreted.Header.Name, ev.EventName)
				return
			}
			var names []string
			for _, f := range ev.Fields() {
				names = append(names, f.Name)
			}
			var declared []string
			for _, f := range rec.Declaration.Fields {
				declared = append(declared, f.Name)
			}
			assert.Equal(t, declared, names)
		})
	}
}

// TestSource: events of all adapters differ from each other, and from those of other programs.
func TestSource(t *testing.T) {
	r := newRig(t)
	_, err := sloghandler.New("slog", &sloghandler.Options{
		Provider:     r.provider,
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[struct{ Route string }]("request", nil)},
	})
	require.NoError(t, err)
	_, err = ueventslog.NewProcessor("otel", ueventslog.WithProvider(r.provider),
		ueventslog.WithDeclarations(ueventslog.Declare[struct{ Route string }]("request", nil)))
	require.NoError(t, err)
	_, err = ueventstrace.NewProcessor("otel", ueventstrace.WithProvider(r.provider))
	require.NoError(t, err)
	_, err = ueventsmetric.NewExporter("otel", ueventsmetric.WithProvider(r.provider))
	require.NoError(t, err)
	_, err = ueventslog.NewProcessor("header", ueventslog.WithProvider(r.provider), ueventslog.WithCommonSchema4())
	require.NoError(t, err)
	_, err = r.provider.Register(tracepoint.MustParse("foreign u32 number"), nil)
	require.NoError(t, err)

	got := map[string]string{}
	for _, e := range r.kernel.Events() {
		text, err := r.kernel.Format(e.Name)
		require.NoError(t, err)
		f, err := tracepoint.ParseFormat(text)
		require.NoError(t, err)
		d, err := record.NewDecoder(tracepoint.System, f)
		require.NoError(t, err)
		got[e.Name] = string(d.Source())
	}
	for name, want := range map[string]string{
		"slog_info":                        "slog",
		"slog_request":                     "slog, declared",
		"otel_log_info":                    "OpenTelemetry log",
		"otel_log_request":                 "OpenTelemetry log, declared",
		"otel_span":                        "OpenTelemetry span",
		"otel_span_start":                  "OpenTelemetry span start",
		"otel_span_event":                  "OpenTelemetry span event",
		"otel_span_link":                   "OpenTelemetry span link",
		"otel_metric_sum":                  "OpenTelemetry metric",
		"otel_metric_cumulative_histogram": "OpenTelemetry metric",
		"header_L4K1":                      "EventHeader",
		"foreign":                          "",
	} {
		assert.Equal(t, want, got[name], name)
	}
	assert.Len(t, got, 4+1+4+1+4+10+5+1, "an event that is not expected: %v", got)
}
