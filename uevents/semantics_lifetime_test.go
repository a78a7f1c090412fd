package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
		temporary := newName()
		s.register(1, temporary)
		s.unregister(0)
		s.unregister(1)
		require.NoError(t, s.b.Close())
		gone(t, w, temporary)
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
		testscale.Eventually(t, func() bool { return len(s.multi(t, name)) == 0 }, "the events are still there")
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
		testscale.Eventually(t, func() bool { return s.dynamic("-:user_events/"+d.String()) == nil }, "the kernel does not let go of %s", name)
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
