package uevents_test

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func TestRegister(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		fields := " u32 field1; u32 field2"
		first := s.register(31, name+fields)
		assert.Zero(t, first.Index, "indexes of a descriptor start at 0")
		if s.addresses() {
			_, err := s.try(31, name+fields)
			assert.ErrorIs(t, err, errno.EADDRINUSE, "same address and bit twice")
		}
		assert.Equal(t, first.Index, s.register(30, name+fields).Index, "same event on the same descriptor")
		last := s.register(29, name+" u32 field1;u32 field2")
		assert.Equal(t, first.Index, last.Index, "spaces between fields do not matter")

		conflict, err := s.try(28, name+" u32 field1;")
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
			assert.True(t, on(r), "the kernel sets the bit of each registration")
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
			gone(t, w, name)
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
		assert.True(t, on(r), "the other tool is still attached")
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
		// An event that a tool is attached to is enabled from the start.
		assert.True(t, on(s.register(1, name)))
		tr.detach()
	})
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
		for _, bit := range []uint8{backend.WordBits, 64, 255} {
			_, err := s.try(bit, newName())
			assert.ErrorIs(t, err, errno.EINVAL, "a word has no more bits")
		}
	})
}

// The tests of the files semantics_*_test.go state what the kernel does, below the library's policies, and run
// unchanged against the simulated kernels and the real ones. They hold at least what the kernel's own selftests hold
// (tools/testing/selftests/user_events).

type session struct {
	t *testing.T
	world
	b    backend.Backend
	word *atomic.Uintptr
	used []uint8
}

func newSession(t *testing.T, w world) *session {
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
func (s *session) try(bit uint8, command string) (backend.Registration, error) {
	s.used = append(s.used, bit)
	return s.b.Register(backend.Request{Command: command, Word: s.word, Bit: bit})
}

func (s *session) register(bit uint8, command string) backend.Registration {
	s.t.Helper()
	r, err := s.try(bit, command)
	require.NoError(s.t, err)
	return r
}

func (s *session) unregister(bit uint8) {
	s.t.Helper()
	require.NoError(s.t, s.b.Unregister(s.word, bit))
}

// gone waits until the kernel has deleted an event, which it does in the background.
func gone(t *testing.T, w world, event string) {
	t.Helper()
	testscale.Eventually(t, func() bool { return !w.exists(t, event) }, "%s is still there", event)
}

func on(r backend.Registration) bool { return r.Word.Load()&r.Mask != 0 }

func popcount(x uintptr) (n int) {
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}

func record(index uint32, payload ...byte) []byte {
	return append(binary.NativeEndian.AppendUint32(nil, index), payload...)
}

// TestLifetime: descriptors, enable bits and tools each keep an event alive.
func TestLifetime(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		s, name := newSession(t, w), newName()
		if !s.addresses() {
			t.Skip("not on this kernel: it has no enable addresses and keeps every event")
		}
		s.register(0, name)
		released := newName()
		s.register(1, released)
		s.unregister(1)
		require.NoError(t, s.b.Close())
		gone(t, w, released)
		assert.True(t, s.exists(t, name), "the enable bit holds it")
		tr := s.attach(t, ueventstest.Ftrace, name)
		assert.EqualValues(t, 1, s.word.Load())
		second := w.open(t)
		assert.ErrorIs(t, second.Delete(name), errno.EBUSY)
		require.NoError(t, second.Unregister(s.word, 0), "through any descriptor")
		assert.Zero(t, s.word.Load())
		_, err := second.Register(backend.Request{Command: released, Word: s.word, Bit: 1})
		require.NoError(t, err)
		require.NoError(t, second.Unregister(s.word, 1))
		require.NoError(t, second.Close())
		gone(t, w, released)
		assert.True(t, s.exists(t, name), "the tool holds it")
		tr.detach()
		gone(t, w, name)
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
