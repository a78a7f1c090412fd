package attrjson

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
)

// TestEscapedTextOfEachSize: a text is whole, or cut to as many characters as there is room for with the mark, or left out, and
// nothing is written behind the end.
func TestEscapedTextOfEachSize(t *testing.T) {
	requireEachSize(t, nil)
	for n := range 20 {
		requireEachSize(t, strings.Split(strings.Repeat("p", n), ""))
	}
	pieces := []string{"a", "\n", "é", "\"", "\\", "b", "c", "😀", "\x1b", "\xff", "d", "\u202e", "世", "\U000e0041", "e", "f"}
	for first := range pieces {
		order := append(append([]string{}, pieces[first:]...), pieces[:first]...)
		requireEachSize(t, order)
	}
}

// requireEachSize writes the text of these characters with room for each number of bytes.
func requireEachSize(t *testing.T, order []string) {
	t.Helper()
	var escaped []string
	for _, p := range order {
		token := AppendString(nil, p)
		escaped = append(escaped, string(token[1:len(token)-1]))
	}
	whole := `"` + strings.Join(escaped, "") + `"`
	for _, before := range []int{0, 3} {
		for size := range len(whole) + 3 {
			want, fits := whole, size >= len(whole)
			if !fits {
				want = ""
				for k, sum := 0, len(`"`+text.CutMark+`"`); sum <= size; k++ {
					want = `"` + strings.Join(escaped[:k], "") + text.CutMark + `"`
					sum += len(escaped[k])
				}
			}
			buf := []byte(strings.Repeat("#", before+size+50))
			dst := buf[: before : before+size]
			got, ok := appendEscaped(dst, strings.Join(order, ""), before+size)
			require.Equal(t, want, string(got[before:]), "%d of %d bytes", size, len(whole))
			require.Equal(t, fits, ok)
			require.Equal(t, strings.Repeat("#", before), string(buf[:before]))
			require.Equal(t, strings.Repeat("#", 50), string(buf[before+size:]))
			if len(got) > 0 {
				require.Same(t, &buf[0], &got[0], "a buffer with room up to the end does not grow")
			}
		}
	}
}

// TestLargeEncodersAreNotKept: a huge value does not make the pool hold huge buffers.
func TestLargeEncodersAreNotKept(t *testing.T) {
	for _, size := range []int{maxPooled / 2, maxPooled, 2 * maxPooled} {
		for encoders.Get().(*encoder).out.Cap() > 0 { // the next one is new
		}
		w := Begin(nil, NoLimit)
		w.Key("k")
		w.Any(json.RawMessage(`"` + strings.Repeat("x", size-len(`""`)) + `"`)) // encoding/json writes a newline more
		for range 10 {
			e := encoders.Get().(*encoder)
			assert.LessOrEqual(t, e.out.Cap(), maxPooled)
			assert.LessOrEqual(t, cap(e.clean), maxPooled)
		}
	}
}

// TestEncodersAreKept: encoding/json gets buffers that were used before.
func TestEncodersAreKept(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: pools forget at random")
	}
	v, buf := any(json.RawMessage(`{"a":1}`)), make([]byte, 0, 200)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		w := Begin(buf, NoLimit)
		w.Key("k")
		w.Any(v)
	}), 0.0)
}

// TestEnter: exactly maxEntered groups of an object are written.
func TestEnter(t *testing.T) {
	w := Begin(nil, NoLimit)
	for range maxEntered + 5 {
		w.Key("k")
		w.Any([]int{1})
	}
	buf, dropped := w.End(KeepAll)
	assert.Equal(t, 5, dropped)
	assert.Equal(t, maxEntered, strings.Count(string(buf), "[1]"))
}

// TestLargestValue: an encoded value may be as large as an object.
func TestLargestValue(t *testing.T) {
	value := json.RawMessage(`"` + strings.Repeat("x", maxObject-2) + `"`)
	w := Begin(nil, 100)
	w.Key("k")
	w.Any(value)
	buf, dropped := w.End(KeepAll)
	assert.Zero(t, dropped)
	assert.Greater(t, len(buf), maxObject)
}

// TestSharesOfManyLongTexts: once an object is many times as long as its limit, the n-th long text or binary gets an n-th of the limit,
// whatever stands before the object.
func TestSharesOfManyLongTexts(t *testing.T) {
	const limit, n = 8000, 40
	long := "\n" + strings.Repeat("x", 2*limit) // which is not copied as it is, although there may be room
	for _, before := range []int{0, 2 * maxObject} {
		w := Begin(make([]byte, before), limit)
		for i := range n {
			w.Key("k")
			begin, want := w.n, limit
			if begin-before >= plenty*limit {
				want = limit / (i + 1)
			}
			if i%2 == 0 {
				w.String(long)
			} else {
				w.Bytes([]byte(long))
				want = (want + len(`""`)) / 4 * 4 // base64 has groups of four
			}
			require.Equal(t, want, w.n-begin-len(`"",`), i)
		}
		buf, dropped := w.End(KeepAll)
		require.Zero(t, dropped)
		require.True(t, json.Valid(buf[before:]))
	}
}

// TestLongArraysCount: an array that is cut counts as a long text does.
func TestLongArraysCount(t *testing.T) {
	const limit = 1000
	w := Begin(nil, limit)
	w.Key("a")
	w.Any(make([]int64, 1<<20))
	w.Key("t")
	begin := w.n
	w.String("\n" + strings.Repeat("x", 2*limit))
	assert.Equal(t, limit/2, w.n-begin-len(`"",`))
}

var (
	fewAttrs  = []slog.Attr{slog.Int("a", 1)}
	hugeAttrs = []slog.Attr{slog.Any("huge", json.RawMessage(`"`+strings.Repeat("x", maxObject)+`"`))}
)

// TestPrefixStopsToGrow: a prefix has hardly more members than fit the limit, and counts the others. Where later ones
// replace earlier ones, it has all.
func TestPrefixStopsToGrow(t *testing.T) {
	const n, limit = 10_000, 4000
	for _, d := range []Duplicates{KeepAll, KeepLast} {
		p := Prefix{Duplicates: d}
		for i := range n {
			p = p.WithAttrs([]slog.Attr{slog.Int("number", i), slog.String("text", strings.Repeat("x", 100))}, limit)
		}
		members := strings.Count(string(p.body), `":`)
		assert.Equal(t, 2*n, members+p.dropped)
		if d == KeepLast {
			assert.Zero(t, p.dropped)
			continue
		}
		assert.Greater(t, p.least, limit)
		assert.Less(t, p.least, limit+100)
		assert.Less(t, len(p.body), 2*limit)
	}
	var p Prefix
	for i := range n {
		p = p.WithAttrs([]slog.Attr{slog.Int("number", i)}, limit).WithGroup("g")
	}
	assert.Equal(t, n, strings.Count(string(p.body), `"number":`)+p.dropped)
	assert.Less(t, len(p.body)+len(p.lazy), 2*limit)
	p = Prefix{}
	for range 10 * n {
		p = p.WithGroup("group")
	}
	assert.Less(t, len(p.lazy), mostLazy+20)
}

// TestPrefixCountsDropped: values that a prefix drops are counted, also where nothing of the attributes is left.
func TestPrefixCountsDropped(t *testing.T) {
	var p Prefix
	for i := range 3 {
		assert.Equal(t, i == 0, p.Empty())
		var w, behind Writer
		p.Begin(&w, nil, 100)
		_, dropped := w.End(KeepAll)
		assert.Equal(t, i, dropped)
		(&Prefix{}).Begin(&behind, nil, 100)
		behind.Prefix(&p)
		_, dropped = behind.End(KeepAll)
		assert.Equal(t, i, dropped)
		p = p.WithAttrs(hugeAttrs, 100)
	}
	p = Prefix{}.WithGroup("g")
	assert.True(t, p.Empty())
	p = p.WithAttrs(fewAttrs, 100)
	assert.False(t, p.Empty())
}

// TestPrefixBehind: texts that a prefix has cut are cut to the same shares behind the members of others.
func TestPrefixBehind(t *testing.T) {
	long := slog.String("long", strings.Repeat("x", 9000))
	for limit := 20; limit < 1200; limit += 7 {
		p := Prefix{}.WithAttrs([]slog.Attr{long, long, long}, limit)
		var w, behind Writer
		p.Begin(&w, nil, limit)
		w.Attrs([]slog.Attr{long})
		(&Prefix{}).Begin(&behind, nil, limit)
		behind.Prefix(&p)
		behind.Attrs([]slog.Attr{long})
		assert.Equal(t, w.capped, behind.capped)
		want, dropped := w.End(KeepAll)
		got, alsoDropped := behind.End(KeepAll)
		require.Equal(t, string(want), string(got))
		assert.Equal(t, dropped, alsoDropped)
	}
}

// TestAppendStringAllocations: a text is written without allocating where there is room, and else with one allocation.
func TestAppendStringAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	plain, buf := strings.Repeat("plain", 20), make([]byte, 10, 300)
	escaped := "line\n" + plain
	for want, f := range map[string]func(){
		"plain":    func() { AppendString(buf, plain) },
		"escaped":  func() { AppendString(buf, escaped) },
		"no room":  func() { AppendString(nil, plain) },
		"no room2": func() { AppendString(buf[:10:100], plain) },
	} {
		most := 0.0
		if strings.HasPrefix(want, "no room") {
			most = 1
		}
		assert.LessOrEqual(t, testing.AllocsPerRun(100, f), most, want)
	}
}
