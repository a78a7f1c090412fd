package attrs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/eventheader"
)

// kinds has an attribute of each kind, as JSON and as EventHeader's decoder prints it.
var kinds = []struct {
	kv           attribute.KeyValue
	json, header string
}{
	{attribute.String("k", "text"), `"text"`, `"text"`},
	{attribute.Int64("k", -1), `-1`, `-1`},
	{attribute.Bool("k", true), `true`, `true`},
	{attribute.Float64("k", 0.5), `0.5`, `0.5`},
	{attribute.StringSlice("k", []string{"a", "b"}), `["a","b"]`, `["a","b"]`},
	{attribute.Int64Slice("k", []int64{1, -2}), `[1,-2]`, `[1,-2]`},
	{attribute.BoolSlice("k", []bool{true, false}), `[true,false]`, `[true,false]`},
	{attribute.Float64Slice("k", []float64{0.5}), `[0.5]`, `[0.5]`},
	{attribute.StringSlice("k", nil), `[]`, `[]`},
	{attribute.KeyValue{Key: "k"}, `null`, `null`},
	{attribute.KeyValue{Key: "k", Value: attribute.ByteSliceValue([]byte{1, 2})}, `"AQI="`, `"01 02"`},
	{attribute.KeyValue{Key: "k", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("x"))}, `[1,"x"]`, `"[1,\"x\"]"`},
	{attribute.KeyValue{Key: "k", Value: attribute.MapValue(attribute.Int("a", 1), attribute.Bool("b", false))}, `{"a":1,"b":false}`, `{"a":1,"b":false}`},
	{attribute.KeyValue{Key: "k", Value: attribute.MapValue()}, `{}`, `"{}"`},
}

func TestKinds(t *testing.T) {
	for _, k := range kinds {
		w := attrjson.Begin(nil, attrjson.NoLimit)
		WriteJSON(&w, &k.kv)
		object, lost := w.End(attrjson.KeepAll)
		assert.Zero(t, lost)
		assert.Equal(t, `{"k":`+k.json+`}`, string(object))

		var e eventheader.Encoder
		e.Begin(nil, &eventheader.Header{Name: "e", Level: eventheader.LevelInfo}, 4000)
		WriteField(&e, k.kv)
		payload, err := e.End()
		require.NoError(t, err)
		ev, err := eventheader.Decode("p_L4K1", payload)
		require.NoError(t, err)
		text, err := ev.AppendFieldsJSON(nil)
		require.NoError(t, err)
		assert.Equal(t, `"k":`+k.header, string(text), k.kv.Value.Type())
	}
}

func TestText(t *testing.T) {
	assert.Equal(t, "as it is\n", Text(attribute.StringValue("as it is\n")))
	assert.Equal(t, "1.5", Text(attribute.Float64Value(1.5)))
	assert.JSONEq(t, `["a"]`, Text(attribute.StringSliceValue([]string{"a"})))
}
