package reader

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSnapshot: a snapshot has each selected record once, decoded.
func TestSnapshot(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Read: ReadSnapshot, Where: where("not (level <= info and tid > 0)")})
	snapshot := func() (got []string) {
		require.NoError(t, r.Snapshot(func(ev *Event) error {
			assert.Equal(t, "myapp", ev.Process.Comm)
			got = append(got, ev.Severity.String()+" "+ev.Message)
			return nil
		}))
		return got
	}
	assert.Empty(t, snapshot())
	logAll(l)
	assert.Equal(t, []string{"WARN hello", "ERROR hello"}, snapshot())
	assert.Empty(t, snapshot())
	l.Warn("request", "status", 200)
	assert.Equal(t, []string{"WARN "}, snapshot(), "without the copy")
	logAll(l)
	enough := errors.New("enough")
	assert.ErrorIs(t, r.Snapshot(func(*Event) error { return enough }), enough)
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, uint64(4), st.Selected)
	assert.Equal(t, uint64(4), st.Unselected)
	assert.Equal(t, uint64(1), st.Copies)
}

// TestNoPlaceForEvents: without a place for events, nothing is read.
func TestNoPlaceForEvents(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	l.Warn("hello")
	assert.ErrorIs(t, r.Next(nil), fs.ErrInvalid)
	assert.ErrorIs(t, r.Snapshot(nil), fs.ErrInvalid)
	var ev Event
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "hello", ev.Message)
}

// TestUndecoded: all records are returned without decoding, with a condition each once.
func TestUndecoded(t *testing.T) {
	all := []string{"myapp_info", "myapp_warn", "myapp_error", "myapp_request", "myapp_info"}
	testUndecoded(t, Options{Excludes: []string{"*_debug"}}, all)
	testUndecoded(t, Options{Where: where("level >= info")}, all[:4])
}

func testUndecoded(t *testing.T, o Options, want []string) {
	t.Helper()
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	o.Decode.Mode = DecodeNone
	r := m.mustOpen(o)
	logAll(l)
	l.Info("request", "status", 200)
	var ev Event
	var names []string
	for range want {
		require.NoError(t, r.Next(&ev))
		names = append(names, ev.Name)
		assert.Equal(t, "user_events", ev.System)
		assert.Equal(t, "myapp", ev.Process.Comm)
		assert.Equal(t, KindOther, ev.Kind)
		assert.Empty(t, ev.Message)
		assert.Empty(t, ev.Fields)
		var decoded Event
		require.NoError(t, ev.Decoder.Decode(ev.Raw, &decoded, nil))
		assert.NotEmpty(t, decoded.Message+decoded.EventName)
	}
	assert.Equal(t, want, names)
}
