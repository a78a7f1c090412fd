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
	"github.com/userevents/userevents-go/reader"
)

// TestColumnsAreDocumented: each column has a type, and the first of those that belong together says what they are. What is not read back
// is told by another column.
func TestColumnsAreDocumented(t *testing.T) {
	names := map[string]bool{}
	for _, c := range columns {
		assert.False(t, names[c.name], "%s: two columns", c.name)
		names[c.name] = true
		if c.name == "duration" { // of text only
			continue
		}
		assert.NotEmpty(t, c.kind, c.name)
		assert.Equal(t, c.name != "severity", c.parse != nil, c.name)
	}
	help := JSONHelp()
	assert.Contains(t, help, "\n  monotonic_ns        number  CLOCK_MONOTONIC of the kernel, which orders records\n")
	for line := range strings.Lines(help) {
		assert.LessOrEqual(t, len(line), 120, line)
		assert.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"))
	}
}

// FuzzParseEvent: what is read from an object is written so that it is read as the same.
func FuzzParseEvent(f *testing.F) {
	for _, ev := range []*reader.Event{logEvent(), spanEvent(), metricEvent(), otherEvent()} {
		var line lineWriter
		require.NoError(f, newJSON(&line, Options{}).Write(ev))
		f.Add(line[0])
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := reader.ParseJSON(text)
		var ev reader.Event
		if !ok || ParseEvent(&ev, v) != nil {
			return
		}
		first := written(t, "json", Options{}, &ev)
		v, ok = reader.ParseJSON(first)
		require.True(t, ok, first)
		require.NoError(t, ParseEvent(&ev, v), first)
		require.Equal(t, first, written(t, "json", Options{}, &ev))
	})
}

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

// eventHere is an event of this process, with the stack that it has here.
//
//go:noinline
func eventHere() *reader.Event {
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
