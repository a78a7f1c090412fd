package tracepoint_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

// every names each type that the kernel accepts, in the kernel's own spelling.
var every = []struct {
	text string
	typ  tracepoint.Type
	size int
}{
	{"u8 f", tracepoint.Scalar(tracepoint.U8), 1},
	{"s8 f", tracepoint.Scalar(tracepoint.S8), 1},
	{"u16 f", tracepoint.Scalar(tracepoint.U16), 2},
	{"s16 f", tracepoint.Scalar(tracepoint.S16), 2},
	{"u32 f", tracepoint.Scalar(tracepoint.U32), 4},
	{"s32 f", tracepoint.Scalar(tracepoint.S32), 4},
	{"u64 f", tracepoint.Scalar(tracepoint.U64), 8},
	{"s64 f", tracepoint.Scalar(tracepoint.S64), 8},
	{"char f", tracepoint.Scalar(tracepoint.Char), 1},
	{"unsigned char f", tracepoint.Scalar(tracepoint.UChar), 1},
	{"short f", tracepoint.Scalar(tracepoint.Short), 2},
	{"unsigned short f", tracepoint.Scalar(tracepoint.UShort), 2},
	{"int f", tracepoint.Scalar(tracepoint.Int), 4},
	{"unsigned int f", tracepoint.Scalar(tracepoint.UInt), 4},
	{"char[20] f", tracepoint.Array(tracepoint.Char, 20), 20},
	{"unsigned char[16] f", tracepoint.Array(tracepoint.UChar, 16), 16},
	{"struct point f 24", tracepoint.StructOf("point", 24), 24},
	{"__rel_loc char[] f", tracepoint.Type{Kind: tracepoint.Char, Location: tracepoint.RelLoc}, 4},
	{"__rel_loc u8[] f", tracepoint.Type{Kind: tracepoint.U8, Location: tracepoint.RelLoc}, 4},
	{"__rel_loc s64[] f", tracepoint.Type{Kind: tracepoint.S64, Location: tracepoint.RelLoc}, 4},
	{"__rel_loc unsigned int[] f", tracepoint.Type{Kind: tracepoint.UInt, Location: tracepoint.RelLoc}, 4},
	{"__data_loc char[] f", tracepoint.Dynamic(tracepoint.Char), 4},
	{"__data_loc unsigned short[] f", tracepoint.Dynamic(tracepoint.UShort), 4},
}

func TestEveryTypePrintsAndParses(t *testing.T) {
	for _, tt := range every {
		t.Run(tt.text, func(t *testing.T) {
			d, err := tracepoint.Parse("e " + tt.text)
			require.NoError(t, err)
			require.Len(t, d.Fields, 1)
			assert.Equal(t, tracepoint.Field{Name: "f", Type: tt.typ}, d.Fields[0])
			assert.Equal(t, tt.text, d.FieldList())
			assert.Equal(t, "e "+tt.text, d.String())
			assert.Equal(t, tt.size, d.FixedSize())
		})
	}
}

func TestParseAcceptsWhatTheKernelAccepts(t *testing.T) {
	tests := []struct{ in, want string }{
		{"event", "event"},
		{"event ", "event"},
		{" event", "event"},
		{"event u32 a;u64 b", "event u32 a; u64 b"},
		{"event u32 a; u64 b;", "event u32 a; u64 b"},
		{"event  u32   a ;\tu64 b", "event u32 a; u64 b"},
		{"event ;;u32 a", "event u32 a"},
		{"event char[0x14] a", "event char[20] a"},
		{"event char[024] a", "event char[20] a"},
		{"event char[0X14] a", "event char[20] a"},
		{"event struct unsigned a 8", "event struct unsigned a 8"},
		{"event struct struct struct 8", "event struct struct struct 8"},
		{"event __rel_loc unsigned char[] a", "event __rel_loc unsigned char[] a"},
		{"event u8 unsigned", "event u8 unsigned"},
		{"azAZ_09 u8 z", "azAZ_09 u8 z"},
		{"event char[1024] a", "event char[1024] a"},
		{"event struct p a 1", "event struct p a 1"},
		{"event struct p a 4096", "event struct p a 4096"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			d, err := tracepoint.Parse(tt.in)
			require.NoError(t, err)
			assert.Equal(t, tt.want, d.String())
			again, err := tracepoint.Parse(d.String())
			require.NoError(t, err)
			assert.True(t, d.Equal(again))
		})
	}
}

func TestParseRefuses(t *testing.T) {
	long := strings.Repeat("n", 256)
	tests := []struct{ in, problem string }{
		{"", "event name is empty"},
		{"my.event", `must consist of letters`},
		{"1event", `must consist of letters`},
		{"my-event u8 a", `must consist of letters`},
		{"event;", `must consist of letters`},
		{"ev\nent", `must consist of letters`},
		{"größe", `must consist of letters`},
		{"event:flag u8 a", `"event:flag u8 a": event flags (name:flag)`},
		{"enable u8 a", "file of this name"},
		{"filter", "file of this name"},
		{long, "256 bytes long, the limit is 255"},
		{"event u8", `field 1: type without a field name`},
		{"event u8 a; u16", `field 2: type without a field name`},
		{"event unsigned", "unknown type"},
		{"event __rel_loc", "unknown type"},
		{"event struct", "unknown type"},
		{"event __rel_loc unsigned", "must end in []"},
		{"event u8 a b", `field 1 ("a"): unexpected "b" after the field name`},
		{"event u8 a 4", `unexpected "4"`},
		{"event u8 a.b", `field 1 ("a.b"): field name "a.b" must consist`},
		{"event u8 common_pid", "belong to the kernel"},
		{"event u8 a; u16 a", `field 2 ("a"): the name is taken by field 1`},
		{"event long a", `type "long" is refused by the kernel: use s64 or u64`},
		{"event unsigned long a", `use s64 or u64`},
		{"event float a", `unknown type "float"`},
		{"event u8[4] a", "fixed arrays of char and unsigned char only, not of u8"},
		{"event char[0] a", "bad array length"},
		{"event char[] a", "bad array length"},
		{"event char[1025] a", "array length 1025 is not between 1 and 1024"},
		{"event char[99999] a", "bad array length"},
		{"event char[0b11] a", "bad array length"},
		{"event char[1_0] a", "bad array length"},
		{"event char[-1] a", "bad array length"},
		{"event char[3 a", "bad array length"},
		{"event char[3]x a", "bad array length"},
		{"event __rel_loc char a", "must end in []"},
		{"event __rel_loc char[4] a", "must end in []"},
		{"event __rel_loc float[] a", "unknown type"},
		{"event __data_loc struct[] a", "unknown type"},
		{"event struct p a", "needs its size"},
		{"event struct p a x", `bad struct size "x"`},
		{"event struct p a -1", `bad struct size "-1"`},
		{"event struct p a 0", "struct size 0 is not between"},
		{"event struct p a 5000", "struct size 5000 is not between"},
		{"event struct p a 4097", "struct size 4097 is not between"},
		{"event struct p-q a 8", `struct name "p-q" is not an identifier`},
		{"event struct p a 8 9", `unexpected "8 9"`},
		{"event " + strings.Repeat("u8 a; ", 200), "the name is taken"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			_, err := tracepoint.Parse(tt.in)
			require.ErrorIs(t, err, tracepoint.ErrInvalid)
			require.ErrorIs(t, err, fs.ErrInvalid)
			var e *tracepoint.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorContains(t, err, tt.problem)
		})
	}
}

func TestParseErrorKeepsTheName(t *testing.T) {
	d, err := tracepoint.Parse("event u8 a; long b; u8 c")
	require.Error(t, err)
	assert.Equal(t, "event u8 a", d.String())
}

func TestErrorQuotesControlCharacters(t *testing.T) {
	_, err := tracepoint.Parse("event u8 \x1b[2J")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "\x1b")
}

func TestErrorOfAnUnnamedField(t *testing.T) {
	d := tracepoint.Declaration{Name: "event", Fields: []tracepoint.Field{{Type: tracepoint.Scalar(tracepoint.U8)}}}
	assert.EqualError(t, d.Validate(), `tracepoint declaration "event u8 ", field 1: field name is empty`)
}

func TestCommandLimit(t *testing.T) {
	name := strings.Repeat("n", 255)
	fields := func(last int) tracepoint.Declaration {
		return tracepoint.Declaration{Name: name, Fields: []tracepoint.Field{
			{Name: strings.Repeat("f", 240), Type: tracepoint.Scalar(tracepoint.U8)},
			{Name: strings.Repeat("g", last), Type: tracepoint.Scalar(tracepoint.U8)},
		}}
	}
	fits := fields(7)
	assert.Len(t, fits.String(), tracepoint.MaxCommand)
	assert.NoError(t, fits.Validate())
	err := fields(8).Validate()
	assert.ErrorContains(t, err, "512 bytes long, the kernel takes 511")
	var e *tracepoint.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, -1, e.Field, "no field of its own is too long")
}

func TestEqual(t *testing.T) {
	parse := func(s string) tracepoint.Declaration {
		d, err := tracepoint.Parse(s)
		require.NoError(t, err)
		return d
	}
	a := parse("event u8 a; struct p b 8")
	assert.True(t, a.Equal(parse("event u8 a;struct p b 8")))
	for _, other := range []string{"other u8 a; struct p b 8", "event u8 a", "event u8 c; struct p b 8", "event u8 a; struct p b 9", "event unsigned char a; struct p b 8"} {
		assert.False(t, a.Equal(parse(other)), other)
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range every {
		f.Add("e " + tt.text)
	}
	f.Add("event u32 a; __rel_loc char[] b;char[0x10] c")
	f.Add("event:x")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := tracepoint.Parse(s)
		if err != nil {
			require.ErrorIs(t, err, tracepoint.ErrInvalid)
			return
		}
		require.NoError(t, d.Validate())
		require.LessOrEqual(t, len(d.String()), tracepoint.MaxCommand)
		again, err := tracepoint.Parse(d.String())
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}

func TestKinds(t *testing.T) {
	tests := []struct {
		kind   tracepoint.Kind
		name   string
		size   int
		signed bool
	}{
		{tracepoint.Kind(0), "invalid", 0, false},
		{tracepoint.U8, "u8", 1, false},
		{tracepoint.S8, "s8", 1, true},
		{tracepoint.U16, "u16", 2, false},
		{tracepoint.S16, "s16", 2, true},
		{tracepoint.U32, "u32", 4, false},
		{tracepoint.S32, "s32", 4, true},
		{tracepoint.U64, "u64", 8, false},
		{tracepoint.S64, "s64", 8, true},
		{tracepoint.Char, "char", 1, true},
		{tracepoint.UChar, "unsigned char", 1, false},
		{tracepoint.Short, "short", 2, true},
		{tracepoint.UShort, "unsigned short", 2, false},
		{tracepoint.Int, "int", 4, true},
		{tracepoint.UInt, "unsigned int", 4, false},
		{tracepoint.Struct, "struct", 0, false},
		{tracepoint.Struct + 1, "invalid", 0, false},
		{255, "invalid", 0, false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.name, tt.kind.String())
		assert.Equal(t, tt.size, tt.kind.Size(), tt.name)
		assert.Equal(t, tt.signed, tt.kind.Signed(), tt.name)
	}
}

// Types that cannot be spelled must not be accepted either.
func TestValidateRefusesTypes(t *testing.T) {
	tests := []struct {
		typ     tracepoint.Type
		problem string
	}{
		{tracepoint.Type{}, "unknown type"},
		{tracepoint.Scalar(200), "unknown type"},
		{tracepoint.Type{Kind: tracepoint.U8, Location: 3}, "unknown location"},
		{tracepoint.Type{Kind: tracepoint.U8, Location: tracepoint.RelLoc, Len: 4}, "without a length"},
		{tracepoint.Type{Kind: tracepoint.Struct, Location: tracepoint.DataLoc}, "without a length"},
		{tracepoint.Array(tracepoint.Char, -1), "array length -1"},
		{tracepoint.Array(tracepoint.Char, 1025), "array length 1025"},
		{tracepoint.Array(tracepoint.U32, 2), "not of u32"},
		{tracepoint.StructOf("", 8), "is not an identifier"},
		{tracepoint.StructOf("a b", 8), "is not an identifier"},
		{tracepoint.StructOf("p", 0), "struct size 0"},
		{tracepoint.StructOf("p", -1), "struct size -1"},
	}
	for _, tt := range tests {
		d := tracepoint.Declaration{Name: "event", Fields: []tracepoint.Field{{Name: "f", Type: tt.typ}}}
		assert.ErrorContains(t, d.Validate(), tt.problem, tt.typ.String())
	}
}

func TestInvalidTypesPrint(t *testing.T) {
	assert.Equal(t, "invalid", tracepoint.Type{}.String())
	assert.Equal(t, "u8", tracepoint.Type{Kind: tracepoint.U8, Location: 9}.String())
}
