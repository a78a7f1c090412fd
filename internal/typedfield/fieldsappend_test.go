package typedfield_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// around is an event that has fields before and behind those of a struct type.
type around struct {
	layout *typedfield.Layout
	at     int // of the first field of the struct type
	behind int // of the field behind the last one
}

func newAround(t testing.TB, fields []typedfield.StructField) around {
	t.Helper()
	d := tracepoint.Declaration{Name: "e", Fields: []tracepoint.Field{
		{Name: "a", Type: tracepoint.Scalar(tracepoint.U8)},
		{Name: "b", Type: tracepoint.Dynamic(tracepoint.Char)},
	}}
	for _, f := range fields {
		d.Fields = append(d.Fields, f.Field)
	}
	d.Fields = append(d.Fields, tracepoint.Field{Name: "z", Type: tracepoint.Scalar(tracepoint.U32)})
	l, err := typedfield.NewLayout(d)
	require.NoError(t, err)
	offsets := l.Offsets()
	return around{l, offsets[2], offsets[len(offsets)-1]}
}

// appendFields writes a record of the event into a buffer with room bytes of capacity, and decodes it.
func appendFields[T any](t testing.TB, f *typedfield.Fields[T], v *T, most, room int) (r typed.Record, cut int) {
	t.Helper()
	e := newAround(t, f.List())
	start := len(prefix)
	b := e.layout.Begin(append(make([]byte, 0, room), prefix...))
	typedfield.PutU8(b, start, 42)
	typedfield.PutU32(b, start+e.behind, 99)
	b, _ = typedfield.AppendString(b, start, start+1, "first", 100)
	before := string(b[len(prefix)+e.layout.FixedSize():])
	b, cut = f.Append(b, start, start+e.at, v, most)
	require.Equal(t, before, string(b[len(prefix)+e.layout.FixedSize():][:len(before)]))
	require.Equal(t, prefix, string(b[:start]))
	payload := b[start:]
	recordtest.RequireAccepted(t, e.layout.Declaration(), payload)
	requireInOrder(t, e.layout, payload)
	r = recordtest.Decode(t, e.layout.Declaration(), payload)
	require.True(t, strings.HasPrefix(r.String(), "e: a=42 b=first "), r)
	require.True(t, strings.HasSuffix(r.String(), " z=99"), r)
	return r, cut
}

// requireInOrder checks that the values behind the fixed part are in the order of their fields, without gaps.
func requireInOrder(t testing.TB, l *typedfield.Layout, payload []byte) {
	t.Helper()
	end := l.FixedSize()
	for i, f := range l.Declaration().Fields {
		if f.Type.Location == tracepoint.Fixed {
			continue
		}
		word := binary.NativeEndian.Uint32(payload[l.Offsets()[i]:])
		begin, size := int(word&0xFFFF)-tracepoint.CommonSize, int(word>>16)
		if size == 0 || begin < l.FixedSize() {
			require.LessOrEqual(t, size, 1, "only an empty text is in the fixed part: %s", f.Name)
			continue
		}
		require.Equal(t, end, begin, f.Name)
		end += size
	}
	require.Len(t, payload, end)
}

// TestFieldsAgainstPlan: what Fields write into a larger event is what a Plan makes an event of.
func TestFieldsAgainstPlan(t *testing.T) {
	p, f := mustPlan[everything](t), mustFields[everything](t)
	long := sample
	long.Text, long.Body = strings.Repeat("é\n", 300), []byte(strings.Repeat("\xff", 300))
	for _, v := range []everything{{}, sample, long, {Text: "\x00", IP: []byte{1}, Raw: []byte{}, At: time.Unix(-1, 0)}} {
		want, _ := p.Append(nil, &v, typed.MaxLimit)
		plain := recordtest.Decode(t, p.Declaration(), want)
		requireInOrder(t, layoutOf(t, p.Declaration()), want)
		for _, room := range []int{0, len(want), 1000, 10000} {
			r, cut := appendFields(t, f, &v, typedfield.DefaultLimit, room)
			require.Zero(t, cut)
			require.Equal(t, "e: a=42 b=first "+strings.TrimPrefix(plain.String(), "event: ")+" z=99", r.String())
		}
	}
	for i, field := range f.List() {
		require.Equal(t, p.Declaration().Fields[i], field.Field)
	}
}

// TestFieldsCutEachValue: each value takes at most what the caller says, with its NUL; others are not touched.
func TestFieldsCutEachValue(t *testing.T) {
	type event struct {
		A, B string
		N    int32
		Hex  []byte
		Raw  []byte `uevent:",raw"`
		Nums []uint32
		ID   [16]byte
	}
	v := event{
		A: "short", B: strings.Repeat("\n", 100), N: -7, Hex: make([]byte, 100),
		Raw: make([]byte, 100), Nums: make([]uint32, 100), ID: [16]byte{1},
	}
	r, cut := appendFields(t, mustFields[event](t), &v, 17, 0)
	assert.Equal(t, 4, cut)
	assert.Equal(t, `e: a=42 b=first A=short B=\n\n\n\n\n\n... N=-7 Hex=000000000000... `+
		"Raw={0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} Nums={0,0,0,0} ID=01000000000000000000000000000000 z=99", r.String())

	for _, most := range []int{1, 0, -1, math.MinInt} {
		r, cut = appendFields(t, mustFields[event](t), &v, most, 0)
		assert.Equal(t, 5, cut)
		assert.Equal(t, `e: a=42 b=first A= B= N=-7 Hex= Raw={} Nums={} ID=01000000000000000000000000000000 z=99`, r.String())
	}
}

// TestFieldsNeedNoMoreRoom: whatever the buffer has room for, the same is written, and nothing behind its capacity.
func TestFieldsNeedNoMoreRoom(t *testing.T) {
	type strings3 struct{ A, B, C string }
	type hexes struct {
		ID  [16]byte
		Hex []byte
		Raw []byte `uevent:",raw"`
		N   uint8
		T   uint16
	}
	const start = 20
	check := func(t *testing.T, size int, write func(dst []byte) ([]byte, int)) {
		t.Helper()
		want, cut := write(make([]byte, start+size, 20000))
		for room := range len(want) - start - size + 2 {
			whole := bytes.Repeat([]byte{0xEE}, start+size+room+64)
			dst := whole[: start+size : start+size+room]
			clear(dst)
			got, again := write(dst)
			require.Equal(t, string(want), string(got), "room for %d bytes", room)
			require.Equal(t, cut, again)
			require.Equal(t, bytes.Repeat([]byte{0xEE}, 64), whole[start+size+room:])
		}
	}
	plain, mixed := mustFields[strings3](t), mustFields[hexes](t)
	v := strings3{"plain", strings.Repeat("long", 20), "x"}
	check(t, fixedSize(plain), func(dst []byte) ([]byte, int) { return plain.Append(dst, start, start, &v, 1000) })
	w := hexes{ID: [16]byte{1}, Hex: make([]byte, 100), Raw: make([]byte, 100)}
	check(t, fixedSize(mixed), func(dst []byte) ([]byte, int) { return mixed.Append(dst, start, start, &w, 1000) })
	check(t, fixedSize(mixed), func(dst []byte) ([]byte, int) { return mixed.Append(dst, start, start, &w, 64) })
}

// TestFieldsCutHexDigits: hex digits that are cut end in the mark, however much the buffer has to grow for them.
func TestFieldsCutHexDigits(t *testing.T) {
	type event struct{ Hex []byte }
	f := mustFields[event](t)
	v := event{bytes.Repeat([]byte{0xAB}, 600)}
	for most := 4; most <= 1201; most++ {
		want := strings.Repeat("ab", (most-1-len(text.CutMark))/2) + text.CutMark
		if most == 1201 {
			want = strings.Repeat("ab", 600)
		}
		b, _ := f.Append(make([]byte, 4), 0, 0, &v, most)
		require.Equal(t, want+"\x00", string(b[4:]))
	}
}

// TestFieldsKeepIDs: where a part's texts have no room beside its ids, the texts are cut.
func TestFieldsKeepIDs(t *testing.T) {
	type event struct {
		S  string
		ID [16]byte
	}
	f := mustFields[event](t)
	for n := 32<<10 - 50; n < 32<<10+50; n++ {
		v := event{S: strings.Repeat("x", n), ID: [16]byte{0xAB}}
		for _, room := range []int{100, 64 << 10} {
			r, cut := appendFields(t, f, &v, typed.MaxLimit, room)
			id, _ := r.Lookup("ID")
			require.Equal(t, "ab"+strings.Repeat("0", 30), id.Text())
			s, _ := r.Lookup("S")
			require.Len(t, s.Text(), min(n, 32<<10-typedfield.TraceIDSize-1))
			require.Equal(t, n > 32<<10-typedfield.TraceIDSize-1, cut > 0)
		}
	}
}

type manyTexts struct {
	A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P string
}

// TestFieldsOfHugeValues: whatever the values, locations stay within 16 bits, and short texts survive.
func TestFieldsOfHugeValues(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	v := manyTexts{huge, huge, huge, huge, huge, huge, huge, huge, "short", huge, huge, huge, huge, huge, huge, "last"}
	f := mustFields[manyTexts](t)
	for _, most := range []int{1000, typedfield.DefaultLimit, 8180, typed.MaxLimit / 2, typed.MaxLimit - 500, math.MaxInt} {
		r, cut := appendFields(t, f, &v, most, 100)
		assert.Equal(t, 14, cut)
		short, _ := r.Lookup("I")
		assert.Equal(t, "short", short.Text())
		last, _ := r.Lookup("P")
		assert.Equal(t, "last", last.Text())
		first, _ := r.Lookup("A")
		second, _ := r.Lookup("B")
		assert.Equal(t, first.Text(), second.Text(), "equal shares")
		assert.True(t, strings.HasSuffix(first.Text(), text.CutMark))
		assert.Len(t, first.Text(), min(most-1, (32<<10-len("short")-len("last")-0)/14-1))
	}
}

// TestFieldsBehindALargePayload: a part for which there is no room is empty, ids included, and its locations are valid.
func TestFieldsBehindALargePayload(t *testing.T) {
	type event struct {
		N    uint8
		Text string
		ID   [16]byte
		UUID [16]byte `uevent:",uuid"`
		Nums []uint16
		Raw  [3]uint64
	}
	f := mustFields[event](t)
	d := tracepoint.Declaration{Name: "event"}
	for _, field := range f.List() {
		d.Fields = append(d.Fields, field.Field)
	}
	dec, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	v := event{N: 7, Text: "text", ID: [16]byte{1}, UUID: [16]byte{2}, Nums: []uint16{1}, Raw: [3]uint64{1}}
	for size := typed.MaxLimit - 120; size < typed.MaxLimit+100; size++ {
		b, cut := f.Append(make([]byte, size), 0, 0, &v, 100)
		recordtest.RequireAccepted(t, d, b)
		r, err := dec.Decode(b)
		require.NoError(t, err)
		n, _ := r.Lookup("N")
		require.EqualValues(t, 7, n.Uint64())
		require.LessOrEqual(t, len(b), max(size, typed.MaxLimit))
		if size >= typed.MaxLimit {
			require.Equal(t, 5, cut)
			require.Len(t, b, size)
		}
	}
}

// TestFieldsStayWithinTheBuffer: a wrong place panics before anything is written; nothing before the part changes.
func TestFieldsStayWithinTheBuffer(t *testing.T) {
	f := mustFields[HTTPRequest](t)
	v := HTTPRequest{Method: "GET"}
	b := make([]byte, 100, 200)
	for _, place := range []struct{ start, at int }{
		{0, 100}, {0, 100 - fixedSize(f) + 1}, {-1, 0}, {50, 49}, {101, 101}, {0, math.MaxInt}, {math.MinInt, 0},
	} {
		assert.Panics(t, func() { f.Append(b, place.start, place.at, &v, 100) }, "%v", place)
	}
	assert.Panics(t, func() { f.Append(b, 0, 0, nil, 100) })
	assert.Panics(t, func() { f.Value(0, nil) })
	assert.Panics(t, func() { f.Value(5, &v) })
	assert.Equal(t, make([]byte, 200), b[:200])
	out, cut := f.Append(b, 0, 100-fixedSize(f), &v, 100)
	assert.Zero(t, cut)
	assert.Equal(t, make([]byte, 100-fixedSize(f)), out[:100-fixedSize(f)])
}

// TestFieldsOverwrite: what stood in the fields is of no importance.
func TestFieldsOverwrite(t *testing.T) {
	f := mustFields[everything](t)
	clean, _ := f.Append(make([]byte, fixedSize(f)), 0, 0, &everything{}, 100)
	dirty := []byte(strings.Repeat("\xEE", fixedSize(f)))
	out, _ := f.Append(dirty, 0, 0, &everything{}, 100)
	assert.Equal(t, clean, out)
}

func TestFieldsConcurrently(t *testing.T) {
	f := mustFields[everything](t)
	want, _ := f.Append(make([]byte, fixedSize(f)), 0, 0, &sample, 1000)
	done := make(chan []byte)
	for range 4 {
		go func() {
			var b []byte
			for range 100 {
				b, _ = f.Append(make([]byte, fixedSize(f)), 0, 0, &sample, 1000)
			}
			done <- b
		}()
	}
	for range 4 {
		assert.Equal(t, want, <-done)
	}
}

// FuzzFields: what a decoder reads is what the struct held, or visibly cut, whatever the values, the bounds and the buffer.
func FuzzFields(f *testing.F) {
	type event struct {
		N     int16
		A     string
		ID    [8]byte
		Text  []byte `uevent:",text"`
		Took  time.Duration
		Hex   []byte
		Nums  []int16
		F     float64
		Milli float32 `uevent:",scale=1000"`
		B     string
		At    time.Time
	}
	type plain struct { // only what the direct way writes
		N    int32
		A    string
		B    string
		Took time.Duration
	}
	fields, err := typedfield.FieldsOf[event]()
	require.NoError(f, err)
	direct, err := typedfield.FieldsOf[plain]()
	require.NoError(f, err)
	plan, err := typed.PlanFor[plain]("event")
	require.NoError(f, err)
	f.Add(int16(-1), "hello", "wörld\n", []byte("\xff\x00"), 3, 0.5, int64(1e18), 4064, 0)
	f.Add(int16(1), strings.Repeat("x", 5000), "", []byte("text"), 0, 1e300, int64(-1), 100, 5000)
	f.Fuzz(func(t *testing.T, n int16, a, b string, data []byte, nums int, fl float64, ns int64, most, room int) {
		most, room = most%10000, min(max(room, 0), 20000)
		v := event{
			N: n, A: a, ID: [8]byte{byte(n), 7: 1}, Text: data, Took: time.Duration(ns), Hex: data,
			Nums: make([]int16, min(max(nums, 0), 20000)), F: fl, Milli: float32(n) / 8, B: b, At: time.Unix(0, ns),
		}
		r, cut := appendFields(t, fields, &v, most, room)
		get := func(name string) typed.Value { v, _ := r.Lookup(name); return v }
		require.EqualValues(t, n, get("N").Int64())
		require.EqualValues(t, ns, get("Took").Int64())
		require.Equal(t, typedfield.UnixNano(v.At), get("At").Uint64())
		require.Equal(t, typedfield.Scale(float64(v.Milli), 1000), get("Milli").Int64())
		require.Equal(t, hex.EncodeToString(v.ID[:]), get("ID").Text())
		whole := func(s string) string { out, _ := text.Append(nil, s, math.MaxInt); return string(out) }
		changed := 0
		for name, want := range map[string]string{
			"A": whole(a), "B": whole(b), "Text": whole(string(data)), "Hex": hex.EncodeToString(data), "F": string(text.AppendFloat(nil, fl, 64)),
		} {
			got := get(name).Text()
			require.Less(t, len(got), max(most, 1)+1)
			if got != want {
				changed++
				require.Greater(t, len(want)+1, most, name)
				require.True(t, got == "" || strings.HasSuffix(got, text.CutMark), name)
			}
		}
		if got := get("Nums").Len(); got != len(v.Nums) {
			changed++
			require.LessOrEqual(t, 2*got, max(most, 0))
		}
		require.Equal(t, changed, cut)

		p := plain{int32(n), a, b, v.Took}
		r, cut = appendFields(t, direct, &p, most, room)
		if cut == 0 {
			payload, _ := plan.Append(nil, &p, typed.MaxLimit)
			want := recordtest.Decode(t, plan.Declaration(), payload)
			require.Equal(t, "e: a=42 b=first "+strings.TrimPrefix(want.String(), "event: ")+" z=99", r.String())
		}
	})
}
