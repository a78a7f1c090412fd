package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/errno"
)

func TestParse(t *testing.T) {
	accepted := []string{
		"u64 a", "u32 a", "u16 a", "u8 a", "s64 a", "s32 a", "s16 a", "s8 a", "char a", "unsigned char a",
		"int a", "unsigned int a", "short a", "unsigned short a",
		"char[20] a", "unsigned char[20] a", "char[0x14] a", "unsigned char[0x14] a", "char[1024] a",
		"__data_loc char[] a", "__data_loc unsigned char[] a", "__rel_loc char[] a", "__rel_loc unsigned char[] a",
		"__rel_loc u8[] a", "__rel_loc s64[] a", "struct custom a 20", "", "u8 a;", "u8 a;u8 b", " u8 a",
	}
	refused := []string{
		"char[aa] a", "char[9999] a", "char[1025] a", "char[0] a", "u8[4] a", "int[2] a",
		"long a", "unsigned long a", "float a", "a", "u32", "struct custom a", "char a 20", "struct custom a b",
		"u8 a b c", "u8 a;;long b", "nonsense a",
	}
	eachWorld(t, func(t *testing.T, w world) {
		s := newSession(t, w)
		check := func(fields string, want error) {
			name := newName()
			_, err := s.try(0, name+" "+fields)
			assert.ErrorIs(t, err, want, "%q", fields)
			assert.Equal(t, want == nil, s.exists(t, name), "%q", fields)
			if err == nil {
				s.unregister(0)
			}
		}
		for _, fields := range accepted {
			check(fields, nil)
		}
		for _, fields := range refused {
			check(fields, errno.EINVAL)
		}
	})
}

func TestMatching(t *testing.T) {
	cases := []struct {
		first, second string
		match         bool
	}{
		{"u32 a", "u32 a", true},
		{"u32 a; u32 b", "u32 a; u32 b", true},
		{"u32 a; u32 b", "u32 a; u32 b;", true},
		{"u32 a; u32 b", "u32 a;u32 b", true},
		{"", "", true},
		{"u32 a", "u32 b", false},
		{"u32 a; u32 b", "u32 b; u32 a", false},
		{"u64 a; u64 b", "u32 a; u32 b", false},
		{"u32 a", "", false},
		{"", "u32 a", false},
		{"struct my_struct a 20", "struct my_struct a 20", true},
		{"struct my_struct a 20", "struct my_struct b 20", false},
		{"struct my_struct a 20", "struct my_struct a 21", false},
		{"__rel_loc char[] a", "__data_loc char[] a", false},
		{"char[4] a", "char[8] a", false},
	}
	eachWorld(t, func(t *testing.T, w world) {
		s := newSession(t, w)
		for i, c := range cases {
			name := newName()
			s.register(0, name+" "+c.first)
			_, err := s.try(1, name+" "+c.second)
			if c.match || !s.addresses() {
				assert.NoError(t, err, "case %d", i)
				s.unregister(1)
			} else {
				assert.ErrorIs(t, err, errno.EADDRINUSE, "case %d", i)
			}
			s.unregister(0)
		}
	})
}
