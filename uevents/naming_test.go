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
