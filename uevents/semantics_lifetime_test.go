package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

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
