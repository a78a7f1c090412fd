package record_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// FuzzTyped decodes any payload of any declaration.
func FuzzTyped(f *testing.F) {
	f.Add(everyType.String(), everyTypePayload(f))
	for _, attributes := range keptAttributes {
		f.Add(keptDeclaration, keptPayload(f, attributes.severity, attributes.json))
	}
	f.Fuzz(func(t *testing.T, declaration string, payload []byte) {
		d, err := tracepoint.Parse(declaration)
		if err != nil || eventheader.IsDeclaration(d) {
			return
		}
		decoder, err := record.NewDecoder("user_events", d.Format())
		require.NoError(t, err)
		decodeAny(t, decoder, payload)
		recordtest.CompareKept(t, decoder, payload)
	})
}

// FuzzHeader decodes any EventHeader event.
func FuzzHeader(f *testing.F) {
	for _, c := range foreignHeaders {
		f.Add(c.tracepoint, unhex(f, c.payload))
	}
	for _, c := range schemaLogs {
		var s schema
		c.build(&s)
		f.Add(c.tracepoint, s.end(f))
	}
	f.Fuzz(func(t *testing.T, name string, payload []byte) {
		format := tracepoint.MustParse("x" + headerFields).Format()
		format.Name = name
		decoder, err := record.NewDecoder("user_events", format)
		require.NoError(t, err)
		decodeAny(t, decoder, payload)
	})
}

// decodeAny decodes a record twice, with different bytes behind it, and checks the results.
func decodeAny(t *testing.T, d *record.Decoder, payload []byte) {
	raw := rawOf(payload)
	var first, second record.Record
	err := d.Decode(raw, &first)
	longer := append(bytes.Clone(raw), bytes.Repeat([]byte{0x41}, 64)...)[:len(raw)]
	again := d.Decode(longer, &second)
	if err != nil {
		require.ErrorIs(t, err, record.ErrMalformed)
		require.EqualError(t, again, err.Error())
		assert.Equal(t, record.KindOther, first.Kind)
		assert.Empty(t, first.Fields())
		return
	}
	require.NoError(t, again, "what is behind a record counts")
	check(t, &first)
	want := recordtest.Describe(&first)
	assert.Equal(t, want, recordtest.Describe(&second), "what is behind a record counts")
	for _, reuse := range []bool{false, true} {
		var rec record.Record
		decode := d.Decode
		if reuse {
			decode = d.DecodeReuse
		}
		for range 2 {
			require.NoError(t, decode(raw, &rec))
			assert.Equal(t, want, recordtest.Describe(&rec), "what was in the event before counts")
		}
		if len(raw) > 0 {
			_ = decode(raw[:len(raw)-1], &rec)
			require.NoError(t, decode(raw, &rec))
			assert.Equal(t, want, recordtest.Describe(&rec), "what was in the event before counts")
		}
		kept := rec
		if reuse {
			kept = *rec.Clone()
		}
		other := bytes.Clone(raw)
		copy(raw, bytes.Repeat([]byte{'#'}, len(raw)))
		_ = decode(raw, &rec)
		assert.Equal(t, want, recordtest.Describe(&kept), "an event changes that does not use memory of the record again")
		raw = other
	}
}

// check checks the invariants of every event.
func check(t *testing.T, rec *record.Record) {
	t.Helper()
	for _, fields := range [][]record.Field{rec.Fields(), rec.Resource, rec.ScopeAttributes} {
		require.True(t, json.Valid(record.AppendJSON(nil, fields)))
	}
	require.GreaterOrEqual(t, rec.Severity, record.Severity(0))
	require.LessOrEqual(t, rec.Severity, record.SeverityFatal+3)
	require.LessOrEqual(t, rec.SpanKind, record.SpanKindConsumer)
	require.LessOrEqual(t, rec.Status, record.StatusError)
	require.Equal(t, rec.Kind == record.KindMetric, rec.Point != nil)
	require.GreaterOrEqual(t, rec.Truncated, 0)
	if rec.Kind != record.KindOther {
		names := make([]string, 0, len(rec.Fields()))
		for _, f := range rec.Fields() {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		require.Len(t, slices.Compact(names), len(rec.Fields()), "names are unique")
	}
}

const keptDeclaration = "shop_log_info u64 time_unix_nano; u64 observed_time_unix_nano; u8 severity_number; u8 duplicate; " +
	"__data_loc char[] trace_id; __data_loc char[] span_id; __data_loc char[] severity_text; __data_loc char[] event_name; " +
	"__data_loc char[] body; __data_loc char[] attributes"

// keptAttributes are attributes of a log record of OpenTelemetry, and whether they stay JSON.
var keptAttributes = []struct {
	severity uint8
	json     string
	kept     bool
}{
	{9, `{"a":1,"b":{"c":[0.5,"x"]}}`, true},
	{9, ``, false},
	{9, `{}`, false},
	{9, `{"a":1`, false},     // it becomes a field
	{9, `{"a":"\n"}`, false}, // it has an escape
	{9, `{"a":1.0}`, true},
	{9, `{"a":1.00}`, false},                    // it is written as 1.0
	{9, `{"a":1,"a":2}`, false},                 // the last one counts
	{9, `{"otel.scope.name":"s","a":1}`, false}, // it has another meaning
	{9, `{"not.otel.scope.name":1}`, false},     // could have
	{200, `{"a":1}`, false},                     // the severity becomes a field
	{200, `{"a":1,"severity_number":2}`, false}, // as one of two with a name
}

// keptPayload returns a record of keptDeclaration.
func keptPayload(t testing.TB, severity uint8, attributes string) []byte {
	layout, err := typedfield.NewLayout(tracepoint.MustParse(keptDeclaration))
	require.NoError(t, err)
	at := layout.Offsets()
	buf := layout.Begin(nil)
	buf[at[2]] = severity
	if attributes != "" {
		binary.NativeEndian.PutUint32(buf[at[9]:], uint32(len(attributes)+1)<<16|uint32(tracepoint.CommonSize+len(buf)))
		buf = append(append(buf, attributes...), 0)
	}
	return buf
}

func TestFieldsJSON(t *testing.T) {
	for _, c := range keptAttributes {
		d, err := record.NewDecoder("user_events", tracepoint.MustParse(keptDeclaration).Format())
		require.NoError(t, err)
		assert.Equal(t, c.kept, recordtest.CompareKept(t, d, keptPayload(t, c.severity, c.json)), c.json)
	}
}

// TestAttributesEndAtNUL: what is behind a NUL is no part of a text, as for every consumer.
func TestAttributesEndAtNUL(t *testing.T) {
	d, err := record.NewDecoder("user_events", tracepoint.MustParse(keptDeclaration).Format())
	require.NoError(t, err)
	for attributes, want := range map[string]string{"{\"a\":1}\x00,\"b\":2}": `{"a":1}`, "{\"a\":1}\x00\x00": `{"a":1}`, "{\"a\":\x001}": `{"attributes":"{\"a\":"}`, "\x00{\"a\":1}": `{}`} {
		var rec record.Record
		require.NoError(t, d.DecodeReuse(rawOf(keptPayload(t, 9, attributes)), &rec))
		assert.Empty(t, rec.FieldsJSON(), attributes)
		assert.Equal(t, want, string(record.AppendJSON(nil, rec.Fields())), attributes)
	}
}

// TestFieldsJSONOfDeclaredRecords: the severity text of a declared record is an attribute, which is read.
func TestFieldsJSONOfDeclaredRecords(t *testing.T) {
	declaration := tracepoint.MustParse("shop_order u64 time_unix_nano; u64 observed_time_unix_nano; u8 severity_number; __data_loc char[] trace_id; " +
		"__data_loc char[] span_id; __data_loc char[] body; __data_loc char[] attributes")
	d, err := record.NewDecoder("user_events", declaration.Format())
	require.NoError(t, err)
	layout, err := typedfield.NewLayout(declaration)
	require.NoError(t, err)
	const attributes = `{"severity_text":"NOTICE"}`
	buf := layout.Begin(nil)
	binary.NativeEndian.PutUint32(buf[layout.Offsets()[6]:], uint32(len(attributes)+1)<<16|uint32(tracepoint.CommonSize+len(buf)))
	buf = append(append(buf, attributes...), 0)
	assert.False(t, recordtest.CompareKept(t, d, buf))
	var rec record.Record
	require.NoError(t, d.Decode(rawOf(buf), &rec))
	assert.Equal(t, "NOTICE", rec.SeverityText)
	assert.Empty(t, rec.Fields())
}

// TestFieldsJSONBeforeAnInvalidValue: a value that is not valid for its field becomes an attribute, also where it stands behind them.
func TestFieldsJSONBeforeAnInvalidValue(t *testing.T) {
	declaration := tracepoint.MustParse("shop_log_info u64 time_unix_nano; u64 observed_time_unix_nano; __data_loc char[] trace_id; " +
		"__data_loc char[] span_id; __data_loc char[] severity_text; __data_loc char[] event_name; __data_loc char[] body; " +
		"__data_loc char[] attributes; u8 severity_number; u8 duplicate")
	for severity, want := range map[byte]bool{9: true, 200: false} {
		d, err := record.NewDecoder("user_events", declaration.Format())
		require.NoError(t, err)
		layout, err := typedfield.NewLayout(declaration)
		require.NoError(t, err)
		const attributes = `{"a":1}`
		buf := layout.Begin(nil)
		buf[layout.Offsets()[8]] = severity
		binary.NativeEndian.PutUint32(buf[layout.Offsets()[7]:], uint32(len(attributes)+1)<<16|uint32(tracepoint.CommonSize+len(buf)))
		buf = append(append(buf, attributes...), 0)
		assert.Equal(t, want, recordtest.CompareKept(t, d, buf))
	}
}
