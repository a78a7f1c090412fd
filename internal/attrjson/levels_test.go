package attrjson_test

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/testscale"
)

type (
	deepList   []deepList
	deepMap    map[string]deepMap
	deepAny    struct{ V any }
	deepArray  [1]any
	ownJSON    struct{ Deep deepList }
	ownText    struct{ Deep deepList }
	unexported struct {
		Left  deepList `json:"-"`
		inner deepList
		V     int
	}
)

func (ownJSON) MarshalJSON() ([]byte, error) { return []byte(`"own"`), nil }
func (ownText) MarshalText() ([]byte, error) { return []byte("own"), nil }

func lists(n int) (v deepList) {
	for range n {
		v = deepList{v}
	}
	return v
}

// TestMostLevels: values of 10000 levels are encoded, deeper ones are not, whatever the levels are made of.
func TestMostLevels(t *testing.T) {
	const most = 10_000
	var maps deepMap
	var structs, arrays any
	for range most - 1 {
		maps = deepMap{"k": maps}
	}
	for range most / 2 {
		structs, arrays = deepAny{structs}, deepArray{arrays}
	}
	for _, tt := range []struct{ in, deeper any }{
		{lists(most - 1), lists(most)},
		{maps, deepMap{"k": maps}},
		{structs, deepAny{structs}},
		{arrays, deepArray{arrays}},
	} {
		got, _ := encode(attrjson.NoLimit, slog.Any("k", tt.in))
		assert.False(t, strings.Contains(got, "!ERROR"), "%T: %.100s", tt.in, got)
		got, _ = encode(attrjson.NoLimit, slog.Any("k", tt.deeper))
		assert.Equal(t, fmt.Sprintf(`{"k":"!ERROR:%T has more than 10000 levels"}`, tt.deeper), got)
	}
}

// TestLevelsThatDoNotCount: a pointer alone makes nothing deep, what encoding/json does not look at counts for nothing, and a value that
// contains itself has encoding/json's error.
func TestLevelsThatDoNotCount(t *testing.T) {
	deep := lists(20_000)
	cycle := deepList{nil}
	cycle[0] = cycle
	for _, tt := range []struct {
		in   any
		want string
	}{
		{&deepAny{1}, `{"V":1}`},
		{unexported{deep, deep, 1}, `{"V":1}`},
		{ownJSON{deep}, `"own"`},
		{ownText{deep}, `"own"`},
	} {
		got, _ := encode(attrjson.NoLimit, slog.Any("k", tt.in))
		assert.Equal(t, `{"k":`+tt.want+`}`, got)
	}
	got, _ := encode(attrjson.NoLimit, slog.Any("k", cycle))
	assert.Contains(t, got, "cycle")
}

// TestDuplicatesInNestedObjects: they are looked for in objects that are nested up to 100 levels deep.
func TestDuplicatesInNestedObjects(t *testing.T) {
	for nested, want := range map[int]string{1: `{"x":2}`, 99: `{"x":2}`, 100: `{"x":2}`, 101: `{"x":1,"x":2}`, 102: `{"x":1,"x":2}`} {
		w := attrjson.Begin(nil, attrjson.NoLimit)
		var open []attrjson.Container
		for range nested {
			w.Key("o")
			open = append(open, w.Object())
		}
		for i := range 2 {
			w.Key("x")
			w.Int(int64(i + 1))
		}
		for i := range open {
			w.Close(open[len(open)-1-i])
		}
		buf, _ := w.End(attrjson.KeepLast)
		assert.Equal(t, strings.Repeat(`{"o":`, nested)+want+strings.Repeat("}", nested), string(buf), nested)
	}
}

// TestRoomForBooleans: a boolean finds no more room than there is, whatever its key has taken.
func TestRoomForBooleans(t *testing.T) {
	for n := range 40 {
		key := strings.Repeat("k", n)
		for room := range 80 {
			w := attrjson.Begin(make([]byte, 0, room), attrjson.NoLimit)
			w.Attr(slog.Bool(key, true))
			w.Attr(slog.Bool(key, false))
			buf, _ := w.End(attrjson.KeepAll)
			assert.Equal(t, fmt.Sprintf(`{"%s":true,"%s":false}`, key, key), string(buf))
		}
	}
}

// TestEscapesInEachWord: a text of three words is escaped in the first two.
func TestEscapesInEachWord(t *testing.T) {
	assert.Equal(t, `"abc\nefgabc\nefgabcdefgh"`, string(attrjson.AppendString(nil, "abc\nefgabc\nefgabcdefgh")))
	assert.Equal(t, `"abc\nefghabc\nefghabcdefgh"`, string(attrjson.AppendString(make([]byte, 0, 100), "abc\nefghabc\nefghabcdefgh")))
}

type node struct {
	Next   *node `json:",omitempty"`
	Parent *node `json:"-"`
}

// TestDeepValues: the stack does not grow with the number of levels that a value has. Above its limit, the runtime ends
// the program.
func TestDeepValues(t *testing.T) {
	testscale.HostOnly(t)
	const levels = 300_000 // the default limit of the stack needs more
	var list, m, mixed any = 1, 1, nil
	var linked *node
	group := slog.IntValue(1)
	for range levels {
		inner := mixed
		list, m, mixed = []any{list}, map[string]any{"k": m}, []*any{&inner}
		linked = &node{Next: linked}
		group = slog.GroupValue(slog.Attr{Key: "k", Value: group})
	}
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20)) // instead of 1 GB
	for _, v := range []slog.Value{slog.AnyValue(list), slog.AnyValue(m), group} {
		_, dropped := encode(attrjson.NoLimit, slog.Attr{Key: "k", Value: v})
		assert.Equal(t, 1, dropped)
	}
	for _, v := range []any{linked, mixed} {
		got, _ := encode(attrjson.NoLimit, slog.Any("k", v), slog.Int("after", 1))
		assert.Equal(t, fmt.Sprintf(`{"k":"!ERROR:%T has more than 10000 levels","after":1}`, v), got)
	}
}

// TestFieldsNotWritten: fields that encoding/json does not write have no levels.
func TestFieldsNotWritten(t *testing.T) {
	n := &node{Next: &node{}}
	n.Parent, n.Next.Parent = n, n
	got, _ := encode(attrjson.NoLimit, slog.Any("k", n))
	assert.Equal(t, `{"k":{"Next":{}}}`, got)
}
