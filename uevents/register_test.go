package uevents_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestRollingUpgrade: a tool stays attached to the event of a program that has ended, and the new version of the
// program registers other fields. It must not fall silent.
func TestRollingUpgrade(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		for _, kind := range []ueventstest.Kind{ueventstest.Ftrace, ueventstest.Perf} {
			t.Run(kind.String(), func(t *testing.T) {
				name := newName()
				old := w.provider(t)
				before := mustRegister(t, old, name+" u8 a", &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
				assert.Equal(t, name, before.Name())
				assert.NoError(t, before.Conflict())
				p := w.provider(t)
				mustRegister(t, p, newName(), nil) // keeps the memory of a program
				attached := w.attach(t, kind, name)
				require.NoError(t, old.Close())
				require.True(t, w.exists(t, name), "the tool keeps the event")
				if w.private() {
					ev := mustRegister(t, p, name+" u16 a", nil)
					require.True(t, ev.Enabled(), "names are the program's, and the tool asked for the name")
					mustWrite(t, ev, buffer("12"))
					assert.Len(t, attached.payloads(t), 1)
					attached.detach()
					return
				}

				for range 3 { // not a matter of time
					refused, err := p.Register(declare(t, name+" u16 a"), &uevents.EventOptions{Naming: uevents.NameExact})
					require.ErrorIs(t, err, uevents.ErrConflict)
					assert.False(t, refused.Enabled())
				}
				ev := mustRegister(t, p, name+" u16 a", &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
				assert.Regexp(t, "^"+name+"_[0-9a-f]{8}$", ev.Name())
				assert.ErrorIs(t, ev.Conflict(), uevents.ErrConflict)
				assert.ErrorContains(t, ev.Conflict(), `it has "u8 a", not "u16 a"`)
				assert.ErrorContains(t, ev.Conflict(), "registered as "+ev.Name())
				assert.False(t, ev.Enabled(), "the tool has the old event only")
				tr := w.attach(t, kind, ev.Name())
				assert.True(t, ev.Enabled())
				mustWrite(t, ev, buffer("12"))
				assert.Len(t, tr.payloads(t), 1)
				assert.Empty(t, attached.payloads(t))
				tr.detach()

				// The old version's fields still go by the old name.
				same := mustRegister(t, p, name+" u8 a", &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
				assert.Equal(t, name, same.Name())
				assert.True(t, same.Enabled())
				attached.detach()
			})
		}
	})
}

// TestBothVersionsAlive: the old and the new version of a program run beside each other, with other fields under one name.
// Both are enabled and written, and a tool never sees a record of the one as one of the other.
func TestBothVersionsAlive(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		name := newName()
		var versions [2]*uevents.Event
		for i, fields := range []string{" u8 a", " u16 a; u16 b"} {
			versions[i] = mustRegister(t, w.provider(t), name+fields, &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
		}
		var tools [2]tool
		for i, ev := range versions {
			tools[i] = w.attach(t, ueventstest.Perf, ev.Name())
		}
		for i, ev := range versions {
			require.True(t, ev.Enabled(), "version %d", i)
		}
		mustWrite(t, versions[1], buffer("new."))
		mustWrite(t, versions[0], buffer("o"))
		for i, want := range []string{"o", "new."} {
			got := tools[i].payloads(t)
			require.Len(t, got, 1, "version %d", i)
			assert.Equal(t, want, string(got[0][:len(want)]))
		}
		// The old version ends, and the new one goes on.
		require.NoError(t, versions[0].Close())
		tools[0].detach()
		mustWrite(t, versions[1], buffer("new."))
		assert.Len(t, tools[1].payloads(t), 1)
		tools[1].detach()
		assert.False(t, versions[1].Enabled())
	})
}

// TestRestartWithOtherFields: the new version of a program registers other fields right after the old one has ended.
// The kernel removes the event of the old one a moment later, and no tool is attached: it gets the name all the same.
func TestRestartWithOtherFields(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		if w.provider(t).ABI() != uevents.ABIEnableAddress {
			t.Skip("not on this kernel: it keeps every event")
		}
		for range 10 {
			name := newName()
			old := w.provider(t)
			mustRegister(t, old, name+" u8 a", nil)
			require.NoError(t, old.Close())
			p := w.provider(t)
			p.WaitForRemoval() // which a slow machine may take longer for
			mustRegister(t, p, name+" u16 a", &uevents.EventOptions{Naming: uevents.NameExact})
			require.NoError(t, p.Close())
		}
	})
}

// TestConflictIsDescribedOnce: while Register waits for the kernel to remove the event of other fields, it does not read
// the list of events.
func TestConflictIsDescribedOnce(t *testing.T) {
	for _, naming := range []uevents.Naming{uevents.NameExact, uevents.NameHashedOnConflict} {
		s, p, k := newSpy(t, nil)
		s.slow = true
		name := newName()
		other := k.Provider()
		mustRegister(t, other, name+" u8 a", nil)
		ev, err := p.Register(declare(t, name+" u16 a"), &uevents.EventOptions{Naming: naming})
		if naming == uevents.NameHashedOnConflict {
			require.NoError(t, err)
			err = ev.Conflict()
		}
		require.ErrorIs(t, err, uevents.ErrConflict)
		assert.ErrorIs(t, err, errno.EADDRINUSE)
		assert.ErrorContains(t, err, `it has "u8 a", not "u16 a"`)
		assert.Equal(t, 1+uevents.RemovalWaits, len(s.words)/2, "attempts, each of two calls")
		assert.Equal(t, 1, s.looked)
		s.words = nil
		_, err = p.Register(declare(t, name+" u16 a"), &uevents.EventOptions{Naming: uevents.NameExact})
		require.ErrorIs(t, err, uevents.ErrConflict)
		assert.Len(t, s.words, 2, "a provider waits once")
		require.NoError(t, other.Close())
	}
}

// hidden is a kernel whose tracefs cannot be read.
type hidden struct{ backend.Backend }

func (hidden) Fields(string) (string, bool) { return "", false }

// TestUnreadableTracefs: the fields of the other event are not known.
func TestUnreadableTracefs(t *testing.T) {
	p := backend.NewProvider(hidden{backend.OpenSimulated(ueventstest.New(t, nil))}).(*uevents.Provider)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	mustRegister(t, p, "taken u8 a", nil)
	ev := mustRegister(t, p, "taken u16 a", &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
	assert.Regexp(t, "^taken_[0-9a-f]{8}$", ev.Name())
	assert.ErrorIs(t, ev.Conflict(), uevents.ErrConflict)
}

// TestBadArguments: they are reported on every machine, before the kernel is asked.
func TestBadArguments(t *testing.T) {
	long := strings.Repeat("n", 255)
	unavailable, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	foreign := unavailable.NewGroup()
	check := func(t *testing.T, p *uevents.Provider) (failed []*uevents.Event) {
		for _, c := range []struct {
			d    tracepoint.Declaration
			o    uevents.EventOptions
			want error
			text string
		}{
			{tracepoint.Declaration{Name: "fine"}, uevents.EventOptions{Naming: 99}, fs.ErrInvalid, "policy 99"},
			{tracepoint.Declaration{Name: "no name"}, uevents.EventOptions{}, tracepoint.ErrInvalid, "no name"},
			{tracepoint.Declaration{Name: "no name"}, uevents.EventOptions{Naming: uevents.NameHashedOnConflict}, tracepoint.ErrInvalid, "no name"},
			{tracepoint.Declaration{Name: long}, uevents.EventOptions{Naming: uevents.NameHashedOnConflict}, tracepoint.ErrInvalid, "hash"},
			{tracepoint.Declaration{Name: "fine"}, *in(nil), fs.ErrInvalid, "group is nil"},
			{tracepoint.Declaration{Name: "fine"}, *in(new(uevents.Group)), fs.ErrInvalid, "another provider"},
			{tracepoint.Declaration{Name: "fine"}, *in(p.NewGroup(), foreign), fs.ErrInvalid, "another provider"},
		} {
			ev, err := p.Register(c.d, &c.o)
			assert.ErrorIs(t, err, c.want, "%v", c)
			assert.ErrorContains(t, err, c.text)
			assert.False(t, ev.Enabled())
			notWritten(t, nil, ev, buffer("x"))
			assert.NoError(t, ev.Close())
			failed = append(failed, ev)
		}
		assert.ErrorIs(t, p.Delete("no name"), tracepoint.ErrInvalid)
		return failed
	}
	eachWorld(t, func(t *testing.T, w world) {
		p := w.provider(t)
		failed := check(t, p)
		assert.Equal(t, long, mustRegister(t, p, long, nil).Name(), "without a hash it fits")
		require.NoError(t, p.Close())
		for _, ev := range failed {
			notWritten(t, uevents.ErrClosed, ev, buffer("x"))
		}
	})
	t.Run("unavailable", func(t *testing.T) {
		p, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
		require.Error(t, err)
		check(t, p)
	})
}

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
		tr := recordtest.Attach(t, k, ueventstest.Ftrace, last.Name())
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
	recordtest.Attach(t, k, ueventstest.Ftrace, "some_event")
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
	recordtest.Attach(t, k, ueventstest.Ftrace, ev.Name())
	lost := s.words[0]
	s.unregister = func(w word, bit uint8) error {
		assert.Same(t, lost.Word, w)
		assert.Equal(t, lost.Bit, bit)
		return errno.EFAULT
	}
	err := ev.Close()
	require.ErrorIs(t, err, errno.EFAULT)
	assert.ErrorContains(t, err, "unregister "+ev.Name()+":")
	assert.NoError(t, ev.Close(), "again")
	s.unregister = nil
	assert.False(t, ev.Enabled() || g.Enabled())
	assert.NotZero(t, lost.Word.Load(), "the kernel's bit is still set")
	notWritten(t, uevents.ErrClosed, ev, buffer("x"))

	tr := recordtest.Attach(t, k, ueventstest.Ftrace, other.Name())
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
