package attrjson_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

func encode(limit int, attrs ...slog.Attr) (string, int) {
	w := attrjson.Begin(nil, limit)
	w.Attrs(attrs)
	return end(&w, limit, attrjson.KeepAll)
}

// end ends an object and fits it to the limit.
func end(w *attrjson.Writer, limit int, d attrjson.Duplicates) (object string, truncated int) {
	buf, dropped := w.End(d)
	n, truncated := truncationtest.Fit(buf, limit)
	return string(buf[:n]), dropped + truncated
}

type valuer struct{ v slog.Value }

func (v valuer) LogValue() slog.Value { return v.v }

type endless struct{}

func (e endless) LogValue() slog.Value { return slog.AnyValue(e) }

type panics struct{}

func (panics) LogValue() slog.Value         { panic("log value") }
func (panics) MarshalJSON() ([]byte, error) { panic("marshal") }

type panicError struct{}

func (*panicError) Error() string { panic("error") }

type marshaler string

func (m marshaler) MarshalJSON() ([]byte, error) { return []byte(m), nil }

type selfHolding struct{}

func (s selfHolding) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("a", s), slog.Any("b", s))
}

type point struct {
	X, Y int
	s    string
}

// prefixed begins an object with a prefix.
func prefixed(p *attrjson.Prefix, limit int) (w attrjson.Writer) {
	p.Begin(&w, nil, limit)
	return w
}

func TestValues(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 34, 56, 789, time.UTC)
	for want, attrs := range map[string][]slog.Attr{
		`{}`:                            nil,
		`{"a":"b"}`:                     {slog.String("a", "b")},
		`{"":""}`:                       {slog.String("", "")},
		`{"i":-9223372036854775808}`:    {slog.Int64("i", math.MinInt64)},
		`{"i":0,"j":-1}`:                {slog.Int("i", 0), slog.Int("j", -1)},
		`{"u":18446744073709551615}`:    {slog.Uint64("u", math.MaxUint64)},
		`{"f":0.25,"g":1e+21,"z":-0.0}`: {slog.Float64("f", 0.25), slog.Float64("g", 1e21), slog.Float64("z", math.Copysign(0, -1))},
		`{"w":1.0,"m":-12345678901234567000.0,"s":[2.0]}`:      {slog.Float64("w", 1), slog.Float64("m", -12345678901234567890), slog.Any("s", []any{float32(2)})},
		`{"n":"NaN","p":"Infinity","m":"-Infinity"}`:           {slog.Float64("n", math.NaN()), slog.Float64("p", math.Inf(1)), slog.Float64("m", math.Inf(-1))},
		`{"b":true,"c":false}`:                                 {slog.Bool("b", true), slog.Bool("c", false)},
		`{"d":1500000}`:                                        {slog.Duration("d", 1500*time.Microsecond)},
		`{"t":"2026-11-20T12:34:56.000000789Z"}`:               {slog.Time("t", at)},
		`{"x":null,"e":null}`:                                  {slog.Any("x", nil), slog.Any("e", error(nil))},
		`{"e":"broken"}`:                                       {slog.Any("e", errors.New("broken"))},
		`{"b":"aGk="}`:                                         {slog.Any("b", []byte("hi"))},
		`{"s":["a","b"],"n":[1,2],"e":[]}`:                     {slog.Any("s", []string{"a", "b"}), slog.Any("n", []int{1, 2}), slog.Any("e", []any{})},
		`{"l":[1,-2],"f":[0.5,2.0],"b":[true,false]}`:          {slog.Any("l", []int64{1, -2}), slog.Any("f", []float64{0.5, 2}), slog.Any("b", []bool{true, false})},
		`{"l":[],"f":[],"b":[]}`:                               {slog.Any("l", []int64{}), slog.Any("f", []float64{}), slog.Any("b", []bool{})},
		`{"l":null,"f":null,"b":null}`:                         {slog.Any("l", []int64(nil)), slog.Any("f", []float64(nil)), slog.Any("b", []bool(nil))},
		`{"m":{"a":"1","b":"2"}}`:                              {slog.Any("m", map[string]string{"b": "2", "a": "1"})},
		`{"m":{"a":[null,{"b":true}]}}`:                        {slog.Any("m", map[string]any{"a": []any{nil, map[string]any{"b": true}}})},
		`{"p":{"X":1,"Y":2}}`:                                  {slog.Any("p", point{1, 2, "hidden"})},
		`{"g":{"a":1,"h":{"b":2}}}`:                            {slog.Group("g", "a", 1, slog.Group("h", "b", 2))},
		`{"a":1,"b":2}`:                                        {slog.Group("", "a", 1), slog.Attr{}, slog.Group("empty", slog.Group("too")), slog.Int("b", 2)},
		`{"v":{"a":1},"w":"x"}`:                                {slog.Any("v", valuer{slog.GroupValue(slog.Any("a", valuer{slog.IntValue(1)}))}), slog.Any("w", valuer{slog.StringValue("x")})},
		`{"k":1,"k":{"k":2}}`:                                  {slog.Int("k", 1), slog.Group("k", "k", 2)},
		`{"q":"\"\\\n\t\u0000\u001b\u007f\u0085\u2028\u202e"}`: {slog.String("q", "\"\\\n\t\x00\x1b\x7f\u0085\u2028\u202e")},
		`{"q":"<&>é世😀"}`:                                       {slog.String("q", "<&>é世😀")},
		`{"bad":"a\uefffb"}`:                                   {slog.String("bad", "a\xffb")},
		`{"j":[1,2]}`:                                          {slog.Any("j", marshaler("[1, 2]"))},
	} {
		got, lost := encode(attrjson.NoLimit, attrs...)
		assert.Equal(t, want, got)
		assert.Zero(t, lost)
	}
}

func TestHostile(t *testing.T) {
	testscale.HostOnly(t)
	var nilError *panicError
	cycle := map[string]any{}
	cycle["self"] = cycle
	for name, v := range map[string]any{
		"panic in LogValue": panics{}, "endless": endless{}, "panic in Error": &panicError{}, "nil error": nilError,
		"channel": make(chan int), "cycle": cycle, "bad marshaler": marshaler("{"), "controls": marshaler("\"\\u001b\x7f\u202e\""),
		"group in itself": selfHolding{}, "func": func() {}, "nan inside": []any{math.NaN(), struct{ F float64 }{math.Inf(1)}},
	} {
		got, _ := encode(4000, slog.Any("k", v), slog.Int("after", 1))
		checkSafe(t, got, 4000)
		if name == "channel" || name == "bad marshaler" {
			assert.Contains(t, got, "!ERROR:", name)
		}
		if name != "group in itself" && name != "cycle" {
			assert.Contains(t, got, `"after":1`, name)
		}
	}
}

// checkSafe states what holds for every output.
func checkSafe(t *testing.T, s string, limit int) {
	t.Helper()
	require.True(t, json.Valid([]byte(s)), "%q", s)
	require.True(t, utf8.ValidString(s), "%q", s)
	require.LessOrEqual(t, len(s), max(limit, 2))
	for _, r := range s {
		require.False(t, unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r), "%q has %U", s, r)
	}
}

// TestLikeJSONHandler compares with slog's own handler.
func TestLikeJSONHandler(t *testing.T) {
	attrs := []slog.Attr{
		slog.String("s", "a\nb"), slog.Int("i", -5), slog.Float64("f", 1.5), slog.Duration("d", 7), slog.Bool("b", true),
		slog.Time("t", time.Unix(1, 5).UTC()), slog.Group("g", "x", 1, slog.Group("y", "z", "w")), slog.Any("e", errors.New("err")),
		slog.Any("l", []string{"a"}), slog.Any("m", map[string]int{"k": 1}), slog.Any("p", point{X: 1}), slog.Any("n", nil),
		slog.Any("v", valuer{slog.IntValue(3)}),
	}
	var out bytes.Buffer
	h := slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}})
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
	r.AddAttrs(attrs...)
	require.NoError(t, h.Handle(context.Background(), r))
	got, _ := encode(attrjson.NoLimit, attrs...)
	assert.JSONEq(t, out.String(), got)
	w := attrjson.Begin([]byte("before"), attrjson.NoLimit)
	w.Record(&r)
	buf, _ := w.End(attrjson.KeepAll)
	assert.Equal(t, "before"+got, string(buf))
}

func TestLimit(t *testing.T) {
	testscale.HostOnly(t)
	attrs := []slog.Attr{
		slog.String("message", "héllo wörld\n\x1b"), slog.Int("n", 12345), slog.Group("g", "a", "bcdef", slog.Group("h", "x", 1)),
		slog.Any("list", []string{"one", "two", "three"}), slog.Any("m", map[string]any{"k": []any{1, "v"}}), slog.Bool("last", true),
	}
	whole, _ := encode(attrjson.NoLimit, attrs...)
	for limit := range len(whole) + 5 {
		got, lost := encode(limit, attrs...)
		checkSafe(t, got, limit)
		assert.Equal(t, limit < len(whole), lost > 0, "%d of %d: %s", limit, len(whole), got)
		if lost == 0 {
			assert.Equal(t, whole, got)
		}
	}
	got, lost := encode(80, slog.String("k", strings.Repeat("long", 20)))
	assert.Equal(t, `{"k":"`+strings.Repeat("long", 17)+`l..."}`, got)
	assert.Equal(t, 1, lost)
}

func TestDuplicates(t *testing.T) {
	w := attrjson.Begin(nil, attrjson.NoLimit)
	w.Attrs([]slog.Attr{slog.Int("a", 1), slog.Group("g", "x", 1, "x", 2), slog.Int("a", 2), slog.Int("b", 3), slog.String("a", "last")})
	buf, lost := w.End(attrjson.KeepLast)
	assert.Equal(t, `{"g":{"x":2},"b":3,"a":"last"}`, string(buf))
	assert.Zero(t, lost)
}

// TestManyDuplicates: of many members of each key, the last one is left.
func TestManyDuplicates(t *testing.T) {
	const n = 2000
	w := attrjson.Begin(nil, attrjson.NoLimit)
	for i := range 3 * n {
		w.Key(fmt.Sprint(i % (2 * n)))
		w.Int(int64(i))
	}
	buf, lost := w.End(attrjson.KeepLast)
	assert.Zero(t, lost)
	var members map[string]int
	require.NoError(t, json.Unmarshal(buf, &members))
	require.Len(t, members, 2*n)
	for i := range n {
		require.Equal(t, 2*n+i, members[fmt.Sprint(i)])
	}
	assert.Equal(t, 2*n, bytes.Count(buf, []byte(":")), "each key once")
}

func TestPrefix(t *testing.T) {
	var p attrjson.Prefix
	base := p.WithAttrs([]slog.Attr{slog.Int("a", 1)}, attrjson.NoLimit)
	g := base.WithGroup("G")
	gh := g.WithGroup("H")
	ghb := gh.WithAttrs([]slog.Attr{slog.Int("b", 2)}, attrjson.NoLimit)
	deep := ghb.WithGroup("I")
	for _, c := range []struct {
		p     attrjson.Prefix
		attrs []slog.Attr
		want  string
	}{
		{p, nil, `{}`},
		{base, nil, `{"a":1}`},
		{g, nil, `{"a":1}`},
		{g, []slog.Attr{slog.Int("x", 1)}, `{"a":1,"G":{"x":1}}`},
		{gh, []slog.Attr{slog.Int("x", 1)}, `{"a":1,"G":{"H":{"x":1}}}`},
		{ghb, nil, `{"a":1,"G":{"H":{"b":2}}}`},
		{deep, nil, `{"a":1,"G":{"H":{"b":2}}}`},
		{deep, []slog.Attr{slog.Int("x", 1)}, `{"a":1,"G":{"H":{"b":2,"I":{"x":1}}}}`},
		{deep, []slog.Attr{slog.Group("none")}, `{"a":1,"G":{"H":{"b":2}}}`},
		{p.WithGroup("G").WithGroup("H"), []slog.Attr{slog.Int("x", 1)}, `{"G":{"H":{"x":1}}}`},
		{base.WithGroup(""), nil, `{"a":1}`},
	} {
		w := prefixed(&c.p, attrjson.NoLimit)
		w.Attrs(c.attrs)
		buf, lost := w.End(attrjson.KeepAll)
		assert.Equal(t, c.want, string(buf))
		assert.Zero(t, lost)
		w = prefixed(&attrjson.Prefix{}, attrjson.NoLimit)
		w.Prefix(&c.p)
		w.Attrs(c.attrs)
		buf, _ = w.End(attrjson.KeepAll)
		assert.Equal(t, c.want, string(buf), "written behind the start of the object")
		for limit := range len(c.want) {
			w := prefixed(&c.p, limit)
			w.Attrs(c.attrs)
			object, lost := end(&w, limit, attrjson.KeepAll)
			checkSafe(t, object, limit)
			assert.NotZero(t, lost+boolInt(c.want == "{}"), "%d of %s: %s", limit, c.want, object)
		}
	}
	// Two children of a clipped parent share nothing.
	base.Clip()
	one, two := base.WithAttrs([]slog.Attr{slog.Int("c", 1)}, 100), base.WithAttrs([]slog.Attr{slog.Int("d", 2)}, 100)
	w := prefixed(&one, 100)
	buf, _ := w.End(attrjson.KeepAll)
	assert.Equal(t, `{"a":1,"c":1}`, string(buf))
	w = prefixed(&two, 100)
	buf, _ = w.End(attrjson.KeepAll)
	assert.Equal(t, `{"a":1,"d":2}`, string(buf))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPrimitives writes an object without slog.
func TestPrimitives(t *testing.T) {
	w := attrjson.Begin(nil, attrjson.NoLimit)
	w.Key("empty")
	w.Null()
	w.Key("bytes")
	w.Bytes([]byte{1, 2, 255})
	w.Key("map")
	m := w.Object()
	w.Key("list")
	l := w.Array()
	w.Int(-1)
	w.Float(2.5)
	w.String("x")
	inner := w.Array()
	w.Close(inner)
	w.Close(l)
	w.Close(m)
	w.Key("none")
	g := w.Group()
	w.Close(g)
	w.Key("u")
	w.Uint(7)
	buf, lost := w.End(attrjson.KeepAll)
	assert.Equal(t, `{"empty":null,"bytes":"AQL/","map":{"list":[-1,2.5,"x",[]]},"u":7}`, string(buf))
	assert.Zero(t, lost)
}

func TestAppend(t *testing.T) {
	assert.Equal(t, `x"a\nb"`, string(attrjson.AppendString([]byte("x"), "a\nb")))
	assert.Equal(t, `1e-9`, strings.Replace(string(attrjson.AppendFloat(nil, 1e-9)), "e-09", "e-9", 1))
	assert.Equal(t, `"1970-01-01T00:00:00Z"`, string(attrjson.AppendTime(nil, time.Unix(0, 0).UTC())))
}

func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	buf := make([]byte, 0, 4096)
	attrs := fiveAttrs()
	at := time.Now()
	var p attrjson.Prefix
	p = p.WithAttrs(attrs, 1000).WithGroup("g")
	for name, f := range map[string]func(){
		"five attributes": func() { w := attrjson.Begin(buf, 4000); w.Attrs(attrs); w.End(attrjson.KeepAll) },
		"prefix":          func() { var w attrjson.Writer; p.Begin(&w, buf, 4000); w.Attrs(attrs); w.End(attrjson.KeepAll) },

		"time": func() { w := attrjson.Begin(buf, 4000); w.Key("t"); w.Time(at); w.End(attrjson.KeepAll) },
		"escapes": func() {
			w := attrjson.Begin(buf, 4000)
			w.Key("k\n")
			w.String("a\x1b\xff世")
			w.End(attrjson.KeepAll)
		},
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

func fiveAttrs() []slog.Attr {
	return []slog.Attr{
		slog.String("method", "GET"), slog.String("route", "/api/v1/users/{id}"), slog.Int("status", 200),
		slog.Duration("latency", 1500*time.Microsecond), slog.Bool("ok", true),
	}
}

func BenchmarkFiveAttrs(b *testing.B) {
	attrs, buf := fiveAttrs(), make([]byte, 0, 4096)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		w := attrjson.Begin(buf, 4000)
		w.Attrs(attrs)
		w.End(attrjson.KeepAll)
	}
}

// BenchmarkLongText: an attribute of 9.6 KB, written and cut to what a record holds, beside a record of slog.JSONHandler with it.
func BenchmarkLongText(b *testing.B) {
	for name, text := range map[string]string{
		"ASCII": strings.Repeat("0123456789abcdef", 600),
		"Lines": strings.Repeat("a line of a stack trace, mostly\n", 300),
		"Words": strings.Repeat("größere Wörter ", 540),
	} {
		attrs := []slog.Attr{slog.String("text", text)}
		b.Run(name+"/attrjson", func(b *testing.B) {
			buf := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				w := attrjson.Begin(buf, 4000)
				w.Attrs(attrs)
				object, _ := w.End(attrjson.KeepAll)
				truncationtest.Fit(object, 4000)
			}
		})
		b.Run(name+"/JSONHandler", func(b *testing.B) {
			h := slog.NewJSONHandler(io.Discard, nil)
			r := slog.NewRecord(time.Time{}, slog.LevelInfo, "message", 0)
			r.AddAttrs(attrs...)
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Handle(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("key", "value", "g", int64(-1), uint64(1), 0.5, 40, true)
	f.Add("k\x00\n", "\x1b\xff\u202e世\U000e0041", "", int64(math.MinInt64), uint64(math.MaxUint64), math.NaN(), 5, false)
	f.Fuzz(func(t *testing.T, key, value, group string, i int64, u uint64, x float64, limit int, keepAll bool) {
		limit %= 300
		attrs := []slog.Attr{
			slog.String(key, value), slog.Int64("i", i), slog.Group(group, key, value, slog.Group(key, "u", u)), slog.Float64("x", x),
			slog.Any("any", []any{value, i, map[string]any{key: value}}), slog.Any("struct", struct{ V string }{value}),
		}
		var p attrjson.Prefix
		p = p.WithAttrs(attrs[:2], limit).WithGroup(group).WithAttrs(attrs[2:3], limit)
		for _, begin := range []func() attrjson.Writer{
			func() attrjson.Writer { return attrjson.Begin(nil, limit) },
			func() attrjson.Writer { return prefixed(&p, limit) },
		} {
			w := begin()
			w.Attrs(attrs)
			d := attrjson.KeepAll
			if !keepAll {
				d = attrjson.KeepLast
			}
			object, _ := end(&w, limit, d)
			checkSafe(t, object, limit)
		}
		// Without a limit nothing is lost.
		got, lost := encode(attrjson.NoLimit, slog.String(key, value), slog.Uint64("u\x00", u))
		require.Zero(t, lost)
		checkSafe(t, got, math.MaxInt)
		require.Equal(t, value, parsed(t, attrjson.AppendString(nil, value)))
		require.Equal(t, key, parsed(t, attrjson.AppendString(nil, key)))
		var back map[string]any
		dec := json.NewDecoder(strings.NewReader(got))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&back))
		require.Equal(t, fmt.Sprint(u), fmt.Sprint(back["u\x00"]))
		if key != "u\x00" && text.UnescapeJSON(key) == key {
			for k, v := range back {
				if text.UnescapeJSON(k) == key {
					require.Equal(t, value, text.UnescapeJSON(v.(string)))
				}
			}
		}
	})
}

// parsed returns the string that a JSON text was written from, by way of encoding/json.
func parsed(t *testing.T, token []byte) string {
	t.Helper()
	var s string
	require.NoError(t, json.Unmarshal(token, &s))
	return text.UnescapeJSON(s)
}

// What was written as a string comes back byte for byte from every JSON parser.
func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"a\xff\x80b":   `"a\uefff\uef80b"`,
		"\uefff":       `"\uefee\uefbf\uefbf"`,
		"\uef7f\uf000": "\"\uef7f\uf000\"",
		"\xed\xb3\xbf": `"\uefed\uefb3\uefbf"`,
		"\u202e\x7f":   `"\u202e\u007f"`,
		"\U000e0041a":  `"\udb40\udc41a"`,
		"\U0001f600":   "\"\U0001f600\"",
		"\ufffd":       "\"\ufffd\"",
		`back\slash"`:  `"back\\slash\""`,
		"größe":        `"größe"`,
	} {
		got := attrjson.AppendString(nil, in)
		assert.Equal(t, want, string(got))
		assert.Equal(t, in, parsed(t, got))
	}
}

// Errors in a slice are their texts, as single errors are.
func TestErrors(t *testing.T) {
	got, _ := encode(attrjson.NoLimit, slog.Any("errs", []error{errors.New("a"), nil, errors.New("b\nc")}), slog.Any("none", []error(nil)))
	assert.Equal(t, `{"errs":["a",null,"b\nc"],"none":null}`, got)
}

// TestPanicWithPanickingValue: a method may panic with a value whose own method panics. Then fmt panics, too.
func TestPanicWithPanickingValue(t *testing.T) {
	text, object := "", ""
	panics := func(f func()) (did bool) { // assert.NotPanics prints the value, which ends the test
		defer func() { did = recover() != nil }()
		f()
		return false
	}
	assert.False(t, panics(func() { text = attrjson.ErrorText(panicsTwice{}) }))
	assert.Contains(t, text, "!PANIC:")
	assert.False(t, panics(func() { object, _ = encode(attrjson.NoLimit, slog.Any("k", panicsTwice{}), slog.Int("after", 1)) }))
	assert.Contains(t, object, `"after":1`)
}

type panicsTwice struct{}

func (panicsTwice) Error() string { panic(panicsTwice{}) }
