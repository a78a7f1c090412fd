package reader

import (
	"cmp"
	"io/fs"
	"os"
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
		matches, err := Match(events...)
		require.NoError(t, err)
		assert.Equal(t, want, matches("user_events", "uevents_doctor_812"), pattern)
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

// TestSelect: events that another selection adds or leaves out are attached and detached, with notices, while the others go on.
func TestSelect(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	info := Selection{Events: []string{"myapp_info"}}
	r := m.mustOpen(Options{Selection: info, DetachAtExit: true})
	keep, hold := Selection{Events: []string{"myapp_debug"}, Where: condition("message =~ keep")}, Selection{Events: []string{"myapp_debug"}, Where: condition("message =~ hold")}
	selects := func(list []Selection, attached ...string) {
		t.Helper()
		require.NoError(t, r.Select(list...))
		m.look()
		testscale.Eventually(t, func() bool { return slices.Equal(m.attached(), attached) }, "%v", attached)
	}
	selects([]Selection{info, info}, "myapp_info") // the same once more
	for range 2 {
		selects([]Selection{info, keep, hold}, "myapp_debug", "myapp_info")
		for _, message := range []string{"keep", "drop", "hold"} {
			l.Debug(message)
			l.Info(message)
		}
		assert.Equal(t, []string{"DEBUG keep", "INFO keep", "INFO drop", "DEBUG hold", "INFO hold"}, m.read(r))
		assert.Equal(t, 2, r.State().Attached)
		assert.Equal(t, []string{"attached user_events:myapp_debug"}, m.said())
		l.Debug("keep it")
		selects([]Selection{info}, "myapp_info")
		testscale.Eventually(t, func() bool { return r.State().Attached == 1 }, "it is attached")
		assert.Equal(t, []string{"DEBUG keep it"}, m.read(r), "what was written before")
		testscale.Eventually(t, func() bool { m.read(r); return len(m.notices) > 0 }, "no notice")
		assert.Equal(t, []string{"detached user_events:myapp_debug"}, m.said())
	}
	selects([]Selection{{Events: []string{"myapp_warn"}}}, "myapp_warn")
	selects(nil)
}

// TestSelectWhere: other records of an event are selected in its place, of the event that is attached.
func TestSelectWhere(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	keep := Selection{Events: []string{"myapp_info"}, Where: condition("message =~ keep")}
	r := m.mustOpen(Options{Selection: keep})
	log := func() []string {
		for _, message := range []string{"keep", "drop", "hold"} {
			l.Info(message)
		}
		return m.read(r)
	}
	assert.Equal(t, []string{"INFO keep"}, log())
	for range 2 {
		require.NoError(t, r.Select(keep, Selection{Events: []string{"myapp"}, Where: condition("not (message =~ drop)")}))
		m.look()
		assert.Equal(t, []string{"myapp_debug", "myapp_error", "myapp_info", "myapp_request", "myapp_warn"}, m.attached())
		assert.Equal(t, []string{"INFO keep", "INFO hold"}, log())
		require.NoError(t, r.Select(keep))
		testscale.Eventually(t, func() bool { return slices.Equal(m.attached(), []string{"myapp_info"}) }, "others are attached")
		assert.Equal(t, []string{"INFO keep"}, log())
		assert.NotContains(t, m.said(), "attached user_events:myapp_info")
	}
	assert.ErrorIs(t, r.Select(Selection{Events: []string{"myapp_info"}, Processes: []int{7}}), fs.ErrInvalid, "there is none")
	for _, pid := range []int32{7, 8} {
		fakeProc{t, m.proc}.add(pid, "other", "/usr/bin/other", "/")
	}
	require.NoError(t, r.Select(Selection{Events: []string{"myapp_info"}, Where: condition("message =~ hold"), Processes: []int{7, 8}}))
	assert.Empty(t, log(), "it is of another process")
	require.NoError(t, r.Select(keep, Selection{Events: []string{"myapp_info"}, Where: condition("message =~ hold"), Processes: []int{7}}))
	assert.Equal(t, []string{"INFO keep"}, log())
	m.pid = 7
	assert.Equal(t, []string{"INFO keep", "INFO hold"}, log())
}

// TestSelectDivides: an event whose filter the kernel evaluates is attached a second time for the records that the filter drops, while
// these are selected.
func TestSelectDivides(t *testing.T) {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	high := Selection{Events: []string{"myapp_warn"}, Where: condition("level >= warn2")}
	r := m.mustOpen(Options{Selection: high, MaxEvents: 2, Partial: true})
	filters := func(want ...string) {
		t.Helper()
		testscale.Eventually(t, func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return slices.EqualFunc(m.sources, want, func(s *fakeSource, filter string) bool { return s.o.Filter == filter })
		}, "%v", want)
	}
	filters("level >= 5 && level <= 7")
	for range 2 {
		require.NoError(t, r.Select(Selection{Events: []string{"myapp_warn"}}))
		filters("level >= 5 && level <= 7", "!(level >= 5 && level <= 7)")
		require.NoError(t, r.Select(high))
		filters("level >= 5 && level <= 7")
	}
	require.NoError(t, r.Select(Selection{Events: []string{"myapp_warn"}}))
	filters("level >= 5 && level <= 7", "!(level >= 5 && level <= 7)")
	require.NoError(t, r.Select())
	filters()
	assert.Zero(t, r.rests)
}

// TestSelectFails: an error leaves the selection as it was, and the same selection may succeed later.
func TestSelectFails(t *testing.T) {
	m := newMachine(t)
	m.logger(m.program(), "myapp")
	m.addEvent("sched", "sched_switch", "name: sched_switch\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n")
	other := Selection{Events: []string{"sched:sched_switch"}}
	r := m.mustOpen(Options{Selection: other})
	list := []Selection{{Events: []string{"myapp_debug"}}}
	m.refuseToFollow = errno.EMFILE
	assert.ErrorIs(t, r.Select(list...), errno.EMFILE)
	assert.Equal(t, []string{"sched:sched_switch"}, m.attached())
	for _, wrong := range []Selection{{}, {Events: []string{"["}}, {Events: []string{"a"}, Excludes: []string{""}}} {
		assert.ErrorIs(t, r.Select(list[0], wrong), fs.ErrInvalid)
	}
	m.refuseToFollow = nil
	require.NoError(t, r.Select(list...))
	m.look()
	testscale.Eventually(t, func() bool { return slices.Equal(m.attached(), []string{"myapp_debug"}) }, "%v", m.attached())
	require.NoError(t, r.Select(other))
	testscale.Eventually(t, func() bool { return slices.Equal(m.attached(), []string{"sched:sched_switch"}) }, "%v", m.attached())

	for _, o := range []Options{{NoFollow: true}, {Read: ReadCounts}, {Read: ReadSnapshot}} {
		m := newMachine(t)
		m.logger(m.program(), "myapp")
		o.Events = []string{"myapp_info"}
		assert.ErrorIs(t, m.mustOpen(o).Select(list...), fs.ErrInvalid)
	}
	require.NoError(t, r.Close())
	assert.ErrorIs(t, r.Select(list...), os.ErrClosed)
}

// TestSelectLimits: events of another selection have a part in Options.MaxEvents and Limit.
func TestSelectLimits(t *testing.T) {
	m := newMachine(t)
	p := m.kernel.Provider()
	l := m.logger(p, "myapp")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"myapp_info"}}, MaxEvents: 2, Partial: true, Limit: 3})
	require.NoError(t, r.Select(Selection{Events: []string{"myapp_info", "myapp_warn"}}))
	m.look()
	require.NoError(t, r.Select(Selection{Events: []string{"myapp_info", "myapp_warn", "myapp_error"}}))
	m.look()
	assert.Equal(t, []string{"myapp_info", "myapp_warn"}, m.attached())
	m.read(r)
	assert.Contains(t, m.said(), "failed user_events:myapp_error")
	require.NoError(t, r.Select(Selection{Events: []string{"myapp_info", "myapp_error"}}))
	testscale.Eventually(t, func() bool { m.look(); return slices.Equal(m.attached(), []string{"myapp_error", "myapp_info"}) }, "there is no room")

	// Its programs end while it is disabled, and another one registers it.
	paused := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		e := r.attached["user_events:myapp_error"]
		return e != nil && e.limited == paused
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
