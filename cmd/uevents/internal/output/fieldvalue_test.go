package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/reader"
)

// plainFields are fields that DecodeJSON leaves as JSON: with names and texts of all lengths that are read in a way of their own, and
// characters that need quotes in each place of them.
func plainFields() (lists [][]reader.Field) {
	add := func(fields ...reader.Field) { lists = append(lists, fields) }
	nested := reader.MapValue([]reader.Field{
		{Name: "a{", Value: reader.ListValue([]reader.Field{{Value: reader.StringValue("}],")}, {Value: reader.ListValue(nil)}, {Value: reader.MapValue(nil)}})},
		{Name: "b", Value: reader.Int64Value(-1)},
	})
	for n := range 18 {
		word := strings.Repeat("w", n)
		add(reader.Field{Name: word, Value: reader.StringValue(word)})
		add(reader.Field{Name: "k", Value: reader.StringValue(word)}, reader.Field{Name: "l", Value: nested}, reader.Field{Name: word, Value: reader.Float64Value(0.5)})
		for i := range n {
			for _, c := range ` ={[!_}]` {
				odd := word[:i] + string(c) + word[i+1:]
				add(reader.Field{Name: odd, Value: reader.StringValue(odd)}, reader.Field{Name: "last", Value: reader.BoolValue(true)})
				add(reader.Field{Name: "first", Value: reader.Value{}}, reader.Field{Name: odd, Value: reader.StringValue(odd)})
			}
		}
	}
	add(reader.Field{Name: "m", Value: nested}, reader.Field{Name: "list", Value: reader.ListValue([]reader.Field{{Value: nested}, {Value: reader.StringValue("x y")}})})
	return lists
}

// TestPlainFields: fields that are JSON still are written as decoded ones, in each format.
func TestPlainFields(t *testing.T) {
	decoded, plain := logEvent(), logEvent()
	for _, fields := range plainFields() {
		decoded.Fields = fields
		plain.Fields, plain.FieldsJSON = nil, string(reader.AppendJSON(nil, fields))
		name := fields[len(fields)-1].Name
		for _, o := range []Options{{}, {Color: true}, {Fields: []string{name, "time", "nosuch"}}} {
			require.Equal(t, written(t, "text", o, decoded), written(t, "text", o, plain), plain.FieldsJSON)
		}
		for _, o := range []Options{{}, {Fields: []string{"message", name}}} {
			require.Equal(t, written(t, "json", o, decoded), written(t, "json", o, plain), plain.FieldsJSON)
		}
		for _, format := range []string{"{{range $k, $v := .}}{{$k}}={{$v}} {{end}}", fmt.Sprintf("{{index . %q}}{{.last}}{{.nosuch}}", name)} {
			require.Equal(t, written(t, format, Options{}, decoded), written(t, format, Options{}, plain), plain.FieldsJSON)
		}
		u := NewUnseen("text", []string{name, "nosuch", "no.such"})
		u.See(plain)
		require.Equal(t, []string{"nosuch", "no.such"}, u.Names())
	}
}

// TestFieldsOfGroups: a name finds what Event.Lookup finds, such as the member of a group.
func TestFieldsOfGroups(t *testing.T) {
	decoded, plain := logEvent(), logEvent()
	decoded.Fields = []reader.Field{{Name: "db", Value: reader.MapValue([]reader.Field{{Name: "table", Value: reader.StringValue("users")}})}}
	plain.Fields, plain.FieldsJSON = nil, string(reader.AppendJSON(nil, decoded.Fields))
	want := ""
	if v, ok := decoded.Lookup("db.table"); ok {
		want = v.Text()
	}
	for _, ev := range []*reader.Event{decoded, plain} {
		assert.Equal(t, want+"\n", strings.TrimPrefix(written(t, "text", Options{Fields: []string{"db.table"}}, ev), "db.table="))
		assert.Equal(t, want+want+"\n", written(t, `{{index . "db.table"}}{{.db.table}}`, Options{}, ev))
	}
}
