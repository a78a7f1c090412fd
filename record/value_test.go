package record_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
)

// values has a value of each type, with the results of its methods.
var values = []struct {
	value      record.Value
	typ        record.ValueType
	text, json string
}{
	{record.Value{}, record.TypeNull, "null", "null"},
	{record.StringValue("a\n\"\\\xff"), record.TypeString, `a\n"\\\xff`, `"a\n\"\\\uefff"`},
	{record.Int64Value(math.MinInt64), record.TypeInt64, "-9223372036854775808", "-9223372036854775808"},
	{record.Uint64Value(math.MaxInt64), record.TypeInt64, "9223372036854775807", "9223372036854775807"},
	{record.Uint64Value(math.MaxUint64), record.TypeUint64, "18446744073709551615", "18446744073709551615"},
	{record.Float64Value(0.5), record.TypeFloat64, "0.5", "0.5"},
	{record.Float64Value(math.Inf(-1)), record.TypeFloat64, `"-Infinity"`, `"-Infinity"`},
	{record.BoolValue(true), record.TypeBool, "true", "true"},
	{record.BoolValue(false), record.TypeBool, "false", "false"},
	{record.BytesValue([]byte{0, 0xFF}), record.TypeBytes, `"AP8="`, `"AP8="`},
	{record.BytesValue(nil), record.TypeBytes, `""`, `""`},
	{
		record.ListValue([]record.Field{{Value: record.Int64Value(1)}, {Value: record.StringValue("\u202e")}}), record.TypeList,
		`[1,"\u202e"]`, `[1,"\u202e"]`,
	},
	{
		record.MapValue([]record.Field{{Name: "a\n", Value: record.Int64Value(1)}, {Name: "b", Value: record.MapValue(nil)}}), record.TypeMap,
		`{"a\n":1,"b":{}}`, `{"a\n":1,"b":{}}`,
	},
}

// TestValues: a value has one type, prints as one line, and is empty as any other type.
func TestValues(t *testing.T) {
	for _, tt := range values {
		v := tt.value
		assert.Equal(t, tt.typ, v.Type(), tt.json)
		assert.Equal(t, "x"+tt.text, string(v.AppendText([]byte("x"))))
		assert.Equal(t, tt.text, v.String())
		assert.Equal(t, "x"+tt.json, string(v.AppendJSON([]byte("x"))))

		isInteger := tt.typ == record.TypeInt64 || tt.typ == record.TypeUint64
		assert.Equal(t, tt.typ == record.TypeString, v.Text() != "", tt.json)
		assert.Equal(t, isInteger, v.Uint64() != 0, tt.json)
		assert.Equal(t, v.Uint64(), uint64(v.Int64()), tt.json)
		assert.Equal(t, isInteger || tt.typ == record.TypeFloat64, v.Float64() != 0, tt.json)
		assert.Equal(t, tt.json == "true", v.Bool(), tt.json)
		assert.Equal(t, tt.json == `"AP8="`, v.Bytes() != nil, tt.json)
		_, found := v.Lookup("b")
		assert.Equal(t, tt.typ == record.TypeMap, found, tt.json)
	}
	assert.InDelta(t, 1.8446744073709552e19, record.Uint64Value(math.MaxUint64).Float64(), 0)
	assert.InDelta(t, -1.0, record.Int64Value(-1).Float64(), 0)
	assert.Equal(t, []byte{0, 0xFF}, record.BytesValue([]byte{0, 0xFF}).Bytes())
}

// TestNames: all numbers have names, including unknown ones.
func TestNames(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"span start": record.KindSpanStart, "other": record.Kind(200), "server": record.SpanKindServer, "unspecified": record.SpanKind(200),
		"error": record.StatusError, "unset": record.Status(3), "exponential histogram": record.PointExponentialHistogram, "none": record.PointType(200),
		"delta": record.TemporalityDelta, "uint64": record.TypeUint64, "null": record.ValueType(200),
	} {
		assert.Equal(t, want, got.String())
	}
}

func TestParseJSON(t *testing.T) {
	v := record.MapValue([]record.Field{
		{Name: "text\xff", Value: record.StringValue("a\x00\u202e\xfe\"")},
		{Name: "int", Value: record.Int64Value(-1)},
		{Name: "uint", Value: record.Uint64Value(1<<64 - 1)},
		{Name: "float", Value: record.Float64Value(0.5)},
		{Name: "bool", Value: record.BoolValue(true)},
		{Name: "null"},
		{Name: "list", Value: record.ListValue([]record.Field{{Value: record.Int64Value(1)}, {Value: record.MapValue(nil)}})},
	})
	got, ok := record.ParseJSON(string(v.AppendJSON(nil)))
	require.True(t, ok)
	assert.Equal(t, v.String(), got.String())
	for i, f := range v.Fields() {
		assert.Equal(t, f.Name, got.Fields()[i].Name)
		assert.Equal(t, f.Value.Type(), got.Fields()[i].Value.Type())
	}
	for _, text := range []string{"", "{", `{"a":1}x`, "nul", strings.Repeat("[", 2000)} {
		_, ok := record.ParseJSON(text)
		assert.False(t, ok, text)
	}
}

// TestLookup: a name is that of a field, of a member of a group, or of what a program declared it as.
func TestLookup(t *testing.T) {
	rec := new(record.Record)
	rec.SetFields([]record.Field{
		{Name: "a", Value: record.Int64Value(1)},
		{Name: "db.table", Value: record.StringValue("flat")},
		{Name: "db", Value: record.MapValue([]record.Field{{Name: "table", Value: record.StringValue("group")}, {Name: "rows", Value: record.Int64Value(3)}, {Name: "x.y", Value: record.MapValue([]record.Field{{Name: "z", Value: record.BoolValue(true)}})}})},
		{Name: "http_route", Value: record.StringValue("/a")},
		{Name: "user.id", Value: record.Int64Value(7)},
		{Name: "a", Value: record.Int64Value(2)},
		{Name: "wait_time_ns", Value: record.Int64Value(5)},
		{Name: "x__y", Value: record.Int64Value(9)},
	})
	for name, want := range map[string]string{
		"a": "2", "db.table": "flat", "db.rows": "3", "db.x.y.z": "true", "http.route": "/a", "http-route": "/a", "user_id": "7", "user.id": "7", "x.-y": "9",
		"wait_time": "5", "wait.time": "5", "wait.time_ns": "5", "wait_time_ms": "", "wait": "",
		"db.nothing": "", "rows": "", "": "", ".": "", "a.b": "", "db.": "", "user-id": "", "useraid": "",
	} {
		v, ok := rec.Lookup(name)
		assert.Equal(t, want != "", ok, name)
		if ok {
			assert.Equal(t, want, v.String(), name)
		}
	}
	group, ok := rec.Lookup("db")
	require.True(t, ok)
	v, ok := group.Lookup("x.y.z")
	assert.True(t, ok && v.Bool())
}
