package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// limited is a simulated kernel of another release, or one whose tracefs cannot be read.
type limited struct {
	backend.Backend
	flags  bool // Linux 6.4 to 6.6 refuse every flag
	multi  bool // Linux 6.7 and 6.8 refuse that of several formats
	hidden bool
}

func (l limited) Register(r backend.Request) (backend.Registration, error) {
	if l.flags && r.Flags != 0 || l.multi && r.Flags&backend.FlagMultiFormat != 0 {
		return backend.Registration{}, errno.EINVAL
	}
	return l.Backend.Register(r)
}

func (l limited) Fields(name string) (string, bool) {
	if l.hidden {
		return "", false
	}
	return l.Backend.Fields(name)
}

func (l limited) MultiFormat(name, fields string) (string, bool) {
	if l.hidden {
		return "", false
	}
	return l.Backend.MultiFormat(name, fields)
}

func (l limited) provider(t *testing.T) *uevents.Provider {
	l.Backend = backend.OpenSimulated(ueventstest.New(t, nil))
	p := backend.NewProvider(l).(*uevents.Provider)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// TestReleasesWithoutFlags: whether the kernel keeps an event cannot be known of 6.4, which does, and 6.5 and 6.6,
// which do not.
func TestReleasesWithoutFlags(t *testing.T) {
	p := limited{flags: true}.provider(t)
	ev := mustRegister(t, p, "plain", &uevents.EventOptions{Persist: true})
	assert.Equal(t, uevents.PersistenceUnknown, ev.Persistence())
	assert.Equal(t, "plain", ev.Name())

	ev = mustRegister(t, p, "multi u8 a", &uevents.EventOptions{Persist: true, Naming: uevents.NameMultiFormat})
	assert.Equal(t, uevents.PersistenceUnknown, ev.Persistence())
	assert.Regexp(t, "^multi_[0-9a-f]{8}$", ev.Name())
	system, name := ev.Tracepoint()
	assert.Equal(t, tracepoint.System, system)
	assert.Equal(t, ev.Name(), name)
}

// TestReleasesWithoutMultiFormat: the event that the hashed name leads to may have existed before.
func TestReleasesWithoutMultiFormat(t *testing.T) {
	p := limited{multi: true}.provider(t)
	multi := &uevents.EventOptions{Persist: true, Naming: uevents.NameMultiFormat}
	mustRegister(t, p, "old u8 a", &uevents.EventOptions{Naming: uevents.NameHashed})
	ev := mustRegister(t, p, "old u8 a", multi)
	assert.Regexp(t, "^old_[0-9a-f]{8}$", ev.Name())
	assert.Equal(t, uevents.PersistenceUnknown, ev.Persistence(), "it keeps what it was created with")
	mustRegister(t, p, "new u8 a", nil)
	ev = mustRegister(t, p, "new u8 a", multi)
	assert.Equal(t, uevents.Persistent, ev.Persistence(), "the event that existed has another name")
}

// TestUnreadableTracefs: what only tracefs tells is unknown, not wrong.
func TestUnreadableTracefs(t *testing.T) {
	p := limited{hidden: true}.provider(t)
	ev := mustRegister(t, p, "plain", &uevents.EventOptions{Persist: true})
	assert.Equal(t, uevents.PersistenceUnknown, ev.Persistence(), "it may have existed before")
	ev = mustRegister(t, p, "multi u8 a", &uevents.EventOptions{Naming: uevents.NameMultiFormat})
	system, name := ev.Tracepoint()
	assert.Equal(t, tracepoint.MultiSystem, system)
	assert.Empty(t, name)
	mustRegister(t, p, "taken u8 a", nil)
	ev = mustRegister(t, p, "taken u16 a", &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
	assert.Regexp(t, "^taken_[0-9a-f]{8}$", ev.Name())
	assert.ErrorIs(t, ev.Conflict(), uevents.ErrConflict)
}

func TestPersistenceString(t *testing.T) {
	assert.Equal(t, "unknown temporary persistent", uevents.PersistenceUnknown.String()+" "+uevents.Temporary.String()+" "+uevents.Persistent.String())
}
