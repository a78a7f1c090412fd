package payload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// values decodes the fields of a payload.
func values(t *testing.T, s *Schema, buf []byte) map[string]string {
	t.Helper()
	decoder, err := typed.NewDecoder(s.Layout.Declaration(), nil)
	require.NoError(t, err)
	r, err := decoder.Decode(buf[Base:])
	require.NoError(t, err)
	values := map[string]string{}
	for _, f := range s.Layout.Declaration().Fields {
		v, ok := r.Lookup(f.Name)
		require.True(t, ok, f.Name)
		values[f.Name] = string(v.AppendTo(nil))
	}
	return values
}

// TestPut: each number is written to its own field, and each part of a text.
func TestPut(t *testing.T) {
	s := MustSchema(
		Field{Name: "a", Type: U8}, Field{Name: "b", Type: U8}, Field{Name: "c", Type: tracepoint.Scalar(tracepoint.U16)},
		Field{Name: "d", Type: U32}, Field{Name: "e", Type: U64}, TextField("f"), TextField("g"), TextField("h"), TextField("i"),
	)
	var b Builder
	b.Begin(s, nil, 1000)
	b.PutU8(s.At[1], 2)
	b.PutU16(s.At[2], 3)
	b.PutU32(s.At[3], 4)
	b.PutU64(s.At[4], 5)
	begin := len(b.Buf)
	b.Buf = append(b.Buf, "one\x00two\x00"...)
	b.EndPart(s.At[5], begin, begin+4)
	b.EndPart(s.At[6], begin+4, begin+4)
	b.EndPart(s.At[7], begin+4, begin+8)
	b.Text(s.At[8], "three")
	buf, truncated := b.End()
	assert.Zero(t, truncated)
	assert.Equal(t, map[string]string{"a": "0", "b": "2", "c": "3", "d": "4", "e": "5", "f": "one", "g": "", "h": "two", "i": "three"}, values(t, s, buf))
}

// TestEmptyTexts: a text without a byte leaves the payload as it is.
func TestEmptyTexts(t *testing.T) {
	s := MustSchema(TextField("a"), TextField("b"))
	var b Builder
	b.Begin(s, nil, 1000)
	before := string(b.Buf)
	b.Text(s.At[0], "")
	b.Raw(s.At[0], nil)
	b.EndRaw(s.At[1], len(b.Buf))
	b.EndPart(s.At[1], len(b.Buf), len(b.Buf))
	buf, _ := b.End()
	assert.Equal(t, before, string(buf))
}

// TestTruncatedField: the count stands in the field, wherever that is, and nowhere if there is none.
func TestTruncatedField(t *testing.T) {
	for _, s := range []*Schema{MustSchema(Truncated, Field{Name: "a", Type: U32}), MustSchema(Field{Name: "a", Type: U32}, Truncated), MustSchema(Field{Name: "a", Type: U32})} {
		var b Builder
		b.Begin(s, nil, 1000)
		before := string(b.Buf)
		b.Drop(2)
		b.Drop(1)
		buf, truncated := b.End()
		assert.Equal(t, 3, truncated)
		got := values(t, s, buf)
		assert.Equal(t, "0", got["a"])
		if count, ok := got[Truncated.Name]; ok {
			assert.Equal(t, "3", count)
		} else {
			assert.Equal(t, before, string(buf))
		}
	}
}

// TestLeast: the least limit is what the fixed part, the ids, a mark for each text and an empty object take.
func TestLeast(t *testing.T) {
	for least, fields := range map[int][]Field{
		4 + 4:              {TextField("a")},
		4 + 3:              {Attributes},
		4 + 33:             {TraceID},
		4 + 4 + 4 + 17 + 4: {{Name: "list", Type: String, Class: List}, SpanID, {Name: "n", Type: U32}},
		4 + 4 + 4 + 4 + 3:  {TextField("a"), Attributes, {Name: "n", Type: U32}},
	} {
		s := MustSchema(fields...)
		assert.NoError(t, s.CheckLimit(least))
		assert.EqualError(t, s.CheckLimit(least-1), fmt.Sprintf("a limit of %d bytes is too small: the event takes at least %d", least-1, least))
	}
}

// TestTextsUseTheRoom: texts are cut to exactly the room that there is, whether they share it or not.
func TestTextsUseTheRoom(t *testing.T) {
	s := MustSchema(Truncated, TextField("a"), TextField("b"))
	for _, c := range []struct {
		a, b   int
		limit  int
		wa, wb string
	}{
		{1000, 0, 113, strings.Repeat("x", 97) + "...", ""},
		{1000, 1000, 214, strings.Repeat("x", 97) + "...", strings.Repeat("y", 97) + "..."},
		{1000, 10, 124, strings.Repeat("x", 97) + "...", strings.Repeat("y", 10)},
		{50, 60, 34, strings.Repeat("x", 7) + "...", strings.Repeat("y", 7) + "..."}, // less than 64 bytes each
		{50, 60, 20, "...", "..."},
		{50, 60, 14, "", ""}, // less than the least limit
	} {
		var b Builder
		b.Begin(s, nil, c.limit)
		b.Text(s.At[1], strings.Repeat("x", c.a))
		b.Text(s.At[2], strings.Repeat("y", c.b))
		buf, _ := b.End()
		got := values(t, s, buf)
		assert.Equal(t, c.wa, got["a"], c)
		assert.Equal(t, c.wb, got["b"], c)
		assert.LessOrEqual(t, len(buf)-Base, c.limit)
	}
}

// TestLongEscapes: a text of which no more than the limit is written says that it was cut, however long its escapes are.
func TestLongEscapes(t *testing.T) {
	s := MustSchema(TextField("a"))
	for limit := s.least; limit < 100; limit++ {
		var b Builder
		b.Begin(s, nil, limit)
		b.Text(s.At[0], strings.Repeat("\U000e0041", 100))
		buf, truncated := b.End()
		assert.Equal(t, 1, truncated, limit)
		assert.LessOrEqual(t, len(buf)-Base, limit)
		assert.Regexp(t, `^(\\U000e0041)*\.\.\.$`, values(t, s, buf)["a"], limit)
	}
}

// TestShortTextBesideAnObject: a text of 64 bytes stays whole while an object beside it has attributes to drop, and a
// longer one is cut to 64 bytes before they are.
func TestShortTextBesideAnObject(t *testing.T) {
	members := make([]string, 40)
	for i := range members {
		members[i] = fmt.Sprintf(`"k%02d":1`, i)
	}
	object := "{" + strings.Join(members, ",") + "}"
	s := MustSchema(TextField("a"), Attributes)
	const fixed = 4 + 4 + 2
	for _, length := range []int{64, 100} {
		for limit := fixed + 64 + len(`{}`); limit < fixed+length+len(object); limit++ {
			var b Builder
			b.Begin(s, nil, limit)
			b.Text(s.At[0], strings.Repeat("x", length))
			b.Raw(s.At[1], []byte(object))
			buf, truncated := b.End()
			require.LessOrEqual(t, len(buf)-Base, limit)
			got := values(t, s, buf)
			kept := min(40, (limit-fixed-64-len(`{}`)+1)/len(members[0]+","))
			require.Equal(t, kept, strings.Count(got["attributes"], ":"), limit)
			space := limit - fixed - len(got["attributes"])
			if space < length {
				require.Equal(t, strings.Repeat("x", space-3)+"...", got["a"], limit)
				require.Equal(t, 40-kept+1, truncated)
			} else {
				require.Equal(t, strings.Repeat("x", length), got["a"], limit)
				require.Equal(t, 40-kept, truncated)
			}
		}
	}
}
