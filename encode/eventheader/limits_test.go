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
func every(t testing.TB, arch Arch, limit int) (encoder, record []byte, want []Node) {
	text := strings.Repeat("größe 日本語 😀 ", 5)
	h := Header{Name: "every", Level: LevelInfo, Arch: arch}
	texts := []any{text, text, "short"}
	ints := []any{}
	for i := range 50 {
		ints = append(ints, int64(i))
	}
	want = []Node{
		{Name: "utf8", Type: TypeString, Value: text},
		{Name: "utf16", Type: TypeOf(String16, FormatUTF), Value: text},
		{Name: "utf32", Type: TypeOf(ZString32, FormatUTFBOM), Value: text},
		{Name: "latin1", Type: TypeOf(ZString8, FormatLatin1), Value: wantText(TypeOf(ZString8, FormatLatin1), text)},
		{Name: "json", Type: TypeJSON, Value: text},
		{Name: "xml", Type: TypeOf(String16, FormatXML), Value: text},
		{Name: "bytes", Type: TypeBytes, Value: []byte(text)},
		{Name: "texts", Type: TypeString, Value: texts},
		{Name: "ints", Type: TypeInt64, Value: ints},
		{Name: "number", Type: TypeUint64, Value: uint64(42)},
		{Name: "id", Type: TypeUUID, Value: sequence(1)},
	}
	var e Encoder
	e.Begin([]byte("head"), &h, limit, sequence(1))
	var fields []Field
	for _, w := range want {
		f := Field{Name: w.Name, Type: w.Type}
		switch v := w.Value.(type) {
		case string:
			e.Text(w.Name, w.Type, text)
		case []byte:
			e.Bytes(w.Name, v)
		case uint64:
			e.Uint64(w.Name, v)
		case UUID:
			e.Data(w.Name, w.Type, v[:])
		case []any:
			f.Array = Variable
			if w.Type == TypeString {
				e.Strings(w.Name, []string{text, text, "short"})
				break
			}
			numbers := make([]int64, len(v))
			for i := range v {
				numbers[i] = v[i].(int64)
			}
			Ints(&e, w.Name, numbers)
		}
		fields = append(fields, f)
	}
	encoder, err := e.End()
	if err != nil {
		require.ErrorIs(t, err, ErrTooLarge)
	}

	var r Record
	r.Begin([]byte("head"), mustSchema(t, h, fields...), limit, sequence(1))
	for _, w := range want {
		switch v := w.Value.(type) {
		case string:
			r.String(text)
		case []byte:
			r.Bytes(v)
		case uint64:
			r.Uint(v)
		case UUID:
			r.Bytes(v[:])
		case []any:
			r.Count(len(v))
			for _, v := range v {
				if text, ok := v.(string); ok {
					r.String(text)
				} else {
					r.Int(v.(int64))
				}
			}
		}
	}
	record, err = r.End()
	if err != nil {
		require.ErrorIs(t, err, ErrTooLarge)
	}
	return encoder, record, want
}

// TestEachLimit encodes the same event with limits from nothing to more than it needs.
func TestEachLimit(t *testing.T) {
	testscale.HostOnly(t)
	for _, arch := range archs[1:] {
		smallest := len("head")
		for limit := 1; ; limit += testscale.Count(1, 5) + limit/100 {
			a, b, want := every(t, arch, limit)
			if len(a) > len("head") {
				requireFields(t, requireEvent(t, a[4:], limit), want)
				assert.GreaterOrEqual(t, len(a), smallest, "more room, smaller event")
				smallest = len(a) - 64 // what is cut elsewhere differs a little
			}
			if len(b) > len("head") {
				nodes := requireEvent(t, b[4:], limit)
				requireFields(t, nodes, want)
				require.Equal(t, "id", nodes[len(want)-1].Name, "a record has all fields")
			}
			if limit > 3000 {
				assert.Equal(t, a, b)
				assert.Len(t, requireEvent(t, a[4:], limit), len(want), "nothing is cut")
				break
			}
		}
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	types := []Type{
		TypeString, TypeJSON, TypeOf(ZString8, FormatUTF), TypeOf(String16, FormatUTF), TypeOf(ZString16, FormatXML),
		TypeOf(String32, FormatDefault), TypeOf(String8, FormatLatin1),
	}
	for _, typ := range types {
		for size := 200; size < 260; size++ {
			text := strings.Repeat("aé日😀\n\\\u202e\U000e0041\\\\\xff\"", 100)
			var e Encoder
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, size)
			e.Text("x", typ, text)
			nodes := requireEvent(t, end(t, &e), size)
			require.Len(t, nodes, 2)
			got := nodes[0].Value.(string)
			assert.True(t, utf8.ValidString(got))
			assert.NotContains(t, got, "\ufffd")
			assert.True(t, isCut(got, wantText(typ, text)), "%v: %q", typ, got)
			assert.NotEmpty(t, got)
			assert.Equal(t, Node{Name: TruncatedField, Type: TypeUint16, Value: uint64(1)}, nodes[1])
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
	nodes, err := ev.Tree()
	require.NoError(t, err)
	assert.Equal(t, []Node{{Name: TruncatedField, Type: TypeUint16, Value: uint64(1)}}, nodes)
}

func TestLimitsThatAreOutOfRange(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for limit, want := range map[int]int{-1: DefaultLimit, 0: DefaultLimit, 1 << 20: MaxLimit, MaxLimit: MaxLimit} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
		e.String("x", long)
		assert.Len(t, end(t, &e), want)

		var r Record
		r.Begin(nil, mustSchema(t, Header{Name: "e", Level: LevelInfo}, Field{Name: "x", Type: TypeString}), limit)
		r.String(long)
		b, err := r.End()
		require.NoError(t, err)
		assert.Len(t, b, want)
	}
}
