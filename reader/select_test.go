package reader

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, event string
		want           bool
	}{
		{"myapp", "user_events:myapp", true},
		{"myapp", "user_events:myapp_debug", true},
		{"myapp", "user_events:myapp_L4K1", true},
		{"myapp", "user_events:myapp2_debug", false},
		{"myapp", "user_events:app_myapp", false},
		{"myapp", "user_events_multi:myapp_debug.1f", true},
		{"myapp_debug", "user_events_multi:myapp_debug.1f", true},
		{"myapp_debug", "user_events:myapp_debug.1f", false},
		{"myapp", "sched:myapp", false},
		{"myapp_*", "user_events:myapp_debug", true},
		{"myapp_*", "user_events:myapp", false},
		{"*_error", "user_events_multi:myapp_error.0", true},
		{"[a-m]yapp", "user_events:myapp", true},
		{"[a-m]yapp", "user_events:myapp_debug", false},
		{`my\app`, "user_events:myapp", true},
		{"user_events:myapp", "user_events:myapp", true},
		{"user_events:myapp", "user_events:myapp_debug", false},
		{"user_events:myapp", "user_events_multi:myapp.0", false},
		{"user_events_multi:myapp", "user_events_multi:myapp.0", true},
		{"sched:sched_*", "sched:sched_switch", true},
		{"sched:sched_*", "user_events:sched_switch", false},
		{"sched:sched_switch", "sched:sched_switch", true},
		{"*", "user_events:anything", true},
		{"*", "sched:sched_switch", false},
	} {
		p, err := parsePattern(c.pattern)
		require.NoError(t, err, c.pattern)
		e := tracefs.At("").Event(c.event)
		assert.Equal(t, c.want, p.match(e.System(), e.Name()), "%s matches %s", c.pattern, c.event)
	}
	for _, bad := range []string{"", ":", "a:", ":b", "*:b", "s*:b", "[", "a[", "a/b", "../x", "..:x", "sched:..", "a\nb", "a\x00"} {
		_, err := parsePattern(bad)
		assert.ErrorIs(t, err, fs.ErrInvalid, "%q", bad)
	}
	_, err := parsePattern("[")
	assert.ErrorIs(t, err, path.ErrBadPattern)
}

// TestProbes: the events that uevents doctor writes are selected only by a pattern that names them, as it removes them: an
// attached tool would keep them.
func TestProbes(t *testing.T) {
	for pattern, want := range map[string]bool{
		"": false, "*": false, "uevents": false, "user_events:*": false, "*_812": false,
		"uevents_doctor": true, "uevents_doctor_*": true, "user_events:uevents_doctor_812": true,
	} {
		events := []string{pattern}
		if pattern == "" {
			events = nil
		}
		s, err := newSelection(events, nil)
		require.NoError(t, err)
		assert.Equal(t, want, s.wants("user_events", "uevents_doctor_812"), pattern)
	}
}

func TestMatch(t *testing.T) {
	all, err := Match("*")
	require.NoError(t, err)
	assert.True(t, all("user_events", "a"))
	assert.False(t, all("sched", "sched_switch"))
	none, err := Match()
	require.NoError(t, err)
	assert.False(t, none("user_events", "a"))
	some, err := Match("a", "b*")
	require.NoError(t, err)
	assert.True(t, some("user_events", "a_info"))
	assert.True(t, some("user_events", "bc"))
	assert.False(t, some("user_events", "c"))
	_, err = Match("a", "[")
	assert.ErrorIs(t, err, fs.ErrInvalid)
}

// FuzzPattern: a pattern that is accepted matches without an error, and one without special characters matches its own name.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"myapp", "sched:sched_*", `my\app`, "[a-m]yapp", "user_events_multi:myapp", ":", "a[", "a/b"} {
		f.Add(s, "myapp_debug")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		p, err := parsePattern(s)
		if err != nil {
			require.ErrorIs(t, err, fs.ErrInvalid)
			return
		}
		_, err = path.Match(p.name, name)
		require.NoError(t, err)
		p.match(tracepoint.System, name)
		p.match(tracepoint.MultiSystem, name+".0")
		if system := cmp.Or(p.system, tracepoint.System); !p.glob {
			require.True(t, p.match(system, p.name), s)
		}
	})
}

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
	debug := []Addition{{Events: []string{"myapp_debug"}, Where: condition("message =~ keep")}, {Events: []string{"myapp_debug"}, Where: condition("message =~ hold")}}
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
	r := m.mustOpen(Options{Events: []string{"myapp_info"}, Where: condition("message =~ keep")})
	log := func() []string {
		for _, message := range []string{"keep", "drop", "hold"} {
			l.Info(message)
		}
		return m.read(r)
	}
	assert.Equal(t, []string{"INFO keep"}, log())
	for range 2 {
		require.NoError(t, r.Add([]Addition{{Events: []string{"myapp"}, Where: condition("not (message =~ drop)")}}))
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
