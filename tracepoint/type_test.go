package tracepoint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/tracepoint"
)

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
