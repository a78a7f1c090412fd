package attrjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

const fitLimit = 1000

func fitted(t *testing.T, limit int, attrs ...slog.Attr) (members map[string]any, truncated int) {
	t.Helper()
	object, truncated := encode(limit, attrs...)
	checkSafe(t, object, limit)
	require.NoError(t, json.Unmarshal([]byte(object), &members))
	return members, truncated
}

// TestFitIsFair: whatever is long, and wherever it is, short values survive; if there are very many, those before them.
func TestFitIsFair(t *testing.T) {
	long := strings.Repeat("long ", 1400)
	many := func(n, size int) (attrs []slog.Attr) {
		for i := range n {
			attrs = append(attrs, slog.String(fmt.Sprintf("key%03d", i), strings.Repeat("x", size)))
		}
		return attrs
	}
	for name, c := range map[string]struct {
		attrs []slog.Attr
		cut   int
	}{
		"one":             {[]slog.Attr{slog.String("a", long)}, 1},
		"two":             {[]slog.Attr{slog.String("a", long), slog.String("b", long)}, 2},
		"in a group":      {[]slog.Attr{slog.Group("g", "a", long, slog.Group("h", "b", long))}, 2},
		"in an array":     {[]slog.Attr{slog.Any("a", []string{"first", long, "last"})}, 1},
		"an array":        {[]slog.Attr{slog.Any("a", make([]int, 10_000))}, 1},
		"a map":           {[]slog.Attr{slog.Any("a", map[string]any{"x": long, "y": []any{long, 1}})}, 2},
		"a struct":        {[]slog.Attr{slog.Any("a", struct{ A, B string }{long, long})}, 2},
		"bytes":           {[]slog.Attr{slog.Any("a", []byte(long))}, 1},
		"escapes":         {[]slog.Attr{slog.String("a", strings.Repeat("\x1b\xff\"\\", 1000))}, 1},
		"many, middling":  {many(9, 100), 1},
		"many, long":      {many(300, 7000), 300},
		"many keys":       {many(100, 0), 10},
		"many, short":     {many(300, 7), 10},
		"many, long keys": {[]slog.Attr{slog.Int(long, 1), slog.String(long+"2", long)}, 2},
	} {
		short := []slog.Attr{slog.Int("status", 500), slog.Any("err", errors.New("connection refused")), slog.String("id", strings.Repeat("0a", 16))}
		for at := range 4 {
			attrs := append(append(append([]slog.Attr{}, short[:at]...), c.attrs...), short[at:]...)
			members, truncated := fitted(t, fitLimit, attrs...)
			survive := short
			if strings.HasPrefix(name, "many") {
				survive = short[:at]
			}
			for _, a := range survive {
				assert.Equal(t, fmt.Sprint(a.Value), fmt.Sprint(members[a.Key]), name)
			}
			assert.GreaterOrEqual(t, truncated, c.cut, name)
		}
	}
}

func TestFitSharesEqually(t *testing.T) {
	attrs := []slog.Attr{
		slog.String("a", strings.Repeat("a", 5000)), slog.String("b", strings.Repeat("b", 300)), slog.Int("n", 1),
		slog.String("c", strings.Repeat("ü", 700)), slog.Any("list", []string{strings.Repeat("d", 900), "e"}),
	}
	members, truncated := fitted(t, fitLimit, attrs...)
	assert.Equal(t, 4, truncated)
	size := len(members["a"].(string))
	assert.Equal(t, size, len(members["b"].(string)))
	assert.InDelta(t, size, len(members["c"].(string)), 1)
	list := members["list"].([]any)
	assert.InDelta(t, size, len(list[0].(string)), 10)
	assert.Equal(t, "e", list[1])
	for _, key := range []string{"a", "b", "c"} {
		assert.Contains(t, members[key], text.CutMark)
	}
	// The room is used.
	object, _ := encode(fitLimit, attrs...)
	assert.Greater(t, len(object), fitLimit-10)
}

// TestFitDrops: if there is no space for Short bytes of each text, the last members are dropped.
func TestFitDrops(t *testing.T) {
	var attrs []slog.Attr
	for i := range 50 {
		attrs = append(attrs, slog.String(fmt.Sprintf("%s%02d", strings.Repeat("k", 30), i), strings.Repeat("x", 100)), slog.Int(fmt.Sprint(i), i))
	}
	members, truncated := fitted(t, fitLimit, attrs...)
	const kept = 9 // of 108 bytes each, with the number; further numbers fit behind them
	for i := range 50 {
		text := members[fmt.Sprintf("%s%02d", strings.Repeat("k", 30), i)]
		if i < kept {
			assert.Regexp(t, `^x{61,66}\.\.\.$`, text)
			assert.EqualValues(t, i, members[fmt.Sprint(i)])
		} else {
			assert.Nil(t, text)
		}
	}
	assert.Equal(t, 2*50-len(members)+kept, truncated, "the texts of those that stay are cut")

	object, truncated := encode(100, slog.Group("g", slog.Group("h", slog.String(strings.Repeat("k", 90), "v")), "i", 1), slog.Int("j", 2))
	assert.Equal(t, `{"g":{"i":1},"j":2}`, object)
	assert.Equal(t, 1, truncated)
}

// TestFitOfHugeValues: a record of many huge values does not take memory for all of them.
func TestFitOfHugeValues(t *testing.T) {
	testscale.HostOnly(t)
	huge := strings.Repeat("x", 1<<20)
	w := attrjson.Begin(nil, fitLimit)
	for i := range 1000 {
		w.Key(fmt.Sprint(i))
		w.String(huge)
	}
	w.Key("numbers")
	w.Any(make([]int, testscale.Count(1<<22, 1<<19)))
	buf, dropped := w.End(attrjson.KeepAll)
	assert.Zero(t, dropped)
	assert.Less(t, len(buf), 200_000)

	w = attrjson.Begin(nil, fitLimit)
	for i := range 1 << 20 {
		w.Key(fmt.Sprint(i))
		w.Uint(1 << 40)
	}
	buf, dropped = w.End(attrjson.KeepAll)
	assert.NotZero(t, dropped)
	n, truncated := truncationtest.Fit(buf, fitLimit)
	members := map[string]uint64{}
	require.NoError(t, json.Unmarshal(buf[:n], &members))
	assert.Equal(t, 1<<20, dropped+truncated+len(members))
}

// TestHugeMarshaledValue: a value of encoding/json that is larger than any object is dropped with its key, and counted.
func TestHugeMarshaledValue(t *testing.T) {
	testscale.HostOnly(t)
	huge := json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`)
	w := attrjson.Begin(nil, fitLimit)
	w.Attrs([]slog.Attr{slog.Int("first", 1), slog.Any("huge", huge), slog.Any("list", []any{1, huge, 3}), slog.Int("last", 2)})
	buf, dropped := w.End(attrjson.KeepAll)
	assert.Equal(t, `{"first":1,"list":[1,3],"last":2}`, string(buf))
	assert.Equal(t, 2, dropped)
}

func FuzzFit(f *testing.F) {
	f.Add([]byte("seed"), 50)
	f.Add([]byte("\x00\x10\xff\x80\"\\ü\U0001f600"), 300)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = limit & 0x3ff
		data = data[:min(len(data), 200)] // each byte makes up to 5 groups, slices or maps, of which an object has at most 1,000
		var attrs []slog.Attr
		numbers := 0
		for i, c := range data {
			key, rest := fmt.Sprint(i), string(data[i:])
			switch c % 7 {
			case 0:
				attrs = append(attrs, slog.Int(key, int(c)))
				numbers++
			case 1:
				attrs = append(attrs, slog.Any(key, []any{rest, c, []string{rest}, map[string]any{rest: rest}}))
			case 2:
				attrs = append(attrs, slog.Group(key, key, rest, slog.Group(rest, "x", rest, slog.Group("none"), slog.Any("empty", map[string]any{}))))
			case 3:
				attrs = append(attrs, slog.String(rest, key))
			default:
				attrs = append(attrs, slog.String(key, strings.Repeat(rest, int(c%16))))
			}
		}
		whole, dropped := encode(attrjson.NoLimit, attrs...)
		require.Zero(t, dropped)
		object, truncated := encode(limit, attrs...)
		checkSafe(t, object, limit)
		if len(whole) <= max(limit, 2) {
			require.Equal(t, whole, object)
			require.Zero(t, truncated)
			return
		}
		require.Positive(t, truncated)
	})
}

// TestFitAfterDrop: what is left of long texts does not depend on others that are dropped, nor on the room in the buffer.
func TestFitAfterDrop(t *testing.T) {
	const limit = 900
	long := strings.Repeat("x", 9000)
	var objects []string
	for _, room := range []int{0, 64 << 10} {
		w := attrjson.Begin(make([]byte, 0, room), limit)
		w.Attrs([]slog.Attr{slog.String(strings.Repeat("k", 895), long), slog.String(strings.Repeat("l", 895), long), slog.String("a", long), slog.String("b", long)})
		buf, _ := w.End(attrjson.KeepAll)
		n, truncated := truncationtest.Fit(buf, limit)
		assert.Equal(t, 4, truncated, "room of %d", room)
		objects = append(objects, string(buf[:n]))
	}
	assert.Equal(t, objects[1], objects[0])
}
