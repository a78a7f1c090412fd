package typedfield_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
)

type message struct {
	Level uint8           `uevent:"level"`
	Short string          `uevent:"short"`
	Long  string          `uevent:"long"`
	Left  typed.Truncated `uevent:"truncated"`
}

func TestPlanCutsTheLongestFirst(t *testing.T) {
	p := mustPlan[message](t)
	require.Equal(t, "event u8 level; __data_loc char[] short; __data_loc char[] long; u32 truncated", p.Declaration().String())
	v := message{Level: 7, Short: "short", Long: strings.Repeat("x", 100), Left: 12345}
	const fixed = 1 + 4 + 4 + 4
	limit := fixed + len("short\x00") + 20 + 1

	r, cut := appendPlan(t, p, &v, limit)
	assert.Equal(t, 1, cut)
	assert.Equal(t, "event: level=7 short=short long="+strings.Repeat("x", 17)+"... truncated=1", r.String())

	// The longest are cut to one length.
	v.Short = strings.Repeat("y", 200)
	r, cut = appendPlan(t, p, &v, fixed+20+20)
	assert.Equal(t, 2, cut)
	assert.Equal(t, "event: level=7 short="+strings.Repeat("y", 16)+"... long="+strings.Repeat("x", 16)+"... truncated=2", r.String())
}

// TestPlanKeepsShortTexts: texts that are shorter than the share stay whole, wherever they are, and the others get what they leave.
func TestPlanKeepsShortTexts(t *testing.T) {
	p := mustPlan[manyTexts](t)
	long := strings.Repeat("x", 500)
	v := manyTexts{long, "GET", long, "/v1/users/{id}", long, long, long, long, long, long, long, long, long, long, long, "timeout: 30 s"}
	const fixed, short = 16 * 4, len("GET") + len("/v1/users/{id}") + len("timeout: 30 s")
	const share = 17
	r, cut := appendPlan(t, p, &v, fixed+16+short+13*share)
	assert.Equal(t, 13, cut)
	want := make([]string, 16)
	for i := range want {
		want[i] = strings.Repeat("x", share-3) + "..."
	}
	want[1], want[3], want[15] = v.B, v.D, v.P
	var got []string
	for _, value := range r.All() {
		got = append(got, value.Text())
	}
	assert.Equal(t, want, got)
}

// TestPlanWritesInOrder: texts, ids and arrays stand in the order of the fields, whether or not they are cut.
func TestPlanWritesInOrder(t *testing.T) {
	type event struct {
		Trace [16]byte
		A     string
		F     float64
		Span  [8]byte
		Nums  []uint16
		UUID  [16]byte `uevent:",uuid"`
		B     string
		Left  typed.Truncated
	}
	p := mustPlan[event](t)
	long := strings.Repeat("\n", 3000)
	for _, v := range []event{
		{},
		{A: "a", F: 1, Nums: []uint16{1}, B: "b"},
		{A: "größe\n", B: "\x00"},
		{A: long, Nums: make([]uint16, 3000), B: long},
	} {
		for _, limit := range []int{1, 200, 300, 4064} {
			payload, cut := p.Append(nil, &v, limit)
			requireInOrder(t, layoutOf(t, p.Declaration()), payload)
			r, again := appendPlan(t, p, &v, limit)
			require.Equal(t, cut, again)
			trace, _ := r.Lookup("Trace")
			span, _ := r.Lookup("Span")
			id, _ := r.Lookup("UUID")
			require.Equal(t, strings.Repeat("0", 32)+strings.Repeat("0", 16), trace.Text()+span.Text())
			require.Len(t, id.Text(), 36)
		}
	}
}

func TestPlanAtTheLimit(t *testing.T) {
	p := mustPlan[message](t)
	v := message{Short: "ab", Long: "hello, world"}
	b, cut := p.Append(nil, &v, 0)
	require.Zero(t, cut)
	exact := len(b)
	for _, tt := range []struct {
		limit, cut int
		text       string
	}{
		{exact + 1, 0, "short=ab long=hello, world truncated=0"},
		{exact, 0, "short=ab long=hello, world truncated=0"},
		{exact - 1, 1, "short=ab long=hello, w... truncated=1"},
		{exact - 9, 1, "short=ab long=... truncated=1"},
		{exact - 10, 1, "short=ab long= truncated=1"},
		{exact - 14, 2, "short= long= truncated=2"},
		{exact - 17, 2, "short= long= truncated=2"},
		{1, 2, "short= long= truncated=2"},
	} {
		r, cut := appendPlan(t, p, &v, tt.limit)
		assert.Equal(t, tt.cut, cut, "limit %d", tt.limit)
		assert.Equal(t, "event: level=0 "+tt.text, r.String(), "limit %d", tt.limit)
	}
}

func TestPlanCutsEveryKind(t *testing.T) {
	type event struct {
		Hex  []byte          `uevent:"hex"`
		Text []byte          `uevent:"text,text"`
		Raw  []byte          `uevent:"raw,raw"`
		Nums []uint32        `uevent:"nums"`
		Left typed.Truncated `uevent:"left"`
	}
	p := mustPlan[event](t)
	v := event{
		Hex: bytes.Repeat([]byte{0xAB}, 100), Text: []byte(strings.Repeat("ö", 50)),
		Raw: bytes.Repeat([]byte{1}, 100), Nums: make([]uint32, 25),
	}
	// 20 bytes of fixed part; a share of 13, and one more for each NUL.
	r, cut := appendPlan(t, p, &v, 20+14+14+13+13)
	assert.Equal(t, "event: hex=ababababab... text=ööööö... raw={1,1,1,1,1,1,1,1,1,1,1,1,1} nums={0,0,0} left="+fmt.Sprint(cut), r.String())
	assert.Equal(t, 4, cut)
}

// TestPlanCutsHexDigits: of bytes, as many as there is room for beside the mark, or else none.
func TestPlanCutsHexDigits(t *testing.T) {
	type event struct {
		Hex  []byte
		Left typed.Truncated
	}
	p := mustPlan[event](t)
	v := event{Hex: []byte{0xAB, 0xCD, 0xEF, 1, 2, 3, 4, 5}}
	for room, want := range []string{
		"", "", "", "...", "...", "ab...", "ab...", "abcd...", "abcd...", "abcdef...", "abcdef...",
		"abcdef01...", "abcdef01...", "abcdef0102...", "abcdef0102...", "abcdef010203...", "abcdef0102030405", "abcdef0102030405",
	} {
		r, cut := appendPlan(t, p, &v, 8+room+1)
		left := 1
		if room >= 16 {
			left = 0
		}
		assert.Equal(t, left, cut)
		assert.Equal(t, fmt.Sprintf("event: Hex=%s Left=%d", want, left), r.String(), "room for %d", room)
	}
}

// TestPlanKeepsShortValues: a value of exactly the share is not cut, whatever its kind.
func TestPlanKeepsShortValues(t *testing.T) {
	type event struct {
		A, B, C, D, E, F string
		Hex              []byte
		Raw              []byte `uevent:",raw"`
		S                string
	}
	p := mustPlan[event](t)
	long := strings.Repeat("x", 500)
	const short = 64
	v := event{long, long, long, long, long, long, make([]byte, short/2), make([]byte, short), strings.Repeat("s", short)}
	const fixed, nuls = 9 * 4, 8
	r, cut := appendPlan(t, p, &v, fixed+nuls+9*short)
	assert.Equal(t, 6, cut)
	digits, _ := r.Lookup("Hex")
	assert.Equal(t, hex.EncodeToString(v.Hex), digits.Text())
	raw, _ := r.Lookup("Raw")
	assert.Equal(t, v.Raw, raw.Bytes())
	s, _ := r.Lookup("S")
	assert.Equal(t, v.S, s.Text())
	first, _ := r.Lookup("A")
	assert.Equal(t, strings.Repeat("x", short-3)+"...", first.Text())
}

// TestPlanKeepsIDs: texts leave room for the ids, which are written whole.
func TestPlanKeepsIDs(t *testing.T) {
	type event struct {
		S  string
		ID [16]byte
	}
	p := mustPlan[event](t)
	const rest = 2*4 + typedfield.TraceIDSize + len("\x00")
	for n := range 60 {
		v := event{S: strings.Repeat("x", n), ID: [16]byte{0xAB}}
		want, short := v.S, 0
		if n > 30 {
			want, short = strings.Repeat("x", 27)+"...", 1
		}
		r, cut := appendPlan(t, p, &v, rest+30)
		require.Equal(t, short, cut)
		require.Equal(t, "event: S="+want+" ID=ab"+strings.Repeat("0", 30), r.String())
	}
}

func TestPlanDefaultLimit(t *testing.T) {
	type event struct{ S string }
	p := mustPlan[event](t)
	v := event{strings.Repeat("x", 100000)}
	for _, tt := range []struct{ limit, want int }{
		{0, typedfield.DefaultLimit}, {-1, typedfield.DefaultLimit}, {8180, 8180}, {math.MaxInt, typed.MaxLimit}, {typed.MaxLimit + 1, typed.MaxLimit},
	} {
		b, cut := p.Append(nil, &v, tt.limit)
		assert.Len(t, b, tt.want)
		assert.Positive(t, cut)
		recordtest.RequireAccepted(t, p.Declaration(), b)
	}

	// A buffer with more room changes nothing.
	for n := typed.MaxLimit - 10; n < typed.MaxLimit+10; n++ {
		v.S = strings.Repeat("x", n)
		for _, room := range []int{typed.MaxLimit - 1, typed.MaxLimit, typed.MaxLimit + 4, typed.MaxLimit + 100} {
			b, cut := p.Append(make([]byte, 0, room), &v, math.MaxInt)
			assert.Len(t, b, min(4+n+1, typed.MaxLimit))
			assert.Equal(t, 4+n+1 > typed.MaxLimit, cut > 0)
			recordtest.RequireAccepted(t, p.Declaration(), b)
		}
	}
}

// Whatever a string is made of, and wherever in the payload it stands, the short way and the long way
// write the same values.
func TestPlanShortAndLongWayAgree(t *testing.T) {
	type short struct{ A, B string }
	type long struct {
		A, B string
		Left typed.Truncated // is never there on the short way
	}
	p, q := mustPlan[short](t), mustPlan[long](t)
	// Not the record as a string, which would replace what the plan did not.
	texts := func(r typed.Record) (texts []string) {
		for _, v := range r.All() {
			if v.Kind() == typed.KindText {
				texts = append(texts, v.Text())
			}
		}
		return texts
	}
	agree := func(s string) {
		escaped, _ := text.Append(nil, s, math.MaxInt)
		want := []string{string(escaped), "behind"}
		r, cut := appendPlan(t, p, &short{s, "behind"}, 0)
		require.Zero(t, cut)
		require.Equal(t, want, texts(r))
		r, cut = appendPlan(t, q, &long{A: s, B: "behind"}, 0)
		require.Zero(t, cut)
		require.Equal(t, want, texts(r))
	}
	agree("")
	text := strings.Repeat("letters", 10)
	for n := range 40 {
		agree(text[:n]) // with letters behind it in memory
	}
	for n := 0; n < 40; n += testscale.Count(1, 4) {
		for i := range n + 1 {
			for _, one := range []string{"z", " ", "~", "\n", "\\", "\x7f", "\x80", "\xff", "é", "\x00"} {
				agree(strings.Repeat("a", i) + one + strings.Repeat("a", n-i))
			}
		}
	}
}

func TestPlanAppendsToAnyBuffer(t *testing.T) {
	p := mustPlan[message](t)
	v := message{Short: "a", Long: "b"}
	want, _ := p.Append(nil, &v, 0)
	for _, dst := range [][]byte{nil, {}, []byte("x"), make([]byte, 5, 6), make([]byte, 100, 5000), make([]byte, 0, 64)} {
		b, _ := p.Append(dst, &v, 64)
		assert.Equal(t, string(dst)+string(want), string(b))
	}
}

// Nothing beyond limit bytes is written to, also where the buffer has more room.
func TestPlanStaysWithinTheLimit(t *testing.T) {
	p := mustPlan[message](t)
	v := message{Short: strings.Repeat("x", 70), Long: strings.Repeat("\n", 70)}
	for limit := 1; limit < 400; limit++ {
		buf := bytes.Repeat([]byte{0xEE}, 1000)
		b, _ := p.Append(buf[:10], &v, limit)
		end := 10 + max(limit, layoutOf(t, p.Declaration()).FixedSize())
		require.LessOrEqual(t, len(b), end)
		require.Equal(t, bytes.Repeat([]byte{0xEE}, 10), buf[:10])
		require.Equal(t, bytes.Repeat([]byte{0xEE}, 1000-end), buf[end:])
	}
}

func TestPlanConcurrently(t *testing.T) {
	p := mustPlan[everything](t)
	want, _ := p.Append(nil, &sample, 0)
	done := make(chan []byte)
	for range 4 {
		go func() {
			var b []byte
			for range 100 {
				b, _ = p.Append(b[:0], &sample, 0)
			}
			done <- b
		}()
	}
	for range 4 {
		assert.Equal(t, want, <-done)
	}
}

func FuzzPlan(f *testing.F) {
	type event struct {
		N    uint16          `uevent:"n"`
		A    string          `uevent:"a"`
		B    string          `uevent:"b"`
		Text []byte          `uevent:"text,text"`
		Hex  []byte          `uevent:"hex"`
		Nums []int16         `uevent:"nums"`
		F    float64         `uevent:"f"`
		ID   [8]byte         `uevent:"id"`
		Left typed.Truncated `uevent:"left"`
	}
	p, err := typed.PlanFor[event]("event")
	require.NoError(f, err)
	f.Add(uint16(1), "hello", "wörld\n", []byte("\xff\x00"), 3, 0.5, 0)
	f.Add(uint16(1), strings.Repeat("x", 5000), "", []byte("text"), 0, 1e300, 100)
	f.Fuzz(func(t *testing.T, n uint16, a, b string, data []byte, nums int, fl float64, limit int) {
		v := event{N: n, A: a, B: b, Text: data, Hex: data, Nums: make([]int16, min(max(nums, 0), 10000)), F: fl, Left: 99}
		limit %= 10000
		r, cut := appendPlan(t, p, &v, limit)
		require.Equal(t, text.Printable(r.String()), r.String())
		get := func(name string) typed.Value { v, _ := r.Lookup(name); return v }
		require.Equal(t, uint64(n), get("n").Uint64())
		require.Equal(t, uint64(cut), get("left").Uint64())
		if cut > 0 {
			return
		}
		whole := func(s string) string { out, _ := text.Append(nil, s, math.MaxInt); return string(out) }
		require.Equal(t, whole(a), get("a").Text())
		require.Equal(t, whole(b), get("b").Text())
		require.Equal(t, whole(string(data)), get("text").Text())
		require.Equal(t, fmt.Sprintf("%x", data), get("hex").Text())
		require.Equal(t, len(v.Nums), get("nums").Len())
		require.Equal(t, string(text.AppendFloat(nil, fl, 64)), get("f").Text())
	})
}
