package decode

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
)

func newLogs(t testing.TB, r *rig, opts ...ueventslog.Option) *ueventslog.LoggerProvider {
	t.Helper()
	p, err := ueventslog.NewLoggerProvider("myapp", append(opts, ueventslog.WithProvider(r.provider))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
	r.attach()
	return p
}

func (r random) time() time.Time {
	if r.IntN(4) == 0 {
		return time.Time{}
	}
	return time.Unix(r.Int64N(1<<33), pick(r, 0, 1e8, 123456, r.Int64N(1e9))).UTC()
}

var testResource = resource.NewSchemaless(attribute.String("service.name", "users \n"), attribute.String("service.instance.id", "7"), attribute.Int("host.cpus", 4))

// asText returns a body as OpenTelemetry's specification represents it outside of OTLP.
func asText(v record.Value) string { return otelValue(v).String() }

// TestLogRecords: log records of package ueventslog are read back, in both encodings.
func TestLogRecords(t *testing.T) {
	for name, encoding := range map[string]ueventslog.Option{"typed": nil, "Common Schema": ueventslog.WithCommonSchema4()} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := newLogs(t, r, encoding, ueventslog.WithResource(testResource), ueventslog.WithResourceAttributes("host.cpus"))
			for seed := range rounds() {
				random := newRandom(seed)
				logged, scope := sortedMaps(random.fields(random.IntN(7), 3)), random.fields(random.IntN(3), 0)
				body, at, observed := random.value(1), random.time(), random.time()
				var rec log.Record
				rec.SetTimestamp(at)
				rec.SetObservedTimestamp(observed)
				rec.SetSeverity(log.Severity(random.IntN(25)))
				rec.SetSeverityText(random.text())
				rec.SetEventName(random.text())
				rec.SetBody(otelValue(body))
				rec.AddAttributes(otelAttrs(logged)...)
				ctx, of := context.Background(), trace.SpanContext{}
				if random.IntN(2) == 0 {
					of = trace.NewSpanContext(trace.SpanContextConfig{
						TraceID: trace.TraceID{15: byte(seed)}, SpanID: trace.SpanID{0: 0xAB, 7: byte(seed)}, TraceFlags: trace.TraceFlags(random.IntN(2)),
					})
					ctx = trace.ContextWithSpanContext(ctx, of)
				}
				version, schemaURL := random.text(), random.text()
				p.Logger("scope \\", log.WithInstrumentationVersion(version), log.WithSchemaURL(schemaURL),
					log.WithInstrumentationAttributes(otelAttrs(scope)...)).Emit(ctx, rec)

				ev := r.event()
				assert.Zero(t, ev.Truncated)
				assert.Equal(t, record.KindLog, ev.Kind)
				assert.Equal(t, record.Severity(rec.Severity()), ev.Severity)
				assert.Equal(t, rec.SeverityText(), ev.SeverityText)
				assert.Equal(t, of.TraceID(), trace.TraceID(ev.TraceID))
				assert.Equal(t, of.SpanID(), trace.SpanID(ev.SpanID))
				assert.Equal(t, uint8(of.TraceFlags()), ev.TraceFlags)
				assert.Equal(t, "scope \\", ev.ScopeName)
				assert.Equal(t, version, ev.ScopeVersion)
				assert.Equal(t, schemaURL, ev.ScopeSchemaURL)
				assert.Equal(t, "users \n", ev.ServiceName)
				if encoding == nil {
					recordtest.AssertFields(t, allAsJSON(sorted(scope)), ev.ScopeAttributes, "scope, seed ", seed)
					recordtest.AssertFields(t, allAsJSON(logged), ev.Fields(), "seed ", seed)
					recordtest.AssertFields(t, []record.Field{{Name: "host.cpus", Value: record.Int64Value(4)}}, ev.Resource)
					assert.Equal(t, at, ev.Timestamp)
					assert.Equal(t, asText(body), ev.Message)
					assert.Equal(t, rec.EventName(), ev.EventName)
					if !observed.IsZero() {
						assert.Equal(t, observed, ev.Observed)
					}
				} else {
					recordtest.AssertFields(t, asHeader(sorted(scope)), ev.ScopeAttributes, "scope, seed ", seed)
					recordtest.AssertFields(t, append([]record.Field{{Name: "host.cpus", Value: record.Int64Value(4)}}, asHeader(logged)...), ev.Fields(), "seed ", seed)
					recordtest.AssertFields(t, []record.Field{{Name: "service.instance.id", Value: record.StringValue("7")}}, ev.Resource)
					assertSchemaBody(t, body, ev)
					if strings.TrimSpace(rec.EventName()) != "" {
						assert.Equal(t, rec.EventName(), ev.EventName)
					} else {
						assert.Empty(t, ev.EventName)
					}
					if !at.IsZero() {
						assert.Equal(t, at, ev.Timestamp)
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// assertSchemaBody checks a body in the Common Schema, which keeps the types of numbers and booleans.
func assertSchemaBody(t *testing.T, body record.Value, ev *record.Record) {
	t.Helper()
	want := record.StringValue(asText(body))
	switch body.Type() {
	case record.TypeNull, record.TypeBool, record.TypeInt64, record.TypeFloat64:
		want = body
	default:
	}
	assert.True(t, recordtest.Equal(want, ev.Body), "want %s, got %s", want, ev.Body)
	switch want.Type() {
	case record.TypeString:
		assert.Equal(t, want.Text(), ev.Message)
	case record.TypeNull:
		assert.Empty(t, ev.Message)
	default:
		assert.Equal(t, string(want.AppendJSON(nil)), ev.Message)
	}
}

// TestDeclaredLogRecords: the name of a declared record's event is its event name, and attributes have the values
// without a field.
func TestDeclaredLogRecords(t *testing.T) {
	r := newRig(t)
	p := newLogs(t, r, ueventslog.WithDeclarations(ueventslog.Declare[struct {
		ID       int64  `uevent:"user.id"`
		Message  string `uevent:"message"`
		Severity bool   `uevent:"severity_number2"`
	}]("user.login", nil)))
	var rec log.Record
	rec.SetTimestamp(time.Unix(1, 0))
	rec.SetSeverity(log.SeverityWarn2)
	rec.SetSeverityText("hm")
	rec.SetEventName("user.login")
	rec.SetBody(attribute.StringValue("a\nb"))
	rec.AddAttributes(attribute.Int("user.id", 41), attribute.String("message", "\x00"), attribute.Int("rest", 2))
	logger := p.Logger("scope", log.WithInstrumentationVersion("v1"))
	logger.Emit(context.Background(), rec)
	rec.SetSeverityText("WARN2")
	logger.Emit(context.Background(), rec)

	events := r.events()
	require.Len(t, events, 4)
	for i, ev := range events {
		assert.Equal(t, record.KindLog, ev.Kind)
		assert.Equal(t, record.SeverityWarn+1, ev.Severity)
		assert.Equal(t, []string{"hm", "hm", "WARN2", "WARN2"}[i], ev.SeverityText)
		assert.Equal(t, "a\nb", ev.Message)
		assert.Equal(t, "v1", ev.ScopeVersion)
		assert.Equal(t, time.Unix(1, 0).UTC(), ev.Timestamp)
		assert.False(t, ev.Observed.IsZero())
		if i%2 == 0 {
			assert.Equal(t, "myapp_log_user_login", ev.EventName)
			assert.False(t, ev.Duplicate)
			recordtest.AssertFields(t, []record.Field{
				{Name: "user_id", Value: record.Int64Value(41)},
				{Name: "message", Value: record.StringValue("\x00")},
				{Name: "severity_number2", Value: record.Int64Value(0)},
				{Name: "rest", Value: record.Int64Value(2)},
			}, ev.Fields())
		} else {
			assert.Equal(t, "user.login", ev.EventName)
			assert.True(t, ev.Duplicate)
			recordtest.AssertFields(t, []record.Field{
				{Name: "user.id", Value: record.Int64Value(41)}, {Name: "message", Value: record.StringValue("\x00")}, {Name: "rest", Value: record.Int64Value(2)},
			}, ev.Fields())
		}
	}
}

// TestTruncatedLogRecord: the count of truncated values is decoded in both encodings.
func TestTruncatedLogRecord(t *testing.T) {
	for _, encoding := range []ueventslog.Option{nil, ueventslog.WithCommonSchema4()} {
		r := newRig(t)
		p := newLogs(t, r, encoding)
		var rec log.Record
		for i := range 200 {
			rec.AddAttributes(attribute.String("key"+strconv.Itoa(i), strings.Repeat("x", 100)))
		}
		p.Logger("scope").Emit(context.Background(), rec)
		ev := r.event()
		assert.Positive(t, ev.Truncated)
		assert.Equal(t, uint32(72), ev.DroppedAttributes, "the limit is 128")
		assert.Equal(t, "scope", ev.ScopeName)
		first, _ := ev.Lookup("key0")
		assert.Equal(t, strings.Repeat("x", len(first.Text())-3)+"...", first.Text())
	}
}

// TestReservedAttributes: an attribute with a reserved name and an unknown meaning stays an attribute.
func TestReservedAttributes(t *testing.T) {
	kept := []record.Field{
		{Name: "user_events.zero_threshold", Value: record.Float64Value(1.5)}, // of metrics
		{Name: "otel.unknown", Value: record.Int64Value(1)},
		{Name: "otel.other", Value: record.BoolValue(true)},
		{Name: "otel.map", Value: record.MapValue([]record.Field{{Name: "a", Value: record.Int64Value(1)}})},
		{Name: "otel.text", Value: record.StringValue("a")},
		{Name: "otel.null", Value: record.Value{}},
		{Name: "user_events.parent_is_remote", Value: record.StringValue("x")},
		{Name: "user_events.scope.attributes", Value: record.Int64Value(5)},
		{Name: "otel.dropped_events_count", Value: record.Int64Value(-1)},
		{Name: "otel.dropped_links_count", Value: record.Float64Value(0.5)},
		{Name: "otel.status_code", Value: record.StringValue("ERROR")},
		{Name: "user_events.trace_state", Value: record.BoolValue(true)},
	}
	r := newRig(t)
	p := newLogs(t, r)
	var rec log.Record
	rec.AddAttributes(otelAttrs(kept)...)
	rec.AddAttributes(attribute.Int64("user_events.events_count", 1<<40), attribute.Int("user_events.links_count", 0))
	p.Logger("scope").Emit(context.Background(), rec)
	ev := r.event()
	recordtest.AssertFields(t, kept, ev.Fields())
	assert.Equal(t, uint32(math.MaxUint32), ev.EventCount)
	assert.Zero(t, ev.LinkCount)

	rm := onePointOfEach()
	points := rm.ScopeMetrics[0].Metrics[0].Data.(metricdata.Gauge[float64]).DataPoints
	points[0].Attributes = attribute.NewSet(attribute.Int("otel.unknown", 2), attribute.String("user_events.zero_threshold", "x"))
	rm.ScopeMetrics[0].Metrics = rm.ScopeMetrics[0].Metrics[:1]
	m := newRig(t)
	records := m.writeMetrics(rm)
	require.Len(t, records, 1)
	require.NoError(t, m.decoder(records[0]).Decode(raw(records[0]), ev))
	recordtest.AssertFields(t, []record.Field{{Name: "otel.unknown", Value: record.Int64Value(2)}, {Name: "user_events.zero_threshold", Value: record.StringValue("x")}}, ev.Fields())
	assert.Zero(t, ev.Point.ZeroThreshold)
}

// ids is the source of the records' ids.
type ids struct {
	trace [16]byte
	span  [8]byte
}

func newSlog(t testing.TB, r *rig, o sloghandler.Options, context2ids *ids) *sloghandler.Handler {
	t.Helper()
	o.Provider = r.provider
	o.TraceContext = func(context.Context) ([16]byte, [8]byte) { return context2ids.trace, context2ids.span }
	h, err := sloghandler.New("myapp", &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	r.attach()
	return h
}

// TestSlogRecords: records of package sloghandler are read back.
func TestSlogRecords(t *testing.T) {
	r := newRig(t)
	var now ids
	h := newSlog(t, r, sloghandler.Options{}, &now)
	for seed := range rounds() {
		random := newRandom(seed)
		now = ids{}
		if random.IntN(2) == 0 {
			now = ids{[16]byte{15: byte(seed)}, [8]byte{0: 0xAB, 7: byte(seed)}}
		}
		level, message, at := slog.Level(random.IntN(30)-15), random.text(), time.Time{}
		if random.IntN(4) > 0 {
			at = time.Unix(random.Int64N(1<<33), random.Int64N(1e9)).UTC()
		}
		logged := random.fields(random.IntN(7), 3)
		entry := slog.NewRecord(at, level, message, 0)
		entry.AddAttrs(slogAttrs(logged)...)
		require.NoError(t, h.Handle(context.Background(), entry))

		ev := r.event()
		assert.Equal(t, record.KindLog, ev.Kind)
		assert.Equal(t, record.Severity(min(max(level+9, 1), 24)), ev.Severity)
		assert.Equal(t, level.String(), ev.SeverityText)
		assert.Equal(t, message, ev.Message)
		assert.Equal(t, record.StringValue(message), ev.Body)
		assert.Equal(t, at, ev.Timestamp)
		assert.Equal(t, now, ids{ev.TraceID, ev.SpanID})
		assert.Empty(t, ev.EventName)
		assert.Zero(t, ev.Truncated)
		recordtest.AssertFields(t, allAsJSON(logged), ev.Fields(), "seed ", seed)
		assert.Nil(t, ev.Header)
		if t.Failed() {
			t.FailNow()
		}
	}
}

// declaredRequest is a declared record, with fields that have the names of others.
type declaredRequest struct {
	Route   string        `uevent:"http.route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
	Message string        `uevent:"message"`
}

// TestSlogDeclaredRecords: a declared record has the name of its declaration and no message.
func TestSlogDeclaredRecords(t *testing.T) {
	r := newRig(t)
	now := ids{[16]byte{1}, [8]byte{2}}
	declared := sloghandler.Declare[declaredRequest]("request", nil)
	h := newSlog(t, r, sloghandler.Options{AddSource: true, Declarations: []sloghandler.AnyDeclaration{declared}}, &now)
	slog.New(h).Warn("request", "http.route", "a\nb", "status", "no number", "latency", time.Second, "message", `C:\new`, "more", 1)
	events := r.events()
	ev := events[0]
	assert.Equal(t, record.KindLog, ev.Kind)
	assert.Equal(t, record.SeverityWarn, ev.Severity)
	assert.Empty(t, ev.Message)
	assert.Equal(t, now, ids{ev.TraceID, ev.SpanID})
	assert.False(t, ev.Duplicate)
	function, _ := ev.Lookup("code.function.name")
	assert.Contains(t, function.Text(), "TestSlogDeclaredRecords")
	file, _ := ev.Lookup("code.file.path")
	assert.Contains(t, file.Text(), "log_test.go")
	line, _ := ev.Lookup("code.line.number")
	assert.Positive(t, line.Int64())
	status, _ := ev.Lookup("status_2") // the field is 0
	assert.Equal(t, record.StringValue("no number"), status, "the attribute that the field cannot hold")
	for name, want := range map[string]record.Value{
		"latency_ns": record.Int64Value(1e9), "message": record.StringValue(`C:\new`), "more": record.Int64Value(1),
	} {
		got, ok := ev.Lookup(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	assert.Equal(t, "myapp_request", ev.EventName)
	require.Len(t, events, 2)
	assert.Equal(t, "myapp_warn", events[1].Name)
	assert.Empty(t, events[1].EventName)
	assert.Equal(t, "request", events[1].Message)
	assert.True(t, events[1].Duplicate)
}
