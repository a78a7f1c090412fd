package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
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
		_, err := s.try(backend.WordBits, newName())
		assert.ErrorIs(t, err, errno.EINVAL, "a word has no more bits")
	})
}
