package uevents_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestTooManyEvents: a registration above the kernel's limit leaves nothing behind, and the next one below it works. The
// advice is one that can be followed: before Linux 6.4 the limit is no setting.
func TestTooManyEvents(t *testing.T) {
	for abi, limit := range map[uevents.ABI]int{uevents.ABIEnableAddress: 3, uevents.ABIStatusByte: 4095} {
		s, p, k := newSpy(t, &ueventstest.Options{ABI: abi, MaxEvents: 3})
		var last *uevents.Event
		for range limit {
			last = mustRegister(t, p, newName(), nil)
		}
		before, g := s.inUse, p.NewGroup()
		ev, err := p.Register(declare(t, newName()), in(g))
		require.ErrorIs(t, err, errno.EMFILE)
		assert.Equal(t, abi == uevents.ABIEnableAddress, strings.Contains(err.Error(), "kernel.user_events_max"), err)
		assert.Equal(t, before, s.inUse)
		assert.False(t, ev.Enabled() || g.Enabled())
		assert.NoError(t, ev.Close())

		again := mustRegister(t, p, last.Name(), in(g))
		tr, err := k.Attach(ueventstest.Ftrace, last.Name())
		require.NoError(t, err)
		assert.True(t, again.Enabled() && g.Enabled())
		tr.Detach()
	}
}

// TestRegisterErrno: a refusal that is no conflict is not tried again, and changes no name.
func TestRegisterErrno(t *testing.T) {
	for _, refusal := range []error{errno.EPERM, errno.EMFILE, errno.ENOMEM} {
		s, p, _ := newSpy(t, nil)
		s.register = func(backend.Request) (backend.Registration, error) { return backend.Registration{}, refusal }
		for _, naming := range []uevents.Naming{uevents.NameExact, uevents.NameHashedOnConflict} {
			s.words = nil
			ev, err := p.Register(declare(t, "some_event u8 a"), &uevents.EventOptions{Naming: naming})
			require.ErrorIs(t, err, refusal)
			assert.Equal(t, "some_event", ev.Name())
			assert.Len(t, s.words, 1, "%v %v", refusal, naming)
			assert.Zero(t, s.inUse)
		}
	}
}

// TestUnwritableEvent: fixed fields above the limit are reported on every machine, and register nothing.
func TestUnwritableEvent(t *testing.T) {
	large := declare(t, "some_event struct s a 4000; u64 b; char[57] c")
	require.Equal(t, tracepoint.MaxPayload+1, large.FixedSize())
	fits := declare(t, "some_event struct s a 4000; u64 b; char[56] c")
	_, p, k := newSpy(t, nil)
	for _, p := range []*uevents.Provider{p, nil} {
		ev, err := p.Register(large, nil)
		require.ErrorIs(t, err, fs.ErrInvalid)
		assert.ErrorContains(t, err, "take 4065 bytes, and the limit is 4064")
		assert.ErrorContains(t, err, "Options.MaxPayload", "what to do")
		assert.False(t, ev.Enabled())
		_, err = p.Register(fits, nil)
		assert.NotErrorIs(t, err, fs.ErrInvalid)
	}
	require.Len(t, k.Events(), 1)
	_, err := k.Attach(ueventstest.Ftrace, "some_event")
	require.NoError(t, err)
	ev := mustRegister(t, p, fits.String(), nil)
	mustWrite(t, ev, make([]byte, uevents.IndexSize+fits.FixedSize()))
}

// TestConflictLeavesNothing: before Linux 6.4 the kernel has registered the event when its fields turn out to be others.
func TestConflictLeavesNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		p, name := w.provider(t), newName()
		g := p.NewGroup()
		mustRegister(t, p, name+" u32 a", nil)
		w.attach(t, ueventstest.Ftrace, name)
		ev, err := p.Register(declare(t, name+" u64 a"), in(g))
		require.ErrorIs(t, err, uevents.ErrConflict)
		assert.False(t, ev.Enabled() || g.Enabled())
		notWritten(t, nil, ev, buffer("12345678"))
		assert.NoError(t, ev.Close())
	})
}

// TestUnregisterFails: the kernel may still change the bit. It is never used again, and the event is closed all the same.
func TestUnregisterFails(t *testing.T) {
	s, p, k := newSpy(t, nil)
	g, others := p.NewGroup(), p.NewGroup()
	ev, other := mustRegister(t, p, newName(), in(g)), mustRegister(t, p, newName(), in(g, others))
	_, err := k.Attach(ueventstest.Ftrace, ev.Name())
	require.NoError(t, err)
	lost := s.words[0]
	s.unregister = func(w word, bit uint8) error {
		assert.Same(t, lost.Word, w)
		assert.Equal(t, lost.Bit, bit)
		return errno.EFAULT
	}
	err = ev.Close()
	require.ErrorIs(t, err, errno.EFAULT)
	assert.ErrorContains(t, err, "unregister "+ev.Name()+":")
	assert.NoError(t, ev.Close(), "again")
	s.unregister = nil
	assert.False(t, ev.Enabled() || g.Enabled())
	assert.NotZero(t, lost.Word.Load(), "the kernel's bit is still set")
	notWritten(t, uevents.ErrClosed, ev, buffer("x"))

	tr, err := k.Attach(ueventstest.Ftrace, other.Name())
	require.NoError(t, err)
	assert.True(t, other.Enabled() && g.Enabled() && others.Enabled())
	mustWrite(t, other, buffer("x"))
	tr.Detach()
	for range 2 * backend.WordBits {
		mustRegister(t, p, newName(), in(g))
	}
	for _, r := range s.words[1:] {
		assert.False(t, r.Word == lost.Word && r.Bit == lost.Bit, "the bit is used again")
	}
	assert.False(t, g.Enabled())
	require.NoError(t, p.Close())
	assert.Equal(t, 1, s.inUse, "the word with that bit")

	b := backend.OpenSimulated(k) // the kernel of a test has no registration when it ends
	require.NoError(t, b.Unregister(lost.Word, lost.Bit))
	s.FreeWord(lost.Word)
	require.NoError(t, b.Close())
}
