package uevents_test

import (
	"encoding/binary"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// The tests of this file state what the kernel does, at the seam below the library's
// policies, and run unchanged against the models and the real kernels. They hold at least
// what the kernel's own selftests hold (tools/testing/selftests/user_events).

// eventually is how long the kernel may take to delete an event in the background.
const eventually = 10 * time.Second

type session struct {
	t *testing.T
	world
	b    backend.Backend
	word *atomic.Uintptr
	used []uint8
}

func newSession(t *testing.T, w world) *session {
	// The kernel ties registrations to threads, and nobody else does it for us here.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	b := w.open(t)
	s := &session{t: t, world: w, b: b}
	if b.ABI() == backend.EnableAddress {
		var err error
		s.word, err = b.NewWord()
		require.NoError(t, err)
		cleaner := w.open(t) // the test may close b
		t.Cleanup(func() {
			for _, bit := range s.used {
				_ = cleaner.Unregister(s.word, bit) // most tests have
			}
			cleaner.FreeWord(s.word)
		})
	}
	return s
}

func (s *session) addresses() bool { return s.b.ABI() == backend.EnableAddress }

// try registers at a bit.
func (s *session) try(bit uint8, command string, flags uint16) (backend.Registration, error) {
	s.used = append(s.used, bit)
	return s.b.Register(backend.Request{Command: command, Flags: flags, Word: s.word, Bit: bit})
}

func (s *session) register(bit uint8, command string) backend.Registration {
	s.t.Helper()
	r, err := s.try(bit, command, 0)
	require.NoError(s.t, err)
	return r
}

func (s *session) unregister(bit uint8) {
	s.t.Helper()
	require.NoError(s.t, s.b.Unregister(s.word, bit))
}

func (s *session) gone(event string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return !s.exists(s.t, event) }, eventually, time.Millisecond)
}

func on(r backend.Registration) bool { return r.Word.Load()&r.Mask != 0 }

func record(index uint32, payload ...byte) []byte {
	return append(binary.NativeEndian.AppendUint32(nil, index), payload...)
}

func TestRegister(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		fields := " u32 field1; u32 field2"
		first := s.register(31, name+fields)
		assert.Zero(t, first.Index, "indexes of a descriptor start at 0")
		if s.addresses() {
			_, err := s.try(31, name+fields, 0)
			assert.ErrorIs(t, err, errno.EADDRINUSE, "same address and bit twice")
		}
		assert.Equal(t, first.Index, s.register(30, name+fields).Index, "same event on the same descriptor")
		last := s.register(29, name+" u32 field1;u32 field2")
		assert.Equal(t, first.Index, last.Index, "spaces between fields do not matter")

		conflict, err := s.try(28, name+" u32 field1;", 0)
		if s.addresses() {
			assert.ErrorIs(t, err, errno.EADDRINUSE)
		} else {
			assert.NoError(t, err, "these kernels look at the name only")
			assert.Equal(t, first.Index, conflict.Index)
		}
		assert.Equal(t, first.Index+1, s.register(27, newName()+" u8 x").Index, "the next event has the next index")

		require.False(t, on(first))
		tr := s.attach(t, ueventstest.Ftrace, name)
		for _, r := range []backend.Registration{first, last} {
			assert.True(t, on(r), "every registration is told")
		}
		if s.addresses() {
			assert.EqualValues(t, uintptr(1<<31|1<<30|1<<29), s.word.Load(), "and no other bit")
		}
		tr.detach()
		assert.False(t, on(first))
		assert.False(t, on(last))

		assert.ErrorIs(t, s.b.Delete(name), errno.EBUSY, "a descriptor holds it")
		for _, bit := range []uint8{31, 30, 29} {
			s.unregister(bit)
		}
		require.True(t, s.exists(t, name))
		require.NoError(t, s.b.Close())
		if s.addresses() {
			s.gone(name)
		} else {
			assert.True(t, s.exists(t, name), "these kernels keep every event")
			assert.NoError(t, w.open(t).Delete(name))
			assert.False(t, s.exists(t, name))
		}
	})
}

func TestEnablement(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		r := s.register(0, name)
		for _, kind := range []ueventstest.Kind{ueventstest.Ftrace, ueventstest.Perf} {
			tr := s.attach(t, kind, name)
			assert.True(t, on(r), kind)
			tr.detach()
			assert.False(t, on(r), kind)
		}
		one, two := s.attach(t, ueventstest.Ftrace, name), s.attach(t, ueventstest.Perf, name)
		one.detach()
		assert.True(t, on(r), "the other tool is still there")
		two.detach()
		assert.False(t, on(r))
		if s.b.ABI() == backend.StatusByte {
			tr := s.attach(t, ueventstest.Perf, name)
			assert.Equal(t, 1, popcount(r.Word.Load()&r.Mask), "a bit for each kind of tool")
			s.attach(t, ueventstest.Ftrace, name)
			assert.Equal(t, 2, popcount(r.Word.Load()&r.Mask))
			tr.detach()
		}
	})
}

// TestUnregister: the word is cleared by unregistering, and left alone afterwards.
func TestUnregister(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		if !s.addresses() {
			t.Skip("not on this kernel: it unregisters nothing")
		}
		s.register(0, name)
		tr := s.attach(t, ueventstest.Ftrace, name)
		assert.EqualValues(t, 1, s.word.Load())
		s.unregister(0)
		assert.Zero(t, s.word.Load())
		tr.detach()
		tr = s.attach(t, ueventstest.Ftrace, name)
		assert.Zero(t, s.word.Load())
		assert.ErrorIs(t, s.b.Unregister(s.word, 0), errno.ENOENT, "twice")
		assert.ErrorIs(t, s.b.Unregister(s.word, 5), errno.ENOENT, "never registered")
		// An event that is traced already is enabled from the start.
		assert.True(t, on(s.register(1, name)))
		tr.detach()
	})
}

func popcount(x uintptr) (n int) {
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}

func TestSharedWord(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s := newSession(t, w)
		if !s.addresses() {
			t.Skip("not on this kernel: it chooses the words")
		}
		var events []string
		for bit := range uint8(backend.WordBits) {
			events = append(events, newName())
			assert.EqualValues(t, bit, s.register(bit, events[bit]).Index)
		}
		for _, bit := range []int{0, 7, 31, backend.WordBits - 1} {
			tr := s.attach(t, ueventstest.Ftrace, events[bit])
			assert.Equal(t, uintptr(1)<<bit, s.word.Load())
			tr.detach()
		}
		assert.Zero(t, s.word.Load())
		_, err := s.try(backend.WordBits, newName(), 0)
		assert.ErrorIs(t, err, errno.EINVAL, "a word has no more bits")
	})
}

func TestWrite(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		r := s.register(31, name+" u32 field1; u32 field2")
		payload := []byte{1, 0, 0, 0, 2, 0, 0, 0}
		good := record(r.Index, payload...)

		assert.ErrorIs(t, s.b.Write(good), errno.EBADF, "nobody traces")
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
				tr := s.attach(t, ueventstest.Ftrace, name)
				loc := binary.NativeEndian.AppendUint32(nil, uint32(c.size<<16|c.offset))
				err := s.b.Write(record(r.Index, append(loc, c.data...)...))
				if c.want == nil {
					require.NoError(t, err)
					assert.Len(t, tr.payloads(t), 1)
				} else {
					require.ErrorIs(t, err, c.want)
					assert.Empty(t, tr.payloads(t))
				}
			})
		}
	})
}

// TestSizes states what the library's limits rest on: tools throw large payloads away,
// and the write succeeds all the same.
func TestSizes(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		r := s.register(0, name)
		for kind, limit := range map[ueventstest.Kind]int{
			ueventstest.Ftrace: ueventstest.FtraceMaxPayload,
			ueventstest.Perf:   ueventstest.PerfMaxPayload,
		} {
			tr := s.attach(t, kind, name)
			for _, size := range []int{1, 100, 112, 4000, limit - 1, limit} {
				require.NoError(t, s.b.Write(record(r.Index, make([]byte, size)...)), size)
				require.Len(t, tr.payloads(t), 1, "%v, %d bytes", kind, size)
			}
			for _, size := range []int{limit + 1, limit + 4, limit + 8, 10000, 65535, 70000} {
				require.NoError(t, s.b.Write(record(r.Index, make([]byte, size)...)), size)
				require.Empty(t, tr.payloads(t), "%v, %d bytes", kind, size)
			}
			tr.detach()
		}
	})
}

func TestPrintFormat(t *testing.T) {
	formats := map[string]string{
		"__rel_loc char[] data":           `"data=%s", __get_rel_str(data)`,
		"__data_loc char[] data":          `"data=%s", __get_str(data)`,
		"__rel_loc u8[] data":             `"data=%llu", REC->data`,
		"s64 data":                        `"data=%lld", REC->data`,
		"u64 data":                        `"data=%llu", REC->data`,
		"s32 data":                        `"data=%d", REC->data`,
		"u32 data":                        `"data=%u", REC->data`,
		"int data":                        `"data=%d", REC->data`,
		"unsigned int data":               `"data=%u", REC->data`,
		"s16 data":                        `"data=%d", REC->data`,
		"u16 data":                        `"data=%u", REC->data`,
		"short data":                      `"data=%d", REC->data`,
		"unsigned short data":             `"data=%u", REC->data`,
		"s8 data":                         `"data=%d", REC->data`,
		"u8 data":                         `"data=%u", REC->data`,
		"char data":                       `"data=%d", REC->data`,
		"unsigned char data":              `"data=%u", REC->data`,
		"char[4] data":                    `"data=%s", REC->data`,
		"struct point data 8":             `"data=%llu", REC->data`,
		"u8 a; __rel_loc char[] b; s64 c": `"a=%u b=%s c=%lld", REC->a, __get_rel_str(b), REC->c`,
	}
	eachWorld(t, func(t *testing.T, w world) {
		s := newSession(t, w)
		bit := uint8(0)
		for fields, want := range formats {
			name := newName()
			s.register(bit, name+" "+fields)
			assert.Equal(t, want, s.printFmt(t, name), fields)
			bit++
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
		"char[aa] a", "char[9999] a", "char[1025] a", "char[0x0000000000001] a", "char[0] a", "u8[4] a", "int[2] a",
		"long a", "unsigned long a", "float a", "a", "u32", "struct custom a", "char a 20", "struct custom a b",
		"u8 a b c", "u8 a;;long b", "nonsense a",
	}
	eachWorld(t, func(t *testing.T, w world) {
		s := newSession(t, w)
		check := func(fields string, want error) {
			name := newName()
			_, err := s.try(0, name+" "+fields, 0)
			assert.ErrorIs(t, err, want, "%q", fields)
			if err == nil {
				s.unregister(0)
			}
			// Both ways to make an event understand the same.
			name = newName()
			err = s.dynamic("u:" + name + " " + fields)
			assert.ErrorIs(t, err, want, "%q in dynamic_events", fields)
			assert.Equal(t, want == nil, s.exists(t, name), "%q", fields)
			if err == nil {
				assert.NoError(t, s.b.Delete(name), "%q", fields)
			}
		}
		for _, fields := range accepted {
			check(fields, nil)
		}
		for _, fields := range refused {
			check(fields, errno.EINVAL)
		}
		name := newName()
		longest := name + " u8 " + strings.Repeat("a", 511-len(name)-4)
		s.register(0, longest)
		s.unregister(0)
		_, err := s.try(0, newName()+longest, 0)
		assert.ErrorIs(t, err, errno.EINVAL, "512 bytes with the NUL")
		_, err = s.try(0, newName()+":flag u8 a", 0)
		if s.addresses() {
			assert.ErrorIs(t, err, errno.EINVAL, "flags in the text")
		} else {
			assert.NoError(t, err, "flags in the text are ignored")
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
			_, err := s.try(1, name+" "+c.second, 0)
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

func TestFlags(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		if !s.addresses() {
			_, err := s.try(0, name, backend.FlagPersist)
			assert.ErrorIs(t, err, errno.EINVAL)
			return
		}
		_, err := s.try(0, name, backend.FlagPersist)
		require.NoError(t, err)
		s.unregister(0)
		require.NoError(t, s.b.Close())
		time.Sleep(50 * time.Millisecond) // deletion happens in the background
		require.True(t, s.exists(t, name), "it persists")
		second := newSession(t, w)
		require.NoError(t, second.b.Delete(name))
		assert.False(t, s.exists(t, name))
		assert.ErrorIs(t, second.b.Delete(name), errno.ENOENT)
		for _, flag := range []uint16{1 << 2, 1 << 15} {
			_, err = second.try(0, name, flag)
			assert.ErrorIs(t, err, errno.EINVAL, "unknown flag %#x", flag)
		}
		assert.False(t, s.exists(t, name))
	})
}

func TestMultiFormat(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		if !s.addresses() {
			t.Skip("not on this kernel: a name has one format")
		}
		multi := func(bit uint8, fields string) backend.Registration {
			r, err := s.try(bit, name+" "+fields, backend.FlagMultiFormat)
			require.NoError(t, err)
			return r
		}
		first, second := multi(0, "u32 multi_first"), multi(1, "u64 multi_second")
		assert.NotEqual(t, first.Index, second.Index)
		assert.Equal(t, second.Index, multi(2, "u64 multi_second").Index, "same fields, same event")
		plain := s.register(3, name+" u8 plain")
		assert.NotContains(t, []uint32{first.Index, second.Index}, plain.Index, "the plain name is another event")
		assert.True(t, s.exists(t, name))
		assert.Len(t, s.multi(t, name), 2)
		for bit := range uint8(4) {
			s.unregister(bit)
		}
		require.NoError(t, s.b.Close())
		require.Eventually(t, func() bool { return len(s.multi(t, name)) == 0 }, eventually, time.Millisecond)
	})
}

// TestLifetime: descriptors, enable bits and tools each keep an event alive.
func TestLifetime(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		if !s.addresses() {
			t.Skip("not on this kernel: it has no enable addresses and keeps every event")
		}
		s.register(0, name)
		require.NoError(t, s.b.Close())
		time.Sleep(50 * time.Millisecond)
		assert.True(t, s.exists(t, name), "the enable bit holds it")
		tr := s.attach(t, ueventstest.Ftrace, name)
		assert.EqualValues(t, 1, s.word.Load())
		second := w.open(t)
		assert.ErrorIs(t, second.Delete(name), errno.EBUSY)
		require.NoError(t, second.Unregister(s.word, 0), "any descriptor will do")
		assert.Zero(t, s.word.Load())
		time.Sleep(50 * time.Millisecond)
		assert.True(t, s.exists(t, name), "the tool holds it")
		tr.detach()
		s.gone(name)
	})
}

func TestDynamicEvents(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		d := declare(t, name+" u32 a; __rel_loc char[] msg; struct point p 8; char[16] id")
		require.NoError(t, s.dynamic("u:"+d.String()))
		assert.Contains(t, s.declarations(t), d, "listed as it was made")
		assert.Zero(t, s.register(0, d.String()).Index, "programs can register it")
		err := s.dynamic("-:user_events/" + d.String())
		assert.ErrorIs(t, err, errno.EBUSY)
		s.unregister(0)
		require.NoError(t, s.b.Close())
		require.Eventually(t, func() bool { return s.dynamic("-:user_events/"+d.String()) == nil }, eventually, time.Millisecond)
		assert.False(t, s.exists(t, name))
		assert.Error(t, s.dynamic("-:user_events/"+d.String()))
	})
}

func TestStatus(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		r := s.register(0, name)
		usedBy := func() []string {
			for _, e := range s.status(t).Events {
				if e.Name == name {
					assert.Equal(t, s.addresses(), e.Index < 0)
					return append([]string{}, e.UsedBy...)
				}
			}
			t.Fatal("not listed")
			return nil
		}
		assert.Empty(t, usedBy())
		before := s.status(t)
		tr := s.attach(t, ueventstest.Ftrace, name)
		assert.Equal(t, []string{"ftrace"}, usedBy())
		assert.Equal(t, before.Busy+1, s.status(t).Busy)
		perf := s.attach(t, ueventstest.Perf, name)
		assert.Equal(t, []string{"ftrace", "perf"}, usedBy())
		tr.detach()
		perf.detach()
		assert.Empty(t, usedBy())
		st := s.status(t)
		assert.Equal(t, len(st.Events), st.Active)
		assert.Equal(t, !s.addresses(), st.Max > 0)
		assert.False(t, on(r))
	})
}
