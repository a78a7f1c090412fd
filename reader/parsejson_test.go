package reader_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

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
