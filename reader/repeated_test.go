package reader_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

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
		ev := decodeHeader(t, "app_L3K1", payload)
		assert.Equal(t, want, namesOf(ev.Fields[1:]))
		outer := ev.Fields[0].Value.Fields()
		assert.Equal(t, append(slices.Clip(want), "inner"), namesOf(outer))
		assert.Equal(t, []string{"x", "x_2"}, namesOf(outer[len(outer)-1].Value.Fields()))

		format := formatOf(tracepoint.MustParse("foreign u32 first"))
		first := format.Fields[0]
		format.Fields = nil
		for i, name := range c.names {
			first.Name, first.Offset = name, tracepoint.CommonSize+4*i
			format.Fields = append(format.Fields, first)
		}
		d, err := reader.NewDecoder("user_events", format)
		require.NoError(t, err)
		require.NoError(t, d.Decode(rawOf([]byte(strings.Repeat("\x01\x00\x00\x00", len(c.names)))), ev, nil))
		assert.Equal(t, want, namesOf(ev.Fields))
		assert.Equal(t, c.names[1], format.Fields[1].Name, "the format is the caller's")
	}
}

func namesOf(fields []reader.Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}
