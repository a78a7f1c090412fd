package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/record"
)

// TestJSONHelp: each member has a line of the usual width.
func TestJSONHelp(t *testing.T) {
	help := JSONHelp()
	assert.Contains(t, help, "\n  monotonic_ns        number  CLOCK_MONOTONIC of the kernel, which orders records\n")
	assert.Equal(t, len(ColumnNames()), strings.Count(help, "\n"), "stack in place of duration")
	for line := range strings.Lines(help) {
		assert.LessOrEqual(t, len(line), 120, line)
		assert.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"))
	}
}

// withFieldsJSON returns a record with fields that it does not decode before their first use.
func withFieldsJSON(t *testing.T, rec *record.Record, fields []record.Field) *record.Record {
	decoded := *rec
	decoded.SetFields(fields)
	line := written(t, "json", Options{}, &decoded)
	kept := new(record.Record)
	require.NoError(t, new(record.Parser).Parse([]byte(strings.TrimSuffix(line, "\n")), kept))
	require.Equal(t, string(record.AppendJSON(nil, fields)), kept.FieldsJSON())
	return kept
}

// plainFields are fields that record.Parser leaves as JSON: with names and texts of all lengths that are read in a way of their own, and
// characters that need quotes in each place of them.
func plainFields() (lists [][]record.Field) {
	add := func(fields ...record.Field) { lists = append(lists, fields) }
	nested := record.MapValue([]record.Field{
		{Name: "a{", Value: record.ListValue([]record.Field{{Value: record.StringValue("}],")}, {Value: record.ListValue(nil)}, {Value: record.MapValue(nil)}})},
		{Name: "b", Value: record.Int64Value(-1)},
	})
	for n := range 18 {
		word := strings.Repeat("w", n)
		add(record.Field{Name: word, Value: record.StringValue(word)})
		add(record.Field{Name: "k", Value: record.StringValue(word)}, record.Field{Name: "l", Value: nested}, record.Field{Name: word, Value: record.Float64Value(0.5)})
		for i := range n {
			for _, c := range ` ={[!_}]` {
				odd := word[:i] + string(c) + word[i+1:]
				add(record.Field{Name: odd, Value: record.StringValue(odd)}, record.Field{Name: "last", Value: record.BoolValue(true)})
				add(record.Field{Name: "first", Value: record.Value{}}, record.Field{Name: odd, Value: record.StringValue(odd)})
			}
		}
	}
	add(record.Field{Name: "m", Value: nested}, record.Field{Name: "list", Value: record.ListValue([]record.Field{{Value: nested}, {Value: record.StringValue("x y")}})})
	return lists
}

// TestPlainFields: fields that are JSON still are written as decoded ones, in each format.
func TestPlainFields(t *testing.T) {
	decoded := logEvent()
	for _, fields := range plainFields() {
		decoded.SetFields(fields)
		plain := withFieldsJSON(t, decoded, fields)
		name := fields[len(fields)-1].Name
		for _, o := range []Options{{}, {Color: true}, {Fields: []string{name, "time", "nosuch"}}} {
			require.Equal(t, written(t, "text", o, decoded), written(t, "text", o, plain), plain.FieldsJSON())
		}
		for _, o := range []Options{{}, {Fields: []string{"message", name}}} {
			require.Equal(t, written(t, "json", o, decoded), written(t, "json", o, plain), plain.FieldsJSON())
		}
		for _, format := range []string{"{{range $k, $v := .}}{{$k}}={{$v}} {{end}}", fmt.Sprintf("{{index . %q}}{{.last}}{{.nosuch}}", name)} {
			require.Equal(t, written(t, format, Options{}, decoded), written(t, format, Options{}, plain), plain.FieldsJSON())
		}
		u := NewUnseen("text", []string{name, "nosuch", "no.such"})
		u.See(plain)
		require.Equal(t, []string{"nosuch", "no.such"}, u.Names())
	}
}

// TestFieldsOfGroups: a name finds what Event.Lookup finds, such as the member of a group.
func TestFieldsOfGroups(t *testing.T) {
	decoded := logEvent()
	decoded.SetFields([]record.Field{{Name: "db", Value: record.MapValue([]record.Field{{Name: "table", Value: record.StringValue("users")}})}})
	plain := withFieldsJSON(t, decoded, decoded.Fields())
	want := ""
	if v, ok := decoded.Lookup("db.table"); ok {
		want = v.Text()
	}
	for _, ev := range []*record.Record{decoded, plain} {
		assert.Equal(t, want+"\n", strings.TrimPrefix(written(t, "text", Options{Fields: []string{"db.table"}}, ev), "db.table="))
		assert.Equal(t, want+want+"\n", written(t, `{{index . "db.table"}}{{.db.table}}`, Options{}, ev))
	}
}

// eventHere is an event of this process, with the stack that it has here.
//
//go:noinline
func eventHere() *record.Record {
	ev := logEvent()
	ev.PID = int32(os.Getpid())
	pcs := make([]uintptr, 32)
	for _, pc := range pcs[:runtime.Callers(1, pcs)] {
		ev.Callchain = append(ev.Callchain, uint64(pc))
	}
	return ev
}

// TestStack: the functions are below a line of text, and a member of a JSON object.
func TestStack(t *testing.T) {
	ev := eventHere()
	ev.Callchain = append(ev.Callchain, 8)
	var b bytes.Buffer
	w, err := New("text", &b, Options{Stack: symbols.New()})
	require.NoError(t, err)
	require.NoError(t, w.Write(ev))
	require.NoError(t, w.Write(logEvent()))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Len(t, lines, 6, "%q", lines)
	assert.Regexp(t, `^\S+ DEBUG`, lines[0])
	assert.Regexp(t, `^    \S+/output\.eventHere \S.*/json_test\.go:\d+$`, lines[1])
	assert.Regexp(t, `^    \S+/output\.TestStack \S.*/json_test\.go:\d+$`, lines[2])
	assert.Regexp(t, `^    testing\.tRunner \S.*/testing\.go:\d+$`, lines[3])
	assert.Equal(t, "    0x7", lines[4])
	assert.Regexp(t, `^\S+ DEBUG`, lines[5], "an event without a stack")

	b.Reset()
	w, err = New("json", &b, Options{Stack: symbols.New()})
	require.NoError(t, err)
	require.NoError(t, w.Write(ev))
	var object struct {
		Stack []map[string]any
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &object))
	require.Len(t, object.Stack, 4)
	assert.Contains(t, object.Stack[1]["function"], "output.TestStack")
	assert.Contains(t, object.Stack[1]["file"], "json_test.go")
	assert.NotZero(t, object.Stack[1]["line"])
	assert.Equal(t, map[string]any{"address": "0x7"}, object.Stack[3])

	for _, format := range []string{"raw", "{{.time}}"} {
		_, err := New(format, &b, Options{Stack: symbols.New()})
		assert.ErrorIs(t, err, errFormat)
	}
}
