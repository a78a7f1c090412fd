package uevents_test

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// in returns the options of an event of these groups.
func in(groups ...*uevents.Group) *uevents.EventOptions { return &uevents.EventOptions{Groups: groups} }

func TestGroup(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		p := w.provider(t)
		g := p.NewGroup()
		assert.False(t, g.Enabled(), "empty")
		var events []*uevents.Event
		for range 2*backend.WordBits + 2 { // three words
			ev := mustRegister(t, p, newName(), in(g))
			events = append(events, ev)
			assert.False(t, g.Enabled())
			if n := len(events); n < 3 || n >= backend.WordBits && n < backend.WordBits+3 || n > 2*backend.WordBits {
				tr := w.attach(t, ueventstest.Ftrace, ev.Name())
				assert.True(t, g.Enabled(), n)
				assert.True(t, ev.Enabled(), n)
				assert.Equal(t, n == 1, events[0].Enabled(), "the others are not")
				tr.detach()
				assert.False(t, g.Enabled(), n)
			}
		}
		outside := mustRegister(t, p, newName(), nil)
		w.attach(t, ueventstest.Ftrace, outside.Name())
		assert.False(t, g.Enabled(), "an event that is not in the group")

		tr := w.attach(t, ueventstest.Ftrace, events[3].Name())
		assert.True(t, g.Enabled())
		require.NoError(t, events[3].Close())
		assert.False(t, g.Enabled(), "closed events don't count, also while a tool is attached")
		tr.detach()
		again := mustRegister(t, p, newName(), in(g))
		w.attach(t, ueventstest.Perf, again.Name())
		assert.True(t, g.Enabled(), "a new event in place of the closed one")
		require.NoError(t, p.Close())
		assert.False(t, g.Enabled())

		other := w.provider(t)
		_, err := other.Register(declare(t, newName()), in(g))
		assert.ErrorContains(t, err, "another provider")
		assert.ErrorIs(t, err, fs.ErrInvalid)
		_, err = other.Register(declare(t, newName()), in(nil))
		assert.ErrorContains(t, err, "group is nil")
	})
}

// TestOverlappingGroups: an event is in as many groups as it is registered with, by one
// registration.
func TestOverlappingGroups(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		p := w.provider(t)
		all, left, right := p.NewGroup(), p.NewGroup(), p.NewGroup()
		enabled := func() []bool { return []bool{all.Enabled(), left.Enabled(), right.Enabled()} }
		none := []bool{false, false, false}
		for _, c := range []struct {
			groups []*uevents.Group
			want   []bool
		}{
			{[]*uevents.Group{all}, []bool{true, false, false}},
			{[]*uevents.Group{all, left}, []bool{true, true, false}},
			{[]*uevents.Group{all, right}, []bool{true, false, true}},
			{[]*uevents.Group{all, left, right}, []bool{true, true, true}},
			{[]*uevents.Group{all, left, all, left}, []bool{true, true, false}},
			{[]*uevents.Group{right, left}, []bool{false, true, true}}, // a bit of another word
		} {
			ev := mustRegister(t, p, newName(), in(c.groups...))
			assert.Equal(t, none, enabled())
			tr := w.attach(t, ueventstest.Ftrace, ev.Name())
			assert.Equal(t, c.want, enabled())
			tr.detach()
			assert.Equal(t, none, enabled())
			w.attach(t, ueventstest.Ftrace, ev.Name())
			require.NoError(t, ev.Close())
			assert.Equal(t, none, enabled(), "closed")
		}
	})
}

// TestEventTwiceInGroup: before Linux 6.4 both registrations have the same status bit.
func TestEventTwiceInGroup(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		p, name := w.provider(t), newName()
		g := p.NewGroup()
		first, second := mustRegister(t, p, name, in(g)), mustRegister(t, p, name, in(g))
		tr := w.attach(t, ueventstest.Ftrace, name)
		assert.True(t, g.Enabled())
		require.NoError(t, first.Close())
		assert.True(t, g.Enabled(), "the second registration")
		require.NoError(t, second.Close())
		assert.False(t, g.Enabled())
		tr.detach()
	})
}

// spy is a backend that takes note of its words.
type spy struct {
	backend.Backend
	words    []backend.Request // the word and bit of each REG
	inUse    int
	register func(backend.Request) (backend.Registration, error) // nil: the backend's

	unregister func(word, uint8) error // nil: the backend's
	write      func([]byte) error      // nil: the backend's
	close      func() error            // nil: the backend's
	closed     int
	looked     int  // calls of Fields
	slow       bool // removes events with a delay
	lost       bool // its descriptor is closed by others
}

func (s *spy) NewWord() (w word, err error) {
	if w, err = s.Backend.NewWord(); err == nil {
		s.inUse++
	}
	return w, err
}

func (s *spy) FreeWord(w word) {
	s.inUse--
	s.Backend.FreeWord(w)
}

func (s *spy) Register(r backend.Request) (backend.Registration, error) {
	s.words = append(s.words, r)
	if s.register != nil {
		return s.register(r)
	}
	return s.Backend.Register(r)
}

func (s *spy) Fields(name string) (string, bool) {
	s.looked++
	return s.Backend.Fields(name)
}

func (s *spy) AwaitRemoval() bool { return s.slow }
func (s *spy) Lost() bool         { return s.lost }

func (s *spy) Unregister(w word, bit uint8) error {
	if s.unregister != nil {
		return s.unregister(w, bit)
	}
	return s.Backend.Unregister(w, bit)
}

func (s *spy) Write(buf []byte) error {
	if s.write != nil {
		return s.write(buf)
	}
	return s.Backend.Write(buf)
}

func (s *spy) Close() error {
	s.closed++
	if s.close != nil {
		return s.close()
	}
	return s.Backend.Close()
}

// newSpy returns a provider of a simulated kernel, and the backend between them. The kernel
// fails the test for a word that is not freed.
func newSpy(t *testing.T, o *ueventstest.Options) (*spy, *uevents.Provider, *ueventstest.Kernel) {
	k := ueventstest.New(t, o)
	s := &spy{Backend: backend.OpenSimulated(k)}
	p := backend.NewProvider(s).(*uevents.Provider)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return s, p, k
}

// newEnabled is newSpy with an event, and a tool that is attached to it.
func newEnabled(t *testing.T, o *ueventstest.Options) (*spy, *uevents.Provider, *uevents.Event, *ueventstest.Tool) {
	s, p, k := newSpy(t, o)
	ev := mustRegister(t, p, newName(), nil)
	return s, p, ev, recordtest.Attach(t, k, ueventstest.Ftrace, ev.Name())
}

// TestOneRegistration: an event has one registration and one bit, and a group fills its words.
func TestOneRegistration(t *testing.T) {
	s, p, _ := newSpy(t, nil)
	groups := []*uevents.Group{p.NewGroup(), p.NewGroup(), p.NewGroup(), p.NewGroup()}
	for range backend.WordBits {
		mustRegister(t, p, newName(), in(groups...))
	}
	assert.Len(t, s.words, backend.WordBits)
	assert.Equal(t, 1, s.inUse)
	for i, r := range s.words {
		assert.Same(t, s.words[0].Word, r.Word)
		assert.EqualValues(t, i, r.Bit)
	}
	mustRegister(t, p, newName(), in(groups...))
	assert.Equal(t, 2, s.inUse)
}

// TestWordsAreFreed with the last event that has a bit in them, however it ends.
func TestWordsAreFreed(t *testing.T) {
	many := func(t *testing.T, p *uevents.Provider, o *uevents.EventOptions) (events []*uevents.Event) {
		for range backend.WordBits + 1 {
			events = append(events, mustRegister(t, p, newName(), o))
		}
		return events
	}
	closeAll := func(t *testing.T, events []*uevents.Event) {
		for _, ev := range events {
			require.NoError(t, ev.Close())
		}
	}
	t.Run("events of a group closed one by one", func(t *testing.T) {
		s, p, _ := newSpy(t, nil)
		g := p.NewGroup()
		events := many(t, p, in(g))
		assert.Equal(t, 2, s.inUse)
		closeAll(t, events[:backend.WordBits])
		assert.Equal(t, 1, s.inUse)
		events = append(events, mustRegister(t, p, newName(), in(g)))
		assert.Same(t, s.words[backend.WordBits].Word, s.words[backend.WordBits+1].Word, "not the word that was freed")
		closeAll(t, events[backend.WordBits:])
		assert.Zero(t, s.inUse)
		closeAll(t, many(t, p, in(g)))
		assert.Zero(t, s.inUse, "and again")
	})
	t.Run("a thousand groups with an event each", func(t *testing.T) {
		s, p, _ := newSpy(t, nil)
		for range 1000 {
			require.NoError(t, mustRegister(t, p, newName(), in(p.NewGroup())).Close())
		}
		assert.Zero(t, s.inUse)
	})
	t.Run("events without a group", func(t *testing.T) {
		s, p, _ := newSpy(t, nil)
		events := many(t, p, nil)
		assert.Equal(t, backend.WordBits+1, s.inUse)
		closeAll(t, events)
		assert.Zero(t, s.inUse)
	})
	t.Run("a provider that is closed", func(t *testing.T) {
		s, p, _ := newSpy(t, nil)
		many(t, p, in(p.NewGroup()))
		many(t, p, nil)
		require.NoError(t, p.Close())
		assert.Zero(t, s.inUse)
	})
	t.Run("registrations that fail", func(t *testing.T) {
		s, p, _ := newSpy(t, nil)
		g, name := p.NewGroup(), newName()
		mustRegister(t, p, name+" u32 a", nil)
		for _, o := range []*uevents.EventOptions{nil, in(g)} {
			_, err := p.Register(declare(t, name+" u64 a"), o)
			require.ErrorIs(t, err, uevents.ErrConflict)
			assert.Equal(t, 1, s.inUse)
		}
	})
}

// TestBitsAreUsedInTurn: the bit that was freed first is used again first.
func TestBitsAreUsedInTurn(t *testing.T) {
	s, p, _ := newSpy(t, nil)
	g := p.NewGroup()
	mustRegister(t, p, newName(), in(g))
	for range 2 * backend.WordBits {
		require.NoError(t, mustRegister(t, p, newName(), in(g)).Close())
	}
	var got []uint8
	for _, r := range s.words {
		got = append(got, r.Bit)
	}
	assert.Equal(t, []uint8{0, 1, 2}, got[:3])
	assert.EqualValues(t, backend.WordBits-1, slices.Max(got))
	assert.EqualValues(t, 1, got[backend.WordBits], "after the last bit comes the first free one")
}
