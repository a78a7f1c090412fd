package uevents_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func TestWrite(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		r := s.register(31, name+" u32 field1; u32 field2")
		payload := []byte{1, 0, 0, 0, 2, 0, 0, 0}
		good := record(r.Index, payload...)

		assert.ErrorIs(t, s.b.Write(good), errno.EBADF, "no tool is attached")
		assert.ErrorIs(t, s.b.Write(record(2, payload...)), errno.ENOENT, "unknown index")
		assert.ErrorIs(t, s.b.Write(record(1<<31, payload...)), errno.EINVAL, "negative index")
		assert.ErrorIs(t, s.b.Write(record(r.Index, payload[:7]...)), errno.EINVAL, "shorter than the fields")
		assert.ErrorIs(t, s.b.Write(good[:3]), errno.EFAULT, "no index")

		ftrace, perf := s.attach(t, ueventstest.Ftrace, name), s.attach(t, ueventstest.Perf, name)
		require.NoError(t, s.b.Write(good))
		require.NoError(t, s.b.Write(append(good, "more"...)), "bytes after the fields are kept")
		for _, tr := range []tool{ftrace, perf} {
			got := tr.payloads(t)
			require.Len(t, got, 2)
			assert.Equal(t, payload, got[0][:8])
			assert.Equal(t, "more", string(got[1][8:12]))
		}
		other := w.open(t)
		assert.ErrorIs(t, other.Write(good), errno.ENOENT, "an index belongs to a descriptor")
		ftrace.detach()
		perf.detach()
		assert.ErrorIs(t, s.b.Write(good), errno.EBADF)
	})
}

func TestWriteEmpty(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		r := s.register(31, name)
		for _, kind := range []ueventstest.Kind{ueventstest.Ftrace, ueventstest.Perf} {
			tr := s.attach(t, kind, name)
			err := s.b.Write(record(r.Index))
			if s.addresses() {
				require.NoError(t, err)
				assert.Len(t, tr.payloads(t), 1, kind)
			} else {
				require.ErrorIs(t, err, errno.EFAULT, "Linux 6.1 cannot copy nothing")
				assert.Empty(t, tr.payloads(t))
			}
			require.NoError(t, s.b.Write(record(r.Index, 0)))
			assert.Len(t, tr.payloads(t), 1, kind)
			tr.detach()
		}
	})
}

func TestWriteValidator(t *testing.T) {
	const rel = 4 // bytes from the start of the payload to where a __rel_loc counts from
	cases := []struct {
		name         string
		fields       string
		offset, size int
		data         string
		want         error
	}{
		{"in bounds", "__rel_loc char[] data", 0, 5, "Test\x00", nil},
		{"offset way out", "__rel_loc char[] data", 1024, 5, "Test\x00", errno.EFAULT},
		{"offset one out", "__rel_loc char[] data", 1, 5, "Test\x00", errno.EFAULT},
		{"size way out", "__rel_loc char[] data", 0, 1029, "Test\x00", errno.EFAULT},
		{"size one out", "__rel_loc char[] data", 0, 6, "Test\x00", errno.EFAULT},
		{"no NUL", "__rel_loc char[] data", 0, 5, "AAAAA", errno.EFAULT},
		{"unsigned char needs one too", "__rel_loc unsigned char[] data", 0, 5, "AAAAA", errno.EFAULT},
		{"NUL in the middle", "__rel_loc char[] data", 0, 5, "A\x00A\x00\x00", nil},
		{"numbers need no NUL", "__rel_loc u8[] data", 0, 5, "AAAAA", nil},
		{"numbers out of bounds", "__rel_loc u32[] data", 0, 6, "AAAAA", errno.EFAULT},
		{"ends before the NUL", "__rel_loc char[] data", 0, 4, "Test\x00", errno.EFAULT},
		{"empty at the start", "__rel_loc char[] data", 0, 0, "Test\x00", nil},
		{"empty inside", "__rel_loc char[] data", 2, 0, "Test\x00", errno.EFAULT},
		{"empty at the end", "__rel_loc char[] data", 5, 0, "Test\x00", nil},
		{"empty and no more bytes", "__rel_loc char[] data", 0, 0, "", nil},
		{"after a gap", "__rel_loc char[] data", 3, 2, "xxxA\x00", nil},
		{"data_loc counts from the entry", "__data_loc char[] data", 8 + rel, 5, "Test\x00", nil},
		{"data_loc one out", "__data_loc char[] data", 8 + rel + 1, 5, "Test\x00", errno.EFAULT},
		{"data_loc without NUL", "__data_loc char[] data", 8 + rel, 5, "AAAAA", errno.EFAULT},
	}
	eachWorld(t, func(t *testing.T, w world) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				s, name := newSession(t, w), newName()
				r := s.register(0, name+" "+c.fields)
				assert.ErrorIs(t, s.b.Write(record(r.Index)), errno.EINVAL, "the location word is a fixed field")
				loc := binary.NativeEndian.AppendUint32(nil, uint32(c.size<<16|c.offset))
				for _, kind := range []ueventstest.Kind{ueventstest.Ftrace, ueventstest.Perf} {
					tr := s.attach(t, kind, name)
					err := s.b.Write(record(r.Index, append(loc, c.data...)...))
					if c.want == nil {
						require.NoError(t, err)
						assert.Len(t, tr.payloads(t), 1)
					} else {
						require.ErrorIs(t, err, c.want)
						assert.Empty(t, tr.payloads(t))
					}
					tr.detach()
				}
			})
		}
	})
}

// TestSizes: large payloads are lost, and the write succeeds all the same. The library's limits follow from it.
func TestSizes(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		r := s.register(0, name)
		for _, kind := range []ueventstest.Kind{ueventstest.Ftrace, ueventstest.Perf} {
			tr, limit := s.attach(t, kind, name), w.limit(kind)
			for _, size := range []int{1, 100, 112, 4000, limit - 1, limit} {
				require.NoError(t, s.b.Write(record(r.Index, make([]byte, size)...)), size)
				require.Len(t, tr.payloads(t), 1, "%v, %d bytes", kind, size)
			}
			for _, size := range []int{limit + 1, limit + 4, limit + 8, limit + 10000, limit + 65536} {
				require.NoError(t, s.b.Write(record(r.Index, make([]byte, size)...)), size)
				require.Empty(t, tr.payloads(t), "%v, %d bytes", kind, size)
			}
			tr.detach()
		}
	})
}

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
