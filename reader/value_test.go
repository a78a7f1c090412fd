package reader_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// values has a value of each type, with the results of its methods.
var values = []struct {
	value      reader.Value
	typ        reader.ValueType
	text, json string
}{
	{reader.Value{}, reader.TypeNull, "null", "null"},
	{reader.StringValue("a\n\"\\\xff"), reader.TypeString, `a\n"\\\xff`, `"a\n\"\\\uefff"`},
	{reader.Int64Value(math.MinInt64), reader.TypeInt64, "-9223372036854775808", "-9223372036854775808"},
	{reader.Uint64Value(math.MaxInt64), reader.TypeInt64, "9223372036854775807", "9223372036854775807"},
	{reader.Uint64Value(math.MaxUint64), reader.TypeUint64, "18446744073709551615", "18446744073709551615"},
	{reader.Float64Value(0.5), reader.TypeFloat64, "0.5", "0.5"},
	{reader.Float64Value(math.Inf(-1)), reader.TypeFloat64, `"-Infinity"`, `"-Infinity"`},
	{reader.BoolValue(true), reader.TypeBool, "true", "true"},
	{reader.BoolValue(false), reader.TypeBool, "false", "false"},
	{reader.BytesValue([]byte{0, 0xFF}), reader.TypeBytes, `"AP8="`, `"AP8="`},
	{reader.BytesValue(nil), reader.TypeBytes, `""`, `""`},
	{
		reader.ListValue([]reader.Field{{Value: reader.Int64Value(1)}, {Value: reader.StringValue("\u202e")}}), reader.TypeList,
		`[1,"\u202e"]`, `[1,"\u202e"]`,
	},
	{
		reader.MapValue([]reader.Field{{Name: "a\n", Value: reader.Int64Value(1)}, {Name: "b", Value: reader.MapValue(nil)}}), reader.TypeMap,
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

		isInteger := tt.typ == reader.TypeInt64 || tt.typ == reader.TypeUint64
		assert.Equal(t, tt.typ == reader.TypeString, v.Text() != "", tt.json)
		assert.Equal(t, isInteger, v.Uint64() != 0, tt.json)
		assert.Equal(t, v.Uint64(), uint64(v.Int64()), tt.json)
		assert.Equal(t, isInteger || tt.typ == reader.TypeFloat64, v.Float64() != 0, tt.json)
		assert.Equal(t, tt.json == "true", v.Bool(), tt.json)
		assert.Equal(t, tt.json == `"AP8="`, v.Bytes() != nil, tt.json)
		_, found := v.Lookup("b")
		assert.Equal(t, tt.typ == reader.TypeMap, found, tt.json)
	}
	assert.InDelta(t, 1.8446744073709552e19, reader.Uint64Value(math.MaxUint64).Float64(), 0)
	assert.InDelta(t, -1.0, reader.Int64Value(-1).Float64(), 0)
	assert.Equal(t, []byte{0, 0xFF}, reader.BytesValue([]byte{0, 0xFF}).Bytes())
}

// TestNames: all numbers have names, including unknown ones.
func TestNames(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"span start": reader.KindSpanStart, "other": reader.Kind(200), "server": reader.SpanKindServer, "unspecified": reader.SpanKind(200),
		"error": reader.StatusError, "unset": reader.Status(3), "exponential histogram": reader.PointExponentialHistogram, "none": reader.PointType(200),
		"delta": reader.TemporalityDelta, "uint64": reader.TypeUint64, "null": reader.ValueType(200),
	} {
		assert.Equal(t, want, got.String())
	}
}

func TestParseJSON(t *testing.T) {
	v := reader.MapValue([]reader.Field{
		{Name: "text\xff", Value: reader.StringValue("a\x00\u202e\xfe\"")},
		{Name: "int", Value: reader.Int64Value(-1)},
		{Name: "uint", Value: reader.Uint64Value(1<<64 - 1)},
		{Name: "float", Value: reader.Float64Value(0.5)},
		{Name: "bool", Value: reader.BoolValue(true)},
		{Name: "null"},
		{Name: "list", Value: reader.ListValue([]reader.Field{{Value: reader.Int64Value(1)}, {Value: reader.MapValue(nil)}})},
	})
	got, ok := reader.ParseJSON(string(v.AppendJSON(nil)))
	require.True(t, ok)
	assert.Equal(t, v.String(), got.String())
	for i, f := range v.Fields() {
		assert.Equal(t, f.Name, got.Fields()[i].Name)
		assert.Equal(t, f.Value.Type(), got.Fields()[i].Value.Type())
	}
	for _, text := range []string{"", "{", `{"a":1}x`, "nul", strings.Repeat("[", 2000)} {
		_, ok := reader.ParseJSON(text)
		assert.False(t, ok, text)
	}
}
