package reader

import (
	"cmp"
	"io/fs"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		o := &Options{Events: []string{pattern}}
		if pattern == "" {
			o.Events = nil
		}
		s, err := newSelection(o)
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
