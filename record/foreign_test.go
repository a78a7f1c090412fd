package record_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// rawOf returns a payload in perf's form: after the common fields.
func rawOf(payload []byte) []byte { return append(make([]byte, tracepoint.CommonSize), payload...) }

// everyType has a field of each type that the kernel supports.
var everyType = tracepoint.MustParse("every u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h; u64 i; " +
	"char[4] fixed; __data_loc char[] text; __rel_loc u16[] list; __rel_loc u8[] bytes; struct point p 3; char empty; __data_loc char[] none")

func everyTypePayload(t testing.TB) []byte {
	layout, err := typedfield.NewLayout(everyType)
	require.NoError(t, err)
	at := layout.Offsets()
	buf := layout.Begin(nil)
	buf[at[0]], buf[at[1]] = 255, 0x80
	order := binary.NativeEndian
	order.PutUint16(buf[at[2]:], 0xFFFF)
	order.PutUint16(buf[at[3]:], 0x8000)
	order.PutUint32(buf[at[4]:], 0xFFFFFFFF)
	order.PutUint32(buf[at[5]:], 0x80000000)
	order.PutUint64(buf[at[6]:], 1<<63)
	order.PutUint64(buf[at[7]:], 1<<63)
	order.PutUint64(buf[at[8]:], 1<<63-1)
	copy(buf[at[9]:], "ab\x00c")
	copy(buf[at[13]:], "\x01\x02\x03")
	buf[at[14]] = 'A'
	buf, _ = typedfield.AppendString(buf, 0, at[10], `C:\new`, 100)
	order.PutUint32(buf[at[11]:], 4<<16|uint32(len(buf)-at[11]-4))
	buf = order.AppendUint16(order.AppendUint16(buf, 1), 0xFFFF)
	order.PutUint32(buf[at[12]:], 3<<16|uint32(len(buf)-at[12]-4))
	return append(buf, 7, 0, 9)
}

// TestTypedFieldsOfForeignEvents: an event of another program has all fields of the record, with the same values.
func TestTypedFieldsOfForeignEvents(t *testing.T) {
	raw := rawOf(append(everyTypePayload(t), 0xCC, 0xCC, 0xCC)) // perf pads records
	d, err := record.NewDecoder("user_events", everyType.Format())
	require.NoError(t, err)
	rec := record.Record{Time: time.Unix(5, 0), Monotonic: 5, CPU: 3, PID: 1, TID: 2, CgroupID: 7, Callchain: []uint64{9}}
	for range 2 { // a used event works like a new one
		require.NoError(t, d.DecodeReuse(raw, &rec))
		assert.Equal(t, "user_events", rec.System)
		assert.Equal(t, "every", rec.Name)
		assert.Equal(t, record.KindOther, rec.Kind)
		assert.Equal(t, []record.Field{
			{Name: "a", Value: record.Int64Value(255)},
			{Name: "b", Value: record.Int64Value(-128)},
			{Name: "c", Value: record.Int64Value(0xFFFF)},
			{Name: "d", Value: record.Int64Value(-0x8000)},
			{Name: "e", Value: record.Int64Value(0xFFFFFFFF)},
			{Name: "f", Value: record.Int64Value(-0x80000000)},
			{Name: "g", Value: record.Uint64Value(1 << 63)},
			{Name: "h", Value: record.Int64Value(-1 << 63)},
			{Name: "i", Value: record.Int64Value(1<<63 - 1)},
			{Name: "fixed", Value: record.StringValue("ab")},
			{Name: "text", Value: record.StringValue(`C:\\new`)},
			{Name: "list", Value: record.ListValue([]record.Field{{Value: record.Int64Value(1)}, {Value: record.Int64Value(0xFFFF)}})},
			{Name: "bytes", Value: record.BytesValue([]byte{7, 0, 9})},
			{Name: "p", Value: record.BytesValue([]byte{1, 2, 3})},
			{Name: "empty", Value: record.Int64Value('A')},
			{Name: "none", Value: record.StringValue("")},
		}, rec.Fields())
		assert.Equal(t, []any{time.Unix(5, 0), uint64(5), 3, int32(1), int32(2), uint64(7), []uint64{9}},
			[]any{rec.Time, rec.Monotonic, rec.CPU, rec.PID, rec.TID, rec.CgroupID, rec.Callchain}, "what the kernel says stays")
	}
}

// TestMalformedTypedRecord: a record that ends early is an error, and leaves no data in the event.
func TestMalformedTypedRecord(t *testing.T) {
	raw := rawOf(everyTypePayload(t))
	d, err := record.NewDecoder("user_events", everyType.Format())
	require.NoError(t, err)
	var rec record.Record
	for n := range len(raw) {
		require.NoError(t, d.DecodeReuse(raw, &rec))
		require.ErrorIs(t, d.DecodeReuse(raw[:n], &rec), record.ErrMalformed, "%d bytes", n)
		assert.Equal(t, "every", rec.Name)
		assert.Empty(t, rec.Fields())
	}
}

// TestDecoderOfUnknownType: a format that no kernel writes is refused.
func TestDecoderOfUnknownType(t *testing.T) {
	f := everyType.Format()
	f.Fields[0].Type = tracepoint.Type{}
	_, err := record.NewDecoder("user_events", f)
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	assert.ErrorContains(t, err, "user_events:every")
}

// schedSwitch is the format file of the kernel's sched_switch, from Linux 6.12.
const schedSwitch = `name: sched_switch
ID: 316
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:0;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;

print fmt: "prev_comm=%s"
`

// TestKernelTracepoint: an event of the kernel has its fields, for any names.
func TestKernelTracepoint(t *testing.T) {
	f, err := tracepoint.ParseFormat(schedSwitch)
	require.NoError(t, err)
	raw := make([]byte, 64)
	copy(raw[8:], "bash\x00garbage")
	binary.NativeEndian.PutUint32(raw[24:], 4711)
	binary.NativeEndian.PutUint32(raw[28:], 120)
	binary.NativeEndian.PutUint64(raw[32:], ^uint64(0))
	copy(raw[40:], "sixteen bytes!!!")
	d, err := record.NewDecoder("sched", f)
	require.NoError(t, err)
	var rec record.Record
	require.NoError(t, d.DecodeReuse(raw, &rec))
	assert.Equal(t, "sched", rec.System)
	assert.Equal(t, "sched_switch", rec.Name)
	assert.Equal(t, record.KindOther, rec.Kind)
	assert.JSONEq(t, `{"prev_comm":"bash","prev_pid":4711,"prev_prio":120,"prev_state":-1,"next_comm":"sixteen bytes!!!","next_pid":0,"next_prio":0}`,
		string(record.AppendJSON(nil, rec.Fields())))
	assert.Error(t, d.DecodeReuse(raw[:63], &rec))
}

// TestSystemCall: arguments of system calls are as in C: signed where their type is, and addresses in hexadecimal.
func TestSystemCall(t *testing.T) {
	text, err := os.ReadFile("../tracepoint/testdata/syscall.format")
	require.NoError(t, err)
	f, err := tracepoint.ParseFormat(string(text))
	require.NoError(t, err)
	d, err := record.NewDecoder("syscalls", f)
	require.NoError(t, err)
	raw := make([]byte, 52)
	binary.NativeEndian.PutUint32(raw[8:], 257)
	for i, register := range []uint64{0xffffff9c, 0x7ffd12345678, 0x80000, 0o644} {
		binary.NativeEndian.PutUint64(raw[16+8*i:], register)
	}
	binary.NativeEndian.PutUint32(raw[48:], 12<<16|52)
	raw = append(raw, "/etc/passwd\x00"...)
	for _, d := range []*record.Decoder{d, d.Plain()} {
		for _, decode := range []func([]byte, *record.Record) error{d.Decode, d.DecodeReuse} {
			var rec record.Record
			for range 2 {
				require.NoError(t, decode(raw, &rec))
				assert.Equal(t, `{"__syscall_nr":257,"dfd":-100,"filename":"0x7ffd12345678","flags":524288,"mode":420,"__filename_val":"/etc/passwd"}`,
					string(record.AppendJSON(nil, rec.Fields())))
			}
		}
	}
}

// headerFields are the fields of every EventHeader tracepoint.
const headerFields = " u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level"

func headerDecoder(t testing.TB, name string) *record.Decoder {
	t.Helper()
	d, err := record.NewDecoder("user_events", tracepoint.MustParse(name+headerFields).Format())
	require.NoError(t, err)
	return d
}

// decodeHeader decodes an EventHeader event.
func decodeHeader(t testing.TB, name string, payload []byte) *record.Record {
	t.Helper()
	rec := new(record.Record)
	require.NoError(t, headerDecoder(t, name).DecodeReuse(append(rawOf(payload), 0xCC, 0xCC), rec))
	return rec
}

func unhex(t testing.TB, digits string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
	require.NoError(t, err)
	return b
}

// foreignHeaders are events on which the decoders for C++, Rust and Go agree.
var foreignHeaders = []struct {
	name, tracepoint, payload string
	event                     string
	severity                  record.Severity
	fields                    string
}{
	{
		"struct that declares more than it has, tags, Latin-1 and characters", "TestProviderC_L4K85",
		`07 0b e8 03 34 12 03 04 27 00 01 00 43 53 63 61 6c 61 72 73 33 00 53 74 72 75 63 74 32 30 00 81 94 ef be
		68 69 00 87 8a 12 00 63 68 31 30 00 c2 8a 10 00 68 69 00 03 00 48 6f 77`,
		"CScalars3", record.SeverityInfo, `{"Struct20":{"hi":"hi","ch10":["H","o","w"]}}`,
	},
	{
		"activity ids", "TestProviderC_L5K0",
		`07 00 00 00 00 00 00 05 20 00 02 80 01 02 03 04 05 06 07 08 01 02 03 04 05 06 07 08 01 02 03 04 05 06 07 08 01 02 03 04 05 06 07 08
		0b 00 01 00 54 72 61 6e 73 66 65 72 31 31 00`,
		"Transfer11", record.SeverityDebug, `{}`,
	},
	{
		"each kind of array, null and JSON", "app_L4Kff",
		`07 01 05 00 00 00 01 04 20 00 02 80
		10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f 20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f
		29 00 01 00 52 65 71 00 69 64 73 00 c5 02 72 67 62 00 22 03 00 6e 00 8d 02 74 61 67 73 00 4a 65 6d 70 74 79 00 4a 6a 73 6f 6e 00 8a 0e
		02 00 01 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff 01 02 03 00 00 02 00 01 00 61 02 00 c3 a9 00 00 07 00 7b 22 61 22 3a 31 7d`,
		"Req", record.SeverityInfo, `{"ids":[1,-1],"rgb":[1,2,3],"n":null,"tags":["a","é"],"empty":[],"json":{"a":1}}`,
	},
	{
		"big-endian with 32-bit pointers", "be_L5K0", `04 00 01 02 00 00 00 05 00 05 00 01 45 00 76 00 04 01 02 03 04`,
		"E", record.SeverityDebug, `{"v":16909060}`,
	},
	{
		"array of structs", "app_L4K0",
		`07 00 00 00 00 00 00 04 0e 00 01 00 53 00 65 76 00 c1 02 6e 00 0a 76 00 85 02
		02 00 01 00 78 01 00 00 00 00 00 00 00 01 00 79 02 00 00 00 00 00 00 00`,
		"S", record.SeverityInfo, `{"ev":[{"n":"x","v":1},{"n":"y","v":2}]}`,
	},
	{
		"attributes in names, a level for traces", "app_L6K0", `07 00 00 00 00 00 00 06 11 00 01 00 45 3b 61 3d 31 00 66 3b 62 3d 32 00 0a 68 3b 00 02 01 00 5c 09`,
		"E", record.SeverityTrace, `{"f;b=2":"\\","h;":9}`,
	},
}

// TestForeignHeaders: an EventHeader event of another program has its name, level and fields.
func TestForeignHeaders(t *testing.T) {
	for _, tt := range foreignHeaders {
		t.Run(tt.name, func(t *testing.T) {
			rec := decodeHeader(t, tt.tracepoint, unhex(t, tt.payload))
			assert.Equal(t, record.KindOther, rec.Kind)
			assert.Equal(t, tt.tracepoint, rec.Name)
			assert.Equal(t, tt.event, rec.EventName)
			assert.Equal(t, tt.severity, rec.Severity)
			assert.Equal(t, tt.fields, string(record.AppendJSON(nil, rec.Fields())))
			assert.NotNil(t, rec.Header)
		})
	}
	rec := decodeHeader(t, foreignHeaders[2].tracepoint, unhex(t, foreignHeaders[2].payload))
	assert.Equal(t, "app", rec.Header.Provider)
	assert.Equal(t, uint64(0xFF), rec.Header.Keyword)
	assert.Equal(t, uint8(1), rec.Header.Opcode)
	assert.Equal(t, byte(0x10), rec.Header.ActivityID[0])
	assert.Equal(t, byte(0x20), rec.Header.RelatedID[0])
}

// TestFormatsOfHeaderValues: each format has a value, which is a text if JSON has no type for it.
func TestFormatsOfHeaderValues(t *testing.T) {
	var e eventheader.Encoder
	e.Begin(nil, &eventheader.Header{Name: "formats", Level: eventheader.LevelWarning}, 0)
	e.Value("hex", value64Hex, 1<<63)
	e.Value("errno", value32Errno, 2)
	e.Value("pid", value32PID, 0xFFFFFFFF)
	e.Value("time", value64Time, 1700000000)
	e.Bool("true", true)
	e.Value("two", value32Bool, 0xFFFFFFFF)
	e.Value("port", value16Port, uint64(binary.NativeEndian.Uint16([]byte{1, 187}))) // 443 in network order
	e.Float64("float", 0.5)
	e.Value("float32", value32Float, 0x3f000000)
	e.Bytes("ip", []byte{192, 0, 2, 1})
	e.Bytes("uuid", unhex(t, "000102030405060708090a0b0c0d0e0f"))
	e.Bytes("bytes", []byte{0, 255})
	e.Bytes("wide", wideText(2, "größe 😀"))
	e.Bytes("wider", wideText(4, "größe 😀"))
	e.JSON("bad JSON", `{"a"`)
	payload, err := e.End()
	require.NoError(t, err)
	widen(payload, "wide", 2, wideText(2, "größe 😀"))
	widen(payload, "wider", 4, wideText(4, "größe 😀"))
	payload = format(format(payload, "formats", "ip", eventheader.FormatIP), "formats", "uuid", eventheader.FormatUUID)
	rec := decodeHeader(t, "app_L3K0", payload)
	recordtest.AssertFields(t, []record.Field{
		{Name: "hex", Value: record.Uint64Value(1 << 63)},
		{Name: "errno", Value: record.Int64Value(2)},
		{Name: "pid", Value: record.Int64Value(-1)},
		{Name: "time", Value: record.StringValue("2023-11-14T22:13:20")},
		{Name: "true", Value: record.BoolValue(true)},
		{Name: "two", Value: record.Int64Value(-1)},
		{Name: "port", Value: record.Int64Value(443)},
		{Name: "float", Value: record.Float64Value(0.5)},
		{Name: "float32", Value: record.Float64Value(0.5)},
		{Name: "ip", Value: record.StringValue("192.0.2.1")},
		{Name: "uuid", Value: record.StringValue("00010203-0405-0607-0809-0a0b0c0d0e0f")},
		{Name: "bytes", Value: record.BytesValue([]byte{0, 255})},
		{Name: "wide", Value: record.StringValue("größe 😀")},
		{Name: "wider", Value: record.StringValue("größe 😀")},
		{Name: "bad JSON", Value: record.StringValue(`{"a"`)},
	}, rec.Fields())
	assert.Equal(t, record.SeverityWarn, rec.Severity)
}

// TestMalformedHeader: an event with missing bytes, or with another level than its tracepoint, is an error.
func TestMalformedHeader(t *testing.T) {
	d := headerDecoder(t, "app_L4Kff")
	raw := rawOf(unhex(t, foreignHeaders[2].payload))
	var rec record.Record
	for n := range len(raw) {
		require.ErrorIs(t, d.DecodeReuse(raw[:n], &rec), record.ErrMalformed, "%d bytes", n)
		require.Empty(t, rec.Fields())
		require.Nil(t, rec.Header)
		require.Equal(t, "app_L4Kff", rec.Name)
		require.Empty(t, rec.EventName)
	}
	require.NoError(t, d.DecodeReuse(raw, &rec))
	require.ErrorIs(t, headerDecoder(t, "app_L5Kff").DecodeReuse(raw, &rec), record.ErrMalformed)
}

// TestHeaderWithAnotherName: an event without a level in its name has the eight numbers of its declaration.
func TestHeaderWithAnotherName(t *testing.T) {
	d := headerDecoder(t, "app")
	var rec record.Record
	require.NoError(t, d.DecodeReuse(rawOf(unhex(t, "07 01 05 00 00 00 01 04")), &rec))
	assert.Equal(t, `{"eventheader_flags":7,"version":1,"id":5,"tag":0,"opcode":1,"level":4}`, string(record.AppendJSON(nil, rec.Fields())))
}

// TestMultiFormatEvents: the suffix that the kernel adds to a name is not part of the event's name.
func TestMultiFormatEvents(t *testing.T) {
	f := tracepoint.MustParse("app_L5K0" + headerFields).Format()
	f.Name += ".1f"
	d, err := record.NewDecoder(tracepoint.MultiSystem, f)
	require.NoError(t, err)
	var rec record.Record
	require.NoError(t, d.DecodeReuse(rawOf(unhex(t, "07 00 00 00 00 00 00 05 06 00 01 00 45 6d 70 74 79 00")), &rec))
	assert.Equal(t, "app_L5K0.1f", rec.Name)
	assert.Equal(t, "Empty", rec.EventName)
	assert.Equal(t, "app", rec.Header.Provider)
}

// TestOTLPMetrics: the request in the event equals that in the record.
func TestOTLPMetrics(t *testing.T) {
	f := tracepoint.MustParse("otlp_metrics u32 protocol; char[8] version; __rel_loc u8[] buffer").Format()
	payload := append(make([]byte, 4), "v0.19.00"...)
	payload = binary.NativeEndian.AppendUint32(payload, 3<<16)
	payload = append(payload, 0x0a, 0x00, 0xFF)
	d, err := record.NewDecoder("user_events", f)
	require.NoError(t, err)
	var rec record.Record
	require.NoError(t, d.DecodeReuse(append(rawOf(payload), 0xCC), &rec))
	assert.Equal(t, record.KindMetric, rec.Kind)
	require.NotNil(t, rec.Point)
	assert.Equal(t, record.PointOTLP, rec.Point.Type)
	assert.Equal(t, []byte{0x0a, 0x00, 0xFF}, rec.Point.Request)
	assert.Empty(t, rec.Fields())

	payload[0] = 1 // another protocol
	require.NoError(t, d.DecodeReuse(rawOf(payload), &rec))
	assert.Equal(t, record.KindOther, rec.Kind)
	assert.Nil(t, rec.Point)
	assert.Equal(t, `{"protocol":`+map[bool]string{true: "1", false: "16777216"}[binary.NativeEndian.Uint16([]byte{1, 0}) == 1]+`,"version":"v0.19.00","buffer":"CgD/"}`,
		string(record.AppendJSON(nil, rec.Fields())))
}

// TestRepeatedNames: no field is lost where names are keys. The second field of a name gets a number that no other field has.
func TestRepeatedNames(t *testing.T) {
	many := func(names ...string) []string { // more than are compared with each other
		for i := range 30 {
			names = append(names, fmt.Sprint("f", i))
		}
		return names
	}
	for _, c := range []struct{ names, want []string }{
		{[]string{"a", "b", "a", "a"}, []string{"a", "b", "a_2", "a_3"}},
		{[]string{"a", "a", "a_2", "a_2"}, []string{"a", "a_3", "a_2", "a_2_2"}},
		{[]string{"a_2", "a", "a"}, []string{"a_2", "a", "a_3"}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{many("a", "a"), many("a", "a_2")},
	} {
		want := c.want
		var e eventheader.Encoder
		e.Begin(nil, &eventheader.Header{Name: "E", Level: eventheader.LevelWarning}, 0)
		e.BeginStruct("outer")
		for i, name := range c.names {
			e.Int64(name, int64(i))
		}
		e.BeginStruct("inner")
		e.Int64("x", 1)
		e.Int64("x", 2)
		e.EndStruct()
		e.EndStruct()
		for i, name := range c.names {
			e.Int64(name, int64(i))
		}
		payload, err := e.End()
		require.NoError(t, err)
		rec := decodeHeader(t, "app_L3K1", payload)
		assert.Equal(t, want, namesOf(rec.Fields()[1:]))
		outer := rec.Fields()[0].Value.Fields()
		assert.Equal(t, append(slices.Clip(want), "inner"), namesOf(outer))
		assert.Equal(t, []string{"x", "x_2"}, namesOf(outer[len(outer)-1].Value.Fields()))

		format := tracepoint.MustParse("foreign u32 first").Format()
		first := format.Fields[0]
		format.Fields = nil
		for i, name := range c.names {
			first.Name, first.Offset = name, tracepoint.CommonSize+4*i
			format.Fields = append(format.Fields, first)
		}
		d, err := record.NewDecoder("user_events", format)
		require.NoError(t, err)
		require.NoError(t, d.Decode(rawOf([]byte(strings.Repeat("\x01\x00\x00\x00", len(c.names)))), rec))
		assert.Equal(t, want, namesOf(rec.Fields()))
		assert.Equal(t, c.names[1], format.Fields[1].Name, "the format is the caller's")
	}
}

func namesOf(fields []record.Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}
