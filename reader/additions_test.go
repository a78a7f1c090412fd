package reader

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
)

// said returns what the notices were about, and forgets them.
func (m *machine) said() (list []string) {
	for _, n := range m.notices {
		list = append(list, n.Kind.String()+" "+n.Event)
	}
	m.notices = nil
	return list
}

// TestReaderAdditions: events that additions alone select are attached and detached, with notices.
func TestReaderAdditions(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Events: []string{"myapp_info"}, DetachAtExit: true})
	info := []Addition{{Events: []string{"myapp_info"}}}
	debug := []Addition{{Events: []string{"myapp_debug"}, Where: where("message =~ keep")}, {Events: []string{"myapp_debug"}, Where: where("message =~ hold")}}
	add := func(list []Addition, attached ...string) {
		t.Helper()
		require.NoError(t, r.Add(list))
		m.look()
		testscale.Eventually(t, func() bool { return slices.Equal(m.attached(), attached) }, "%v", attached)
	}
	add(info, "myapp_info") // Options have all of it
	for range 2 {
		add(debug, "myapp_debug", "myapp_info")
		for _, message := range []string{"keep", "drop", "hold"} {
			l.Debug(message)
			l.Info(message)
		}
		assert.Equal(t, []string{"DEBUG keep", "INFO keep", "INFO drop", "DEBUG hold", "INFO hold"}, m.read(r))
		assert.Equal(t, 2, r.State().Attached)
		assert.Equal(t, []string{"attached user_events:myapp_debug"}, m.said())
		l.Debug("keep it")
		add(info, "myapp_info")
		testscale.Eventually(t, func() bool { return r.State().Attached == 1 }, "it is attached")
		assert.Equal(t, []string{"DEBUG keep it"}, m.read(r), "what was written before")
		testscale.Eventually(t, func() bool { m.read(r); return len(m.notices) > 0 }, "no notice")
		assert.Equal(t, []string{"detached user_events:myapp_debug"}, m.said())
	}
	add(nil, "myapp_info")
}

// TestReaderAdditionsElsewhere: other records of an event of Options are read once, of a source of their own, without a notice.
func TestReaderAdditionsElsewhere(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Events: []string{"myapp_info"}, Where: where("message =~ keep")})
	log := func() []string {
		for _, message := range []string{"keep", "drop", "hold"} {
			l.Info(message)
		}
		return m.read(r)
	}
	assert.Equal(t, []string{"INFO keep"}, log())
	for range 2 {
		require.NoError(t, r.Add([]Addition{{Events: []string{"myapp"}, Where: where("not (message =~ drop)")}}))
		m.look()
		assert.Equal(t, []string{"myapp_debug", "myapp_error", "myapp_info", "myapp_info", "myapp_request", "myapp_warn"}, m.attached())
		assert.Equal(t, []string{"INFO keep", "INFO hold"}, log())
		require.NoError(t, r.Add(nil))
		testscale.Eventually(t, func() bool { return slices.Equal(m.attached(), []string{"myapp_info"}) }, "it is attached")
		assert.Equal(t, []string{"INFO keep"}, log())
		assert.NotContains(t, m.said(), "attached user_events:myapp_info")
	}
}

// TestReaderAdditionsFail: an error leaves the additions as they were, and the same additions may succeed later.
func TestReaderAdditionsFail(t *testing.T) {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Events: []string{"myapp_info"}})
	list := []Addition{{Events: []string{"myapp_debug"}}}
	m.refuseToFollow = errno.EMFILE
	assert.ErrorIs(t, r.Add(list), errno.EMFILE)
	assert.Empty(t, r.selected("user_events", "myapp_debug"))
	m.refuseToFollow = nil
	require.NoError(t, r.Add(list))
	m.look()
	assert.Equal(t, []string{"myapp_debug", "myapp_info"}, m.attached())

	for _, o := range []Options{{NoFollow: true}, {Read: ReadCounts}, {Read: ReadSnapshot}} {
		assert.ErrorIs(t, newMachineReader(t, o).Add(list), fs.ErrInvalid)
	}
}

// newMachineReader returns a reader of one event.
func newMachineReader(t *testing.T, o Options) *Reader {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	o.Events = []string{"myapp_info"}
	return m.mustOpen(o)
}

// TestReaderAdditionsLimits: events of additions have a part in Options.MaxEvents and Limit.
func TestReaderAdditionsLimits(t *testing.T) {
	m := newMachine(t)
	p := m.kernel.Provider()
	l := m.logger(p, "myapp")
	r := m.mustOpen(Options{Events: []string{"myapp_info"}, MaxEvents: 2, Partial: true, Limit: 3})
	require.NoError(t, r.Add([]Addition{{Events: []string{"myapp_warn"}}}))
	m.look()
	require.NoError(t, r.Add([]Addition{{Events: []string{"myapp_warn", "myapp_error"}}}))
	m.look()
	assert.Equal(t, []string{"myapp_info", "myapp_warn"}, m.attached())
	m.read(r)
	assert.Contains(t, m.said(), "failed user_events:myapp_error")
	require.NoError(t, r.Add([]Addition{{Events: []string{"myapp_error"}}}))
	testscale.Eventually(t, func() bool { m.look(); return slices.Equal(m.attached(), []string{"myapp_error", "myapp_info"}) }, "there is no room")

	// Its programs end while it is disabled, and another one registers it.
	paused := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, s := range r.sources {
			if s.name == "user_events:myapp_error" && s.limited == paused {
				return true
			}
		}
		return false
	}
	testscale.Eventually(t, func() bool { l.Error("flood"); m.read(r); return paused() }, "it is not disabled")
	require.NoError(t, p.Close())
	m.look()
	l = m.logger(m.program(), "myapp")
	m.look()
	testscale.Eventually(t, func() bool { return slices.Equal(m.attached(), []string{"myapp_error", "myapp_info"}) }, "it is not attached")
	l.Error("new")
	assert.Contains(t, m.read(r), "ERROR new")
}
