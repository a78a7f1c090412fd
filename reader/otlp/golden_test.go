package otlp

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

// convert decodes and converts records, as a Reader returns them.
func convert(t *testing.T, samples []recordtest.Sample, o *Options) *Converter {
	t.Helper()
	c := NewConverter(o)
	var ev record.Record
	for i, s := range samples {
		d := s.Decoder
		if o != nil && o.Raw {
			d = d.Plain()
		}
		err := d.DecodeReuse(s.Raw, &ev)
		ev.Undecodable = err != nil
		ev.Time, ev.Monotonic, ev.PID, ev.TID, ev.Process, ev.Raw = written.Add(time.Duration(i)), uint64(i+1), 812, 815, myapp, s.Raw
		add(t, c, &ev)
	}
	c.Flush()
	return c
}

// TestGolden: each kind of event has the OpenTelemetry data of its golden files, for both mappings. To write them again:
//
//	go test -run TestGolden ./reader/otlp -update
func TestGolden(t *testing.T) {
	names := map[string]bool{}
	for name, samples := range goldenSamples(t) {
		for mapping, o := range map[string]*Options{"auto": nil, "raw": {Raw: true}} {
			file := filepath.Join("testdata", name+"."+mapping+".json")
			names[file] = true
			t.Run(name+"/"+mapping, func(t *testing.T) {
				got := goldenText(t, convert(t, samples, o))
				if *update {
					require.NoError(t, os.WriteFile(file, got, 0o600))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Equal(t, string(want), string(got))
			})
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, names[file], "%s has no test", file)
	}
}

// goldenText returns all data as JSON, one value in a line.
func goldenText(t *testing.T, c *Converter) []byte {
	t.Helper()
	logs, traces, metrics := takeJSON(t, c)
	all := map[string]json.RawMessage{}
	for signal, text := range map[string]string{"logs": logs, "metrics": metrics, "traces": traces} {
		if text != "{}" {
			all[signal] = json.RawMessage(text)
		}
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, text, "", " "))
	return append(b.Bytes(), '\n')
}

// goldenSamples returns the records of all kinds of events.
func goldenSamples(t testing.TB) map[string][]recordtest.Sample {
	t.Helper()
	all := map[string][]recordtest.Sample{"otlp_metrics": otlpMetrics(t), "eventheader": foreignHeaders(t)}
	for name, run := range map[string]recordtest.Program{
		"slog":              slogProgram,
		"log":               logProgram(nil),
		"log_commonschema":  logProgram(ueventslog.WithCommonSchema4()),
		"span":              spanProgram(nil),
		"span_commonschema": spanProgram(ueventstrace.WithCommonSchema4()),
		"span_start":        spanStartProgram,
		"metric":            metricProgram,
		"structevent":       structProgram,
	} {
		all[name] = recordtest.Samples(t, run)
	}
	orphans := recordtest.Samples(t, spanProgram(nil))
	all["span_orphans"] = orphans[:len(orphans)-1] // without the span
	broken := recordtest.Samples(t, structProgram)[0]
	all["undecodable"] = []recordtest.Sample{{Event: broken.Event, Decoder: broken.Decoder, Raw: broken.Raw[:len(broken.Raw)-12]}}
	return all
}

var (
	shop       = sdkresource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("host.name", "node1"), attribute.Int("replica", 3))
	sampled    = trace.NewSpanContext(trace.SpanContextConfig{TraceID: testTrace, SpanID: testSpan, TraceFlags: trace.FlagsSampled})
	attributes = []attribute.KeyValue{
		attribute.String("text", "a \"b\"\n\\c\x1b é\xff"), attribute.Bool("ok", true), attribute.Int64("min", math.MinInt64), attribute.Float64("half", 0.5),
		attribute.Float64("whole", 3), attribute.StringSlice("texts", []string{"a", "b,c"}), attribute.Int64Slice("ints", []int64{1, math.MaxInt64}),
		attribute.BoolSlice("bools", []bool{true, false}), attribute.ByteSlice("bytes", []byte{0, 255}),
		attribute.Map("map", attribute.Int("b", 1), attribute.Map("c", attribute.String("d", "e"))),
		attribute.Slice("mixed", attribute.StringValue("x"), attribute.IntValue(1), attribute.Value{}),
	}
)

type declaredRequest struct {
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency"`
	Cached  bool          `uevent:"cached"`
}

func slogProgram(t testing.TB, p *uevents.Provider) func() {
	h, err := sloghandler.New("myapp", &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[declaredRequest]("request", nil)},
		TraceContext: func(context.Context) ([16]byte, [8]byte) { return testTrace, testSpan },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return func() {
		all := slog.NewRecord(happened, slog.LevelWarn+1, "cache \"miss\"\n", 0)
		all.Add("n", 1, "key", "user:41\t", "big", uint64(math.MaxUint64), "half", 0.5, "hit", false, "took", 1500*time.Microsecond, "at", happened,
			slog.Group("g", "n", 3, slog.Group("h", "m", "x")), "err", errors.New("boom"), "bytes", []byte{1, 2}, "list", []any{1, "b", nil}, "n", 2)
		declared := slog.NewRecord(happened, slog.LevelInfo, "request", 0)
		declared.Add("route", "/users/{id}", "status", 200, "latency", 1500*time.Microsecond, "cached", true, "other", "x")
		for _, r := range []slog.Record{
			all, declared, slog.NewRecord(happened, -20, "lowest", 0), slog.NewRecord(happened, slog.LevelError, "", 0),
			slog.NewRecord(time.Time{}, 40, "highest, without a time", 0),
		} {
			require.NoError(t, h.Handle(context.Background(), r))
		}
	}
}

func logProgram(encoding ueventslog.Option) recordtest.Program {
	return func(t testing.TB, p *uevents.Provider) func() {
		provider, err := ueventslog.NewLoggerProvider("myapp", ueventslog.WithProvider(p), encoding,
			ueventslog.WithResource(shop), ueventslog.WithResourceAttributes("host.name", "replica"),
			ueventslog.WithDeclarations(ueventslog.Declare[struct {
				Route  string `uevent:"http.route"`
				Status uint16 `uevent:"http.response.status_code"`
				OK     bool   `uevent:"ok"`
			}]("http.request", nil)))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
		logger := provider.Logger("my/package", log.WithInstrumentationVersion("1.2"), log.WithSchemaURL("https://example/1"),
			log.WithInstrumentationAttributes(attribute.Bool("s", true)))
		return func() {
			ctx := trace.ContextWithSpanContext(context.Background(), sampled)
			var r log.Record
			r.SetTimestamp(happened)
			r.SetObservedTimestamp(happened.Add(time.Second))
			r.SetSeverity(log.SeverityWarn2)
			r.SetSeverityText("WARNING")
			r.SetEventName("cache.miss")
			r.SetBody(attribute.StringValue("cache \"miss\"\n"))
			r.AddAttributes(attributes...)
			r.AddAttributes(attribute.Int("twice", 1), attribute.Int("twice", 2))
			logger.Emit(ctx, r)

			var declared log.Record
			declared.SetTimestamp(happened)
			declared.SetObservedTimestamp(happened)
			declared.SetSeverity(log.SeverityInfo)
			declared.SetEventName("http.request")
			declared.AddAttributes(attribute.String("http.route", "/"), attribute.Int("http.response.status_code", 200), attribute.Bool("ok", true), attribute.Int("n", 1))
			logger.Emit(ctx, declared)

			for _, body := range []attribute.Value{
				attribute.MapValue(attribute.Int("n", 1)), attribute.Float64Value(0.5), attribute.IntValue(3), attribute.SliceValue(attribute.BoolValue(true)), {},
			} {
				var r log.Record
				r.SetObservedTimestamp(happened)
				r.SetBody(body)
				provider.Logger("").Emit(context.Background(), r)
			}
		}
	}
}

// testSpanStub returns a span with everything that a span can have.
func testSpanStub(t testing.TB) tracetest.SpanStub {
	t.Helper()
	state, err := trace.ParseTraceState("a=b,c=d")
	require.NoError(t, err)
	linked := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{3}, SpanID: trace.SpanID{4}, TraceFlags: trace.FlagsSampled, TraceState: state})
	return tracetest.SpanStub{
		Name: "GET /", SpanContext: sampled.WithTraceState(state), SpanKind: trace.SpanKindServer, StartTime: happened, EndTime: happened.Add(1500 * time.Millisecond),
		Parent: trace.NewSpanContext(trace.SpanContextConfig{TraceID: testTrace, SpanID: trace.SpanID{1}, Remote: true}),
		Status: sdktrace.Status{Code: codes.Error, Description: "boom\n"}, Attributes: attributes,
		Events: []sdktrace.Event{
			{Name: "retry", Time: happened.Add(time.Second), Attributes: []attribute.KeyValue{attribute.Bool("last", true)}, DroppedAttributeCount: 1},
			{Name: "exception", Time: happened.Add(2 * time.Second), Attributes: []attribute.KeyValue{attribute.String("exception.type", "E")}},
		},
		Links: []sdktrace.Link{
			{SpanContext: linked, Attributes: []attribute.KeyValue{attribute.String("why", "batch")}, DroppedAttributeCount: 2},
			{SpanContext: linked.WithTraceState(trace.TraceState{}).WithTraceFlags(0)},
		},
		DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3, Resource: shop,
		InstrumentationScope: instrumentation.Scope{Name: "my/package", Version: "1.2", SchemaURL: "https://example/1", Attributes: attribute.NewSet(attribute.Bool("s", true))},
	}
}

func spanProgram(encoding ueventstrace.Option) recordtest.Program {
	return func(t testing.TB, p *uevents.Provider) func() {
		x, err := ueventstrace.NewExporter("myapp", ueventstrace.WithProvider(p), encoding, ueventstrace.WithResourceAttributes("host.name", "replica"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
		return func() {
			require.NoError(t, x.ExportSpans(context.Background(), tracetest.SpanStubs{testSpanStub(t)}.Snapshots()))
		}
	}
}

// fixedIDs makes the ids of a span.
type fixedIDs struct{}

func (fixedIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID)  { return testTrace, testSpan }
func (fixedIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return testSpan }
func spanStartProgram(t testing.TB, p *uevents.Provider) (write func()) {
	x, err := ueventstrace.NewProcessor("myapp", ueventstrace.WithProvider(p))
	require.NoError(t, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(fixedIDs{}), sdktrace.WithSpanProcessor(x), sdktrace.WithResource(shop))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return func() {
		ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: testTrace, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true}))
		provider.Tracer("my/package").Start(ctx, "GET /", trace.WithTimestamp(happened), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.Int("n", 1)))
	}
}

// testMetrics returns a data point of each type, with an exemplar.
func testMetrics() *metricdata.ResourceMetrics {
	set, start := attribute.NewSet(attribute.String("route", "/"), attribute.Int("status", 200)), happened.Add(-time.Minute)
	exemplar := func(v float64) []metricdata.Exemplar[float64] {
		return []metricdata.Exemplar[float64]{{FilteredAttributes: []attribute.KeyValue{attribute.String("user", "u")}, Time: happened, Value: v, TraceID: testTrace[:], SpanID: testSpan[:]}}
	}
	sum := func(v int64) []metricdata.DataPoint[int64] {
		return []metricdata.DataPoint[int64]{{Attributes: set, StartTime: start, Time: happened, Value: v}}
	}
	return &metricdata.ResourceMetrics{Resource: shop, ScopeMetrics: []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: "my/package", Version: "1.2", SchemaURL: "https://example/1", Attributes: attribute.NewSet(attribute.Bool("s", true))},
		Metrics: []metricdata.Metrics{
			{Name: "requests", Unit: "{request}", Description: "All of them.", Data: metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: sum(7)}},
			{Name: "requests", Unit: "{request}", Data: metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, IsMonotonic: true, DataPoints: sum(1<<53 + 1)}},
			{Name: "open", Data: metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, DataPoints: sum(-7)}},
			{Name: "load", Unit: "1", Data: metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{{Attributes: set, Time: happened, Value: 0.1, Exemplars: exemplar(0.2)}}}},
			{Name: "latency", Unit: "s", Data: metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{{
				Attributes: set, StartTime: start, Time: happened, Count: 3, Sum: 1.5, Min: metricdata.NewExtrema(0.1), Max: metricdata.NewExtrema(1.1),
				Bounds: []float64{0.5, 1}, BucketCounts: []uint64{2, 0, 1}, Exemplars: exemplar(1.1),
			}}}},
			{Name: "size", Unit: "By", Data: metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{
				Attributes: set, StartTime: start, Time: happened, Count: 6, Sum: 1.5, Scale: -2, ZeroCount: 1, ZeroThreshold: 0.25,
				PositiveBucket: metricdata.ExponentialBucket{Offset: -3, Counts: []uint64{1, 0, 2}}, NegativeBucket: metricdata.ExponentialBucket{Offset: 1, Counts: []uint64{2}},
			}}}},
			{Name: "old", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
				Attributes: set, StartTime: start, Time: happened, Count: 2, Sum: 3, QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: 1}, {Quantile: 0.99, Value: 2}},
			}}}},
		},
	}}}
}

func metricProgram(t testing.TB, p *uevents.Provider) func() {
	x, err := ueventsmetric.NewExporter("myapp", ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Shutdown(context.Background())) })
	return func() { require.NoError(t, x.Export(context.Background(), testMetrics())) }
}

// otlpMetrics returns a record of the tracepoint otlp_metrics.
func otlpMetrics(t testing.TB) []recordtest.Sample {
	t.Helper()
	sent := pmetric.NewMetrics()
	r := sent.ResourceMetrics().AppendEmpty()
	r.Resource().Attributes().PutStr("service.name", "shop")
	r.Resource().Attributes().PutInt("process.pid", 1)
	r.SetSchemaUrl("https://example/1")
	m := r.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("requests")
	m.SetDescription("All of them.")
	m.SetEmptySum().SetIsMonotonic(true)
	m.Sum().DataPoints().AppendEmpty().SetIntValue(3)
	request, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(sent)
	require.NoError(t, err)
	payload := append([]byte{0, 0, 0, 0}, "v0.19.00"...)
	payload = binary.LittleEndian.AppendUint32(payload, uint32(len(request))<<16) // right behind
	format := tracepoint.MustParse("otlp_metrics u32 protocol; char[8] version; __rel_loc u8[] buffer").Format()
	return []recordtest.Sample{recordtest.NewSample(t, "user_events", format, append(payload, request...))}
}

type everyField struct {
	Text   string   `uevent:"text"`
	Small  int8     `uevent:"small"`
	Large  uint64   `uevent:"large"`
	Bytes  [3]byte  `uevent:"bytes"`
	Counts [2]int32 `uevent:"counts"`
}

// structProgram writes an event of plain fields, as a program in C does.
func structProgram(t testing.TB, p *uevents.Provider) func() {
	e, err := structevent.Define[everyField](p, "disk_io", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return func() {
		e.Emit(&everyField{"read\terror", -3, math.MaxUint64, [3]byte{1, 2, 255}, [2]int32{-1, 2}})
	}
}

// Types of numbers that only other producers write.
const (
	value64      eventheader.Type = 5
	value32Errno eventheader.Type = eventheader.Type(eventheader.FormatErrno)<<8 | 4
	value64Time  eventheader.Type = eventheader.Type(eventheader.FormatTime)<<8 | 5
)

const headerFields = " u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level"

// foreignHeaders returns EventHeader events of each level, and with each kind of value.
func foreignHeaders(t testing.TB) (list []recordtest.Sample) {
	t.Helper()
	header := func(name string, h eventheader.Header, activity []byte, fields func(e *eventheader.Encoder)) {
		var e eventheader.Encoder
		e.Begin(nil, &h, 0)
		fields(&e)
		payload, err := e.End()
		require.NoError(t, err)
		if len(activity) > 0 { // an extension of the header, before the others
			size := binary.NativeEndian.AppendUint16(nil, uint16(len(activity)))
			const kind = 0x8002
			payload = slices.Insert(payload, 8, append(binary.NativeEndian.AppendUint16(size, kind), activity...)...)
		}
		list = append(list, recordtest.NewSample(t, "user_events", tracepoint.MustParse(name+headerFields).Format(), payload))
	}
	for level := eventheader.LevelCritical; level <= eventheader.LevelVerbose; level++ {
		header("Prov_L"+string('0'+byte(level))+"K1", eventheader.Header{Name: "Level", Level: level}, nil, func(*eventheader.Encoder) {})
	}
	values := eventheader.Header{Name: "Values;attribute=x", Level: eventheader.LevelInfo, ID: 7, Version: 1, Tag: 0xf00, Opcode: eventheader.Opcode(1)}
	activity := make([]byte, 32)
	activity[0], activity[16] = 1, 2
	header("Prov_L4Kff", values, activity, func(e *eventheader.Encoder) {
		e.Value("large", value64, math.MaxUint64)
		e.Bool("ok", true)
		e.Float64("half", 0.5)
		e.String("text", `C:\new`)
		e.Value("errno", value32Errno, 2)
		e.Value("time", value64Time, 1700000000)
		e.Bytes("bytes", []byte{0, 255})
		e.JSON("json", `{"a":[1,2.5,null]}`)
		e.BeginStruct("outer")
		e.Int64("n", -1)
		e.BeginStruct("inner")
		e.Strings("texts", []string{"a", "b"})
		e.EndStruct()
		e.EndStruct()
		e.Null("null")
		e.Int64("twice", 1)
		e.Int64("twice", 2)
	})
	// An array of structs, which other producers write.
	b, err := hex.DecodeString(strings.ReplaceAll("07 00 00 00 00 00 00 04 0e 00 01 00 53 00 65 76 00 c1 02 6e 00 0a 76 00 85 02"+
		"02 00 01 00 78 01 00 00 00 00 00 00 00 01 00 79 02 00 00 00 00 00 00 00", " ", ""))
	require.NoError(t, err)
	return append(list, recordtest.NewSample(t, "user_events", tracepoint.MustParse("Prov_L4K0"+headerFields).Format(), b))
}

// maxRecordSize exceeds the size of the data of any record. OTLP requests with thousands of empty resources, each of which
// gets attributes, have the largest.
const maxRecordSize = 16 << 20

// FuzzAdd converts any payload of the events of all kinds, and of any EventHeader event.
func FuzzAdd(f *testing.F) {
	decoders := map[string]*record.Decoder{}
	for _, samples := range goldenSamples(f) {
		for _, s := range samples {
			decoders[s.Event] = s.Decoder
			for _, raw := range []bool{false, true} {
				f.Add(s.Event, s.Payload(), raw)
			}
		}
	}
	f.Fuzz(func(t *testing.T, name string, payload []byte, raw bool) {
		if len(payload) > math.MaxUint16 {
			return // more than a record can have
		}
		d := decoders[name]
		if d == nil {
			format := tracepoint.MustParse("x" + headerFields).Format()
			format.Name = name
			var err error
			if d, err = record.NewDecoder("user_events", format); err != nil {
				return
			}
		}
		if raw {
			d = d.Plain()
		}
		var ev record.Record
		logged := append(make([]byte, tracepoint.CommonSize), payload...)
		err := d.Decode(logged, &ev)
		ev.Undecodable = err != nil
		ev.Time, ev.Monotonic, ev.PID, ev.TID, ev.Process, ev.Raw = written, 1, 812, 815, myapp, logged

		c := NewConverter(&Options{Raw: raw})
		if err := c.Add(&ev); err != nil {
			require.Equal(t, Stats{Malformed: 1}, c.Stats())
			require.Equal(t, Pending{}, c.Pending())
			return
		}
		c.Flush()
		require.LessOrEqual(t, c.Pending().Bytes, maxRecordSize)
		st := c.Stats()
		require.LessOrEqual(t, st.LogRecords+st.Spans+st.OrphanLinks+st.OrphanExemplars, uint64(1))
		if !isRequest(&ev) {
			assert.Equal(t, uint64(1), st.LogRecords+st.Spans+st.DataPoints+st.OrphanLinks+st.OrphanExemplars, "no event disappears")
		}
		takeJSON(t, c)
	})
}

func isRequest(ev *record.Record) bool {
	return ev.Kind == record.KindMetric && ev.Point.Type == record.PointOTLP
}
