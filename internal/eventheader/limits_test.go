package eventheader

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// every is an event with everything that can be cut.
func every(t testing.TB, arch arch, limit int) (payload []byte, want []node) {
	text := strings.Repeat("größe 日本語 😀 ", 5)
	texts := []any{text, text, "short"}
	ints := []any{}
	numbers := make([]int64, 50)
	for i := range numbers {
		numbers[i] = int64(i)
		ints = append(ints, int64(i))
	}
	id := sequence(1)
	want = []node{
		{Name: "utf8", Type: typeString, Value: text},
		{Name: "json", Type: typeJSON, Value: text},
		{Name: "bytes", Type: typeBytes, Value: []byte(text)},
		{Name: "texts", Type: typeString, Value: texts},
		{Name: "ints", Type: typeInt64, Value: ints},
		{Name: "number", Type: typeUint64, Value: uint64(42)},
		{Name: "id", Type: typeUUID, Value: id},
	}
	var e Encoder
	e.Begin([]byte("head"), &Header{Name: "every", Level: LevelInfo, arch: arch}, limit, sequence(1))
	e.String("utf8", text)
	e.JSON("json", text)
	e.Bytes("bytes", []byte(text))
	e.Strings("texts", []string{text, text, "short"})
	Ints(&e, "ints", numbers)
	e.Value("number", typeUint64, 42)
	e.network("id", typeUUID, id[:])
	payload, err := e.End()
	if err != nil {
		require.ErrorIs(t, err, errTooLarge)
	}
	return payload, want
}

// TestEachLimit encodes the same event with limits from nothing to more than it needs.
func TestEachLimit(t *testing.T) {
	testscale.HostOnly(t)
	for _, arch := range archs[1:] {
		smallest := len("head")
		for limit := 1; ; limit += testscale.Count(1, 5) + limit/100 {
			a, want := every(t, arch, limit)
			if len(a) > len("head") {
				requireFields(t, requireEvent(t, a[4:], limit), want)
				assert.GreaterOrEqual(t, len(a), smallest, "more room, smaller event")
				smallest = len(a) - 64 // what is cut elsewhere differs a little
			}
			if limit > 3000 {
				assert.Len(t, requireEvent(t, a[4:], limit), len(want), "nothing is cut")
				break
			}
		}
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, typ := range []Type{typeString, typeJSON} {
		for size := 200; size < 260; size++ {
			text := strings.Repeat("aé日😀\n\\\u202e\U000e0041\\\\\xff\"", 100)
			var e Encoder
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, size)
			addText(&e, "x", typ, text)
			nodes := requireEvent(t, end(t, &e), size)
			require.Len(t, nodes, 2)
			got := nodes[0].Value.(string)
			assert.True(t, utf8.ValidString(got))
			assert.NotContains(t, got, "\ufffd")
			assert.True(t, isCut(got, wantText(typ, text)), "%v: %q", typ, got)
			assert.NotEmpty(t, got)
			assert.Equal(t, node{Name: TruncatedField, Type: typeUint16, Value: uint64(1)}, nodes[1])
		}
	}
}

func TestTheLongestIsCutFirst(t *testing.T) {
	nodes := requireEvent(t, func() []byte {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
		e.String("a", strings.Repeat("a", 1000))
		e.String("id", strings.Repeat("1", 32))
		e.String("b", strings.Repeat("b", 500))
		e.Int64("n", 1)
		return end(t, &e)
	}(), 300)
	require.Len(t, nodes, 5)
	a, b := nodes[0].Value.(string), nodes[2].Value.(string)
	assert.Equal(t, strings.Repeat("1", 32), nodes[1].Value)
	assert.Len(t, a, len(b))
	assert.Greater(t, len(a), 90)
	assert.Equal(t, uint64(2), nodes[4].Value)
}

func TestEventNameIsCut(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "x" + strings.Repeat("é", 200), Level: LevelInfo}, 0)
	ev, err := Decode("p_L4K0", end(t, &e))
	require.NoError(t, err)
	assert.Equal(t, "x"+strings.Repeat("é", 127), ev.Name)
	nodes, err := ev.tree()
	require.NoError(t, err)
	assert.Equal(t, []node{{Name: TruncatedField, Type: typeUint16, Value: uint64(1)}}, nodes)
}

func TestLimitsThatAreOutOfRange(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for limit, want := range map[int]int{-1: defaultLimit, 0: defaultLimit, 1 << 20: maxLimit, maxLimit: maxLimit} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
		e.String("x", long)
		assert.Len(t, end(t, &e), want)
	}
}
