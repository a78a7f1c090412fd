package reader_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

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
		d, err := reader.NewDecoder("user_events", formatOf(tracepoint.MustParse(keptDeclaration)))
		require.NoError(t, err)
		assert.Equal(t, c.kept, recordtest.CompareKept(t, d, keptPayload(t, c.severity, c.json)), c.json)
	}
}

// TestFieldsJSONOfDeclaredRecords: the severity text of a declared record is an attribute, which is read.
func TestFieldsJSONOfDeclaredRecords(t *testing.T) {
	declaration := tracepoint.MustParse("shop_order u64 time_unix_nano; u64 observed_time_unix_nano; u8 severity_number; __data_loc char[] trace_id; " +
		"__data_loc char[] span_id; __data_loc char[] body; __data_loc char[] attributes")
	d, err := reader.NewDecoder("user_events", formatOf(declaration))
	require.NoError(t, err)
	layout, err := typedfield.NewLayout(declaration)
	require.NoError(t, err)
	const attributes = `{"severity_text":"NOTICE"}`
	buf := layout.Begin(nil)
	binary.NativeEndian.PutUint32(buf[layout.Offsets()[6]:], uint32(len(attributes)+1)<<16|uint32(tracepoint.CommonSize+len(buf)))
	buf = append(append(buf, attributes...), 0)
	assert.False(t, recordtest.CompareKept(t, d, buf))
	var ev reader.Event
	require.NoError(t, d.Decode(rawOf(buf), &ev, nil))
	assert.Equal(t, "NOTICE", ev.SeverityText)
	assert.Empty(t, ev.Fields)
}

// TestFieldsJSONBeforeAnInvalidValue: a value that is not valid for its field becomes an attribute, also where it stands behind them.
func TestFieldsJSONBeforeAnInvalidValue(t *testing.T) {
	declaration := tracepoint.MustParse("shop_log_info u64 time_unix_nano; u64 observed_time_unix_nano; __data_loc char[] trace_id; " +
		"__data_loc char[] span_id; __data_loc char[] severity_text; __data_loc char[] event_name; __data_loc char[] body; " +
		"__data_loc char[] attributes; u8 severity_number; u8 duplicate")
	for severity, want := range map[byte]bool{9: true, 200: false} {
		d, err := reader.NewDecoder("user_events", formatOf(declaration))
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
