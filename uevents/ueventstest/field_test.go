package ueventstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
)

func TestParseFieldsAccepts(t *testing.T) {
	tests := []struct {
		args string
		want []field
	}{
		// The kernel's selftest dyn_test: basic_types.
		{"u64 a", []field{{"u64", "a", 8, 8}}},
		{"s64 a", []field{{"s64", "a", 8, 8}}},
		{"u32 a", []field{{"u32", "a", 8, 4}}},
		{"s32 a", []field{{"s32", "a", 8, 4}}},
		{"u16 a", []field{{"u16", "a", 8, 2}}},
		{"s16 a", []field{{"s16", "a", 8, 2}}},
		{"u8 a", []field{{"u8", "a", 8, 1}}},
		{"s8 a", []field{{"s8", "a", 8, 1}}},
		{"char a", []field{{"char", "a", 8, 1}}},
		{"unsigned char a", []field{{"unsigned char", "a", 8, 1}}},
		{"int a", []field{{"int", "a", 8, 4}}},
		{"unsigned int a", []field{{"unsigned int", "a", 8, 4}}},
		{"short a", []field{{"short", "a", 8, 2}}},
		{"unsigned short a", []field{{"unsigned short", "a", 8, 2}}},
		{"char[20] a", []field{{"char[20]", "a", 8, 20}}},
		{"unsigned char[20] a", []field{{"unsigned char[20]", "a", 8, 20}}},
		{"char[0x14] a", []field{{"char[0x14]", "a", 8, 20}}},
		{"unsigned char[0x14] a", []field{{"unsigned char[0x14]", "a", 8, 20}}},

		// dyn_test: loc_types.
		{"__data_loc char[] a", []field{{"__data_loc char[]", "a", 8, 4}}},
		{"__data_loc unsigned char[] a", []field{{"__data_loc unsigned char[]", "a", 8, 4}}},
		{"__rel_loc char[] a", []field{{"__rel_loc char[]", "a", 8, 4}}},
		{"__rel_loc unsigned char[] a", []field{{"__rel_loc unsigned char[]", "a", 8, 4}}},

		// dyn_test: size_types.
		{"struct custom a 20", []field{{"struct custom", "a", 8, 20}}},

		// Arrays.
		{"char[1] a", []field{{"char[1]", "a", 8, 1}}},
		{"char[1024] a", []field{{"char[1024]", "a", 8, 1024}}},
		{"char[024] a", []field{{"char[024]", "a", 8, 20}}},
		{"char[+7] a", []field{{"char[+7]", "a", 8, 7}}},
		{"char[20]x a", []field{{"char[20]x", "a", 8, 20}}},
		{"char[8\n] a", []field{{"char[8\n]", "a", 8, 8}}},

		// The type behind a location is not looked at.
		{"__rel_loc foo a", []field{{"__rel_loc foo", "a", 8, 4}}},
		{"__rel_loc  a", []field{{"__rel_loc ", "a", 8, 4}}},
		{"__data_loc unsigned  a", []field{{"__data_loc unsigned ", "a", 8, 4}}},

		// Sizes of structs.
		{"struct s a 020", []field{{"struct s", "a", 8, 20}}},
		{"struct s a +8", []field{{"struct s", "a", 8, 8}}},
		{"struct s a 2147483647", []field{{"struct s", "a", 8, math.MaxInt32}}},
		{"struct  a 8", []field{{"struct ", "a", 8, 8}}},

		// Separators, empty parts, and names that nobody checks.
		{"", nil},
		{" ; ;;", nil},
		{"u32 a;u8 b", []field{{"u32", "a", 8, 4}, {"u8", "b", 12, 1}}},
		{"u32 a; u8 b; u64 c;", []field{{"u32", "a", 8, 4}, {"u8", "b", 12, 1}, {"u64", "c", 13, 8}}},
		{"\t u32 a;\nu8 b", []field{{"u32", "a", 8, 4}, {"u8", "b", 12, 1}}},
		{"u32 a; u32 a", []field{{"u32", "a", 8, 4}, {"u32", "a", 12, 4}}},
		{"u32 ", []field{{"u32", "", 8, 4}}},
		{"unsigned int ", []field{{"unsigned int", "", 8, 4}}},
		{"u32 a:b-c", []field{{"u32", "a:b-c", 8, 4}}},
		{"u32 a\tb", []field{{"u32", "a\tb", 8, 4}}},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			got, err := parseFields(tt.args)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestParseFieldsRefuses(t *testing.T) {
	tests := []string{
		// dyn_test: basic_types.
		"char[aa] a",
		"char[9999] a",
		"char[0x0000000000001] a",
		// dyn_test: size_types.
		"struct custom a",
		"char a 20",

		"char[] a",
		"char[0] a",
		"char[1025] a",
		"char[-1] a",
		"char[20 a",
		"char[ a",
		"char [20] a",
		"u32[4] a",
		"unsigned short[4] a",
		"long a",
		"unsigned long a",
		"float a",
		"U32 a",
		"u32* a",
		"struct s a 0",
		"struct s a x",
		"struct s a -8",
		"struct s a 0x10",
		"struct s a 8 ",
		"struct s a 8 8",
		"struct s a 2147483648",
		"struct s a 4294967295",
		"struct s a 4294967296",
		"struct s",
		"struct",
		"__rel_loc char[] a 4",
		"__rel_loc char[]",
		"__rel_loc",
		"unsigned a",
		"unsigned  int a",
		"u32",
		"u32\ta",
		"u32  a",
		"u32 a ",
		"u32 a ;",
		"u32 a b",
		"u32 a; x",
		"u32 a; ; x",
	}
	for _, args := range tests {
		t.Run(args, func(t *testing.T) {
			_, err := parseFields(args)
			assert.ErrorIs(t, err, errno.EINVAL)
		})
	}
}

func TestFieldString(t *testing.T) {
	for _, text := range []string{
		"u32 a", "unsigned char b", "char[0x14] c", "struct s d 20", "__rel_loc char[] e", "__data_loc unsigned char[] f",
	} {
		fields, err := parseFields(text)
		require.NoError(t, err)
		assert.Equal(t, text, fields[0].String())
	}
	fields, err := parseFields("struct s a 020;u32 b")
	require.NoError(t, err)
	assert.Equal(t, "struct s a 20; u32 b", fieldList(fields), "sizes are printed as numbers")
}

func TestMinSize(t *testing.T) {
	tests := []struct {
		args string
		want uint64
	}{
		{"", 0},
		{"u8 a", 1},
		{"u8 a; u64 b", 9},
		{"u32 a; __rel_loc char[] b", 8},
		{"struct s a 4096", 4096},
		{"struct s a 2147483639", math.MaxInt32 - 8},
		// Sums that do not fit the kernel's int make the event impossible to write...
		{"struct s a 2147483647; u32 b", math.MaxUint64 - 1<<31 + 4},
		// ... or start again from zero.
		{"struct s a 2147483647; struct s b 2147483647; u64 c", 6},
	}
	for _, tt := range tests {
		fields, err := parseFields(tt.args)
		require.NoError(t, err, tt.args)
		assert.Equal(t, tt.want, minSize(fields), tt.args)
	}
}

func TestFieldsMatch(t *testing.T) {
	tests := []struct {
		first, second string
		want          bool
	}{
		// dyn_test: matching.
		{"u32 a", "u32 a", true},
		{"u32 a; u32 b", "u32 a; u32 b", true},
		{"u32 a; u32 b", "u32 a; u32 b;", true},
		{"u32 a", "u32 b", false},
		{"u32 a; u32 b", "u32 b; u32 a", false},
		{"u64 a; u64 b", "u32 a; u32 b", false},
		{"struct my_struct a 20", "struct my_struct a 20", true},
		{"struct my_struct a 20", "struct my_struct b 20", false},
		{"struct my_struct a 20", "struct my_struct a 21", false},

		// ftrace_test: register_events.
		{"u32 field1; u32 field2", "u32 field1;u32 field2", true},
		{"u32 field1; u32 field2", "u32 field1;", false},

		// White space does not matter, other than around a semicolon's left side.
		{"u32 a", "u32  a", true},
		{"u32 a", "\tu32\ta ", true},
		{"unsigned int a", "unsigned  int a", true},
		{"u32 a; u32 b", "u32 a ; u32 b", false},
		{"u32 a; u32 b", "u32 a;\n u32 b", true},

		// Text is compared, not meaning.
		{"char[20] a", "char[0x14] a", false},
		{"struct s a 20", "struct s a 020", false},
		{"struct s a 020", "struct s a 020", false},
		{"u32 a;", "u32 a", true},
		{"u32 a;", "u32 a;", true},
		{"u32 a;;", "u32 a;;", false},
		{"u32 a;; u8 b", "u32 a; u8 b", true},
		{"u32 ", "u32 ", false},

		// Without fields, and with more or fewer of them.
		{"", "", true},
		{"", " ", true},
		{"", "u32 a", false},
		{"u32 a", "", false},
		{"u32 a", "u32 a; u32 b", false},
		{"u32 a; u32 b", "u32 a", false},
	}
	for _, tt := range tests {
		t.Run(tt.first+" and "+tt.second, func(t *testing.T) {
			fields, err := parseFields(tt.first)
			require.NoError(t, err)
			assert.Equal(t, tt.want, fieldsMatch(fields, fieldWords(tt.second)))
		})
	}
}
