package record_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// wide is a text in UTF-16.
type wide struct {
	name    string
	content []byte
}

// schema builds events in the Common Schema in the forms of other languages' producers.
type schema struct {
	eventheader.Encoder
	wide  bool // texts are UTF-16
	texts []wide
	level eventheader.Level
}

func (s *schema) begin(name string, level eventheader.Level, version eventheader.Type, n uint64) {
	s.Begin(nil, &eventheader.Header{Name: name, Level: min(level, eventheader.LevelVerbose)}, 1<<16)
	s.level = level
	s.Value("__csver__", version, n)
}

func (s *schema) text(name, v string) {
	if s.wide {
		escaped, _ := text.Append(nil, v, len(v)*4)
		content := wideText(2, string(escaped))
		s.Bytes(name, content)
		s.texts = append(s.texts, wide{name, content})
	} else {
		s.String(name, v)
	}
}

// end returns the event. It replaces each ~, or § in UTF-16, by a backslash, which the encoder would have escaped.
func (s *schema) end(t testing.TB) []byte {
	t.Helper()
	b, err := s.End()
	require.NoError(t, err)
	b[7] = byte(s.level) // an encoder takes no level above verbose
	for _, w := range s.texts {
		widen(b, w.name, 2, w.content)
	}
	s.texts = nil
	if s.wide {
		return bytes.ReplaceAll(b, []byte{0xA7, 0}, []byte{'\\', 0})
	}
	return bytes.ReplaceAll(b, []byte("~"), []byte{'\\'})
}

// Types of numbers in events of other producers.
const (
	value8          eventheader.Type = 2
	value16Unsigned eventheader.Type = eventheader.Type(eventheader.FormatUnsigned)<<8 | 3
	value16Hex      eventheader.Type = eventheader.Type(eventheader.FormatHex)<<8 | 3
	value16Port     eventheader.Type = eventheader.Type(eventheader.FormatPort)<<8 | 3
	value32Unsigned                  = eventheader.TypeUnsigned32
	value32Signed   eventheader.Type = eventheader.Type(eventheader.FormatSigned)<<8 | 4
	value32Errno    eventheader.Type = eventheader.Type(eventheader.FormatErrno)<<8 | 4
	value32PID      eventheader.Type = eventheader.Type(eventheader.FormatPID)<<8 | 4
	value32Bool     eventheader.Type = eventheader.Type(eventheader.FormatBool)<<8 | 4
	value32Float    eventheader.Type = eventheader.Type(eventheader.FormatFloat)<<8 | 4
	value64Hex      eventheader.Type = eventheader.Type(eventheader.FormatHex)<<8 | 5
	value64Time     eventheader.Type = eventheader.Type(eventheader.FormatTime)<<8 | 5
)

const (
	schemaTrace = "0af7651916cd43dd8448eb211c80319c"
	schemaSpan  = "00f067aa0ba902b7"
)

// schemaLogs are log records in the forms of other languages' exporters.
var schemaLogs = []struct {
	name       string
	tracepoint string
	build      func(s *schema)
	want       record.Record // kind, severities, texts
	partA      bool          // it has part A
	fields     string
	resource   string
}{
	{
		name: "Rust", tracepoint: "rust_L2K1",
		build: func(s *schema) {
			s.begin("Log", eventheader.LevelError, value32Unsigned, 0x400)
			s.BeginStruct("PartA")
			s.text("time", "2024-01-01T12:34:56.789Z")
			s.text("ext_dt_traceId", schemaTrace)
			s.text("ext_dt_spanId", schemaSpan)
			s.text("ext_cloud_role", "shop")
			s.text("ext_cloud_roleInstance", "shop-1")
			s.EndStruct()
			s.BeginStruct("PartC")
			s.Int64("count", 42)
			s.Bool("ok", true)
			s.text("path", "C:~new")
			s.EndStruct()
			s.BeginStruct("PartB")
			s.text("_typeName", "Log")
			s.text("body", "C:~temp")
			s.Value("severityNumber", eventheader.TypeInt16, 17)
			s.text("severityText", "ERROR")
			s.Int64("eventId", 7)
			s.text("name", "my.event")
			s.EndStruct()
		},
		want:  record.Record{Severity: record.SeverityError, SeverityText: "ERROR", Message: `C:\temp`, EventName: "my.event"},
		partA: true, fields: `{"count":42,"ok":true,"path":"C:\\new","event_id":7}`, resource: `{"service.instance.id":"shop-1"}`,
	},
	{
		name: "Rust before 0.13, with a body that is a number", tracepoint: "rust_L4K1Gabc",
		build: func(s *schema) {
			s.begin("any name", eventheader.LevelInfo, value32Unsigned, 0x401)
			s.BeginStruct("PartA")
			s.text("time", "2024-01-01T12:34:56.789+00:00")
			s.BeginStruct("ext_dt")
			s.text("traceId", schemaTrace)
			s.text("spanId", schemaSpan)
			s.EndStruct()
			s.BeginStruct("ext_cloud")
			s.text("role", "shop")
			s.text("roleInstance", "shop-1")
			s.EndStruct()
			s.EndStruct()
			s.BeginStruct("PartB")
			s.text("_typeName", "Log")
			s.Float64("body", 0.5)
			s.Value("severityNumber", eventheader.TypeInt16, 9)
			s.EndStruct()
		},
		want:  record.Record{Severity: record.SeverityInfo, Message: "0.5", EventName: "any name"},
		partA: true, fields: `{}`, resource: `{"service.instance.id":"shop-1"}`,
	},
	{
		name: "C++, whose trace level is 6", tracepoint: "cpp_L6K1",
		build: func(s *schema) {
			s.begin("Logs", eventheader.LevelVerbose+1, value16Unsigned, 0x400)
			s.BeginStruct("PartB")
			s.text("_typeName", "Log")
			s.Value("severityNumber", value16Unsigned, 1)
			s.text("severityText", "TRACE")
			s.text("body", "C:~new")
			s.EndStruct()
			s.BeginStruct("PartC")
			s.Ints("list", []int64{1, -2})
			s.EndStruct()
		},
		want:   record.Record{Severity: record.SeverityTrace, SeverityText: "TRACE", Message: `C:\new`},
		fields: `{"list":[1,-2]}`, resource: `{}`,
	},
	{
		name: ".NET", tracepoint: "MicrosoftOpenTelemetryLogs_L4K1",
		build: func(s *schema) {
			s.wide = true
			s.begin("MyTable", eventheader.LevelInfo, value16Hex, 1024)
			s.BeginStruct("PartA")
			s.text("time", "2024-01-01T12:34:56.7890000Z")
			s.text("ext_cloud_role", "shop")
			s.text("ext_cloud_roleInstance", "shop-1")
			s.text("ext_app_id", "a")
			s.text("ext_dt_traceId", schemaTrace)
			s.text("ext_dt_spanId", schemaSpan)
			s.text("ext_ex_type", "System.Exception")
			s.text("ext_ex_msg", "wrong")
			s.text("ext_ex_stack", "at Main()")
			s.EndStruct()
			s.BeginStruct("PartB")
			s.text("_typeName", "Log")
			s.text("severityText", "Warning")
			s.Value("severityNumber", value8, 13)
			s.Value("eventId", value32Signed, 3)
			s.text("name", "My.Category")
			s.text("body", "C:§new {x}")
			s.EndStruct()
			s.BeginStruct("PartC")
			s.text("x", "y")
			s.String("env_properties", `{"a": 1, "b": "c"}`)
			s.EndStruct()
		},
		want:   record.Record{Severity: record.SeverityWarn, SeverityText: "Warning", Message: `C:\new {x}`, EventName: "My.Category"},
		partA:  true,
		fields: `{"exception.type":"System.Exception","exception.message":"wrong","exception.stacktrace":"at Main()","event_id":3,"x":"y","a":1,"b":"c"}`, resource: `{"service.instance.id":"shop-1","ext_app_id":"a"}`,
	},
	{
		name: "Rust's tracing, without a severity", tracepoint: "tracing_L3K1f",
		build: func(s *schema) {
			s.begin("my event", eventheader.LevelWarning, value32Signed, 0x401)
			s.BeginStruct("PartA")
			s.text("time", "2024-01-01T12:34:56.789Z")
			s.BeginStruct("ext_dt")
			s.text("traceId", schemaTrace)
			s.text("spanId", schemaSpan)
			s.text("parent", "x")
			s.EndStruct()
			s.text("ext_cloud_role", "shop")
			s.EndStruct()
			s.BeginStruct("PartB")
			s.text("_typeName", "Log")
			s.text("name", "my event")
			s.EndStruct()
			s.BeginStruct("PartC")
			s.text("message", "~n")
			s.EndStruct()
		},
		want:  record.Record{Severity: record.SeverityWarn, EventName: "my event"},
		partA: true, fields: `{"message":"\\n"}`, resource: `{"ext_dt_parent":"x"}`,
	},
}

// TestCommonSchemaLogs: log records of all producers are decoded by the names of their fields.
func TestCommonSchemaLogs(t *testing.T) {
	for _, tt := range schemaLogs {
		t.Run(tt.name, func(t *testing.T) {
			var s schema
			tt.build(&s)
			rec := decodeHeader(t, tt.tracepoint, s.end(t))
			assert.Equal(t, record.KindLog, rec.Kind)
			assert.Equal(t, tt.want.Severity, rec.Severity)
			assert.Equal(t, tt.want.SeverityText, rec.SeverityText)
			assert.Equal(t, tt.want.Message, rec.Message)
			assert.Equal(t, tt.want.EventName, rec.EventName)
			assert.Equal(t, tt.fields, string(record.AppendJSON(nil, rec.Fields())))
			assert.Equal(t, tt.resource, string(record.AppendJSON(nil, rec.Resource)))
			if tt.partA {
				assert.Equal(t, time.Date(2024, 1, 1, 12, 34, 56, 789e6, time.UTC), rec.Timestamp)
				assert.Equal(t, unhex(t, schemaTrace), rec.TraceID[:])
				assert.Equal(t, unhex(t, schemaSpan), rec.SpanID[:])
				assert.Equal(t, "shop", rec.ServiceName)
			} else {
				assert.Zero(t, rec.Timestamp)
			}
		})
	}
}

// TestCommonSchemaSpanOfRust: a span of the exporter for Rust has unescaped texts, though its fields are those of this
// module.
func TestCommonSchemaSpanOfRust(t *testing.T) {
	var s schema
	s.begin("Span", eventheader.LevelInfo, value32Unsigned, 0x400)
	s.BeginStruct("PartA")
	s.text("time", "2024-01-01T12:34:57Z")
	s.text("ext_dt_traceId", schemaTrace)
	s.text("ext_dt_spanId", schemaSpan)
	s.EndStruct()
	s.BeginStruct("PartB")
	s.text("_typeName", "Span")
	s.text("name", "C:~new")
	s.text("startTime", "2024-01-01T12:34:56.5Z")
	s.Bool("success", false)
	s.Value("kind", value32Unsigned, 4)
	s.text("parentId", "0102030405060708")
	s.text("links", `[{"toTraceId":"`+schemaTrace+`","toSpanId":"`+schemaSpan+`"}]`)
	s.text("httpMethod", "GET")
	s.text("statusMessage", "~t")
	s.EndStruct()
	s.BeginStruct("PartC")
	s.text("a", "~n")
	s.EndStruct()
	rec := decodeHeader(t, "rust_L4K1", s.end(t))
	assert.Equal(t, record.KindSpan, rec.Kind)
	assert.Equal(t, `C:\new`, rec.Message)
	assert.Equal(t, time.Date(2024, 1, 1, 12, 34, 56, 5e8, time.UTC), rec.Timestamp)
	assert.Equal(t, 500*time.Millisecond, rec.Duration)
	assert.Equal(t, record.StatusError, rec.Status)
	assert.Equal(t, `\t`, rec.StatusMessage)
	assert.Equal(t, record.SpanKindConsumer, rec.SpanKind)
	assert.Equal(t, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, rec.ParentSpanID)
	assert.Equal(t, `{"http.request.method":"GET","a":"\\n"}`, string(record.AppendJSON(nil, rec.Fields())))
	require.Len(t, rec.NestedLinks, 1)
	assert.Equal(t, unhex(t, schemaTrace), rec.NestedLinks[0].TraceID[:])
	assert.Equal(t, unhex(t, schemaSpan), rec.NestedLinks[0].SpanID[:])
	assert.Equal(t, uint32(1), rec.LinkCount)
}

// TestCommonSchemaNonsense: fields with invalid values are kept, and an event that is neither a log record nor a span
// is of KindOther.
func TestCommonSchemaNonsense(t *testing.T) {
	var s schema
	s.begin("Log", eventheader.LevelInfo, value32Unsigned, 0x400)
	s.BeginStruct("PartA")
	s.text("time", "yesterday")
	s.text("ext_dt_traceId", "12")
	s.Int64("ext_dt_spanId", 1)
	s.EndStruct()
	s.BeginStruct("PartB")
	s.text("_typeName", "Log")
	s.Int64("severityNumber", 25)
	s.Int64("severityText", 1)
	s.EndStruct()
	s.Int64("PartC", 1)
	s.Int64("more", 2)
	rec := decodeHeader(t, "app_L4K1", s.end(t))
	assert.Equal(t, record.KindLog, rec.Kind)
	assert.Zero(t, rec.Timestamp)
	assert.Zero(t, rec.TraceID)
	assert.Equal(t, record.SeverityInfo, rec.Severity, "that of the level")
	assert.Equal(t, `{"severityNumber":25,"severityText":1,"PartC":1,"more":2}`, string(record.AppendJSON(nil, rec.Fields())))
	assert.Equal(t, `{"time":"yesterday","ext_dt_traceId":"12","ext_dt_spanId":1}`, string(record.AppendJSON(nil, rec.Resource)))

	s.begin("Metric", eventheader.LevelInfo, value32Unsigned, 0x400)
	s.BeginStruct("PartB")
	s.text("_typeName", "Metric")
	s.EndStruct()
	rec = decodeHeader(t, "app_L4K1", s.end(t))
	assert.Equal(t, record.KindOther, rec.Kind)
	assert.Equal(t, "Metric", rec.EventName)
	assert.Equal(t, `{"__csver__":1024,"PartB":{"_typeName":"Metric"}}`, string(record.AppendJSON(nil, rec.Fields())))
}

// TestOverflow: attributes beyond the limit of a struct's fields are decoded like the others.
func TestOverflow(t *testing.T) {
	var s schema
	s.begin("Log", eventheader.LevelInfo, value32Unsigned, 0x400)
	s.BeginStruct("PartB")
	s.text("_typeName", "Log")
	s.EndStruct()
	s.BeginStruct("PartC")
	for i := range 300 {
		s.Int64("key"+strconv.Itoa(i), int64(i))
	}
	s.EndStruct()
	b, err := s.End()
	require.NoError(t, err)
	rec := decodeHeader(t, "app_L4K1", b)
	require.Zero(t, s.Lost())
	require.Len(t, rec.Fields(), 300)
	for i, f := range rec.Fields() {
		assert.Equal(t, int64(i), f.Value.Int64())
	}
}

// TestLinksWithoutDetails: links that only part B has keep their position among those that part C describes.
func TestLinksWithoutDetails(t *testing.T) {
	id := func(i int) string { return strings.Repeat("0"+strconv.Itoa(i), 8) }
	var s schema
	s.begin("Span", eventheader.LevelInfo, value32Unsigned, 0x400)
	s.BeginStruct("PartB")
	s.text("_typeName", "Span")
	links := make([]string, 5)
	for i := range links {
		links[i] = `{"toTraceId":"` + id(i+1) + id(i+1) + `","toSpanId":"` + id(i+1) + `"}`
	}
	s.text("links", "["+strings.Join(links, ",")+"]")
	s.EndStruct()
	s.BeginStruct("PartC")
	for _, i := range []int{2, 4, 2, 6} { // the third is not behind the second in the list, and the last is not in it
		s.BeginStruct("user_events.link")
		s.text("toTraceId", id(i)+id(i))
		s.text("toSpanId", id(i))
		s.Int64("traceFlags", int64(i))
		s.EndStruct()
	}
	s.Int64("user_events.links_count", 9)
	s.EndStruct()
	rec := decodeHeader(t, "app_L4K4", s.end(t))
	var got []byte
	for _, l := range rec.NestedLinks {
		assert.Equal(t, l.SpanID[:], l.TraceID[:8])
		got = append(got, l.SpanID[0], l.TraceFlags)
	}
	assert.Equal(t, []byte{1, 0, 2, 2, 3, 0, 4, 4, 5, 0, 2, 2, 6, 6}, got)
	assert.Equal(t, uint32(9), rec.LinkCount)
	assert.Zero(t, rec.EventCount)
	assert.Empty(t, rec.Fields())
	assert.Zero(t, rec.Duration)
}

// TestManyEventsOfSpans: all events of a span are decoded, for any number.
func TestManyEventsOfSpans(t *testing.T) {
	var s schema
	s.begin("Span", eventheader.LevelInfo, value32Unsigned, 0x400)
	s.BeginStruct("PartB")
	s.text("_typeName", "Span")
	s.EndStruct()
	s.BeginStruct("PartC")
	for i := range 300 {
		s.BeginStruct("user_events.event")
		s.text("name", strconv.Itoa(i))
		s.text("time", "2024-01-01T12:34:56.000000001Z")
		s.BeginStruct("attributes")
		s.Int64("a", 1)
		s.Int64("a", int64(i))
		s.EndStruct()
		s.EndStruct()
	}
	s.EndStruct()
	b, err := s.End()
	require.NoError(t, err)
	require.Zero(t, s.Lost())
	rec := decodeHeader(t, "app_L4K4", b)
	require.Equal(t, 300, len(rec.NestedEvents))
	assert.Equal(t, uint32(300), rec.EventCount)
	for i, e := range rec.NestedEvents {
		assert.Equal(t, strconv.Itoa(i), e.Name)
		assert.Equal(t, time.Date(2024, 1, 1, 12, 34, 56, 1, time.UTC), e.Time)
		recordtest.AssertFields(t, []record.Field{{Name: "a", Value: record.Int64Value(int64(i))}}, e.Attributes)
	}
	assert.Empty(t, rec.Fields())
}

// TestPlainTexts: escapes, JSON and the Common Schema are not interpreted.
func TestPlainTexts(t *testing.T) {
	var s schema
	s.begin("Log", eventheader.LevelError, value32Unsigned, 0x400)
	s.BeginStruct("PartB")
	s.text("_typeName", "Log")
	s.text("body", "a~nb")
	s.EndStruct()
	s.JSON("json", `{"a":1}`)
	format := tracepoint.MustParse("x" + headerFields).Format()
	format.Name = "myapp_L2K1"
	d, err := record.NewDecoder("user_events", format)
	require.NoError(t, err)
	payload := rawOf(s.end(t))
	var rec record.Record
	require.NoError(t, d.Decode(payload, &rec))
	assert.Equal(t, "a\nb", rec.Message, "a record of this module")
	require.NoError(t, d.Plain().Decode(payload, &rec))
	assert.Equal(t, record.SeverityError, rec.Severity)
	assert.Equal(t, "Log", rec.EventName)
	assert.Equal(t, `{"__csver__":1024,"PartB":{"_typeName":"Log","body":"a\\nb"},"json":"{\"a\":1}"}`, string(record.AppendJSON(nil, rec.Fields())))
}
