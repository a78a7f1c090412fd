package eventset

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var schema = payload.MustSchema(payload.Truncated, payload.TextField("message"))

func open(t *testing.T, name string, o Options) (*Set, *ueventstest.Kernel) {
	t.Helper()
	k := ueventstest.New(t, nil)
	if o.Provider == nil {
		o.Provider = k.Provider()
		t.Cleanup(func() { assert.NoError(t, o.Provider.Close()) })
	}
	return Open("test", name, o), k
}

func write(e *Event, buf []byte, truncated int) error {
	_, err := e.Write(buf, truncated)
	return err
}

// TestInvalid: what is wrong with arguments is said once, on every machine.
func TestInvalid(t *testing.T) {
	unsupported, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	for _, provider := range []*uevents.Provider{nil, unsupported} {
		for name, want := range map[string]string{
			"":           "the name is empty",
			"my-app":     `use "my_app"`,
			"größe":      `use "gru00f6u00dfe"`,
			"a b":        `use "a_b"`,
			"1st":        `use "_1st"`,
			"app; u32 x": `use "app__u32_x"`,
		} {
			s, _ := open(t, name, Options{Provider: provider})
			for range 4 {
				e, err := s.Register(s.Name("info"), schema, uevents.NameExact)
				require.Error(t, err)
				assert.False(t, e.Enabled())
			}
			err := s.Err()
			require.ErrorIs(t, err, tracepoint.ErrInvalid)
			require.ErrorIs(t, err, fs.ErrInvalid)
			assert.Contains(t, err.Error(), want)
			assert.Equal(t, 1, strings.Count(err.Error(), want))
			assert.Less(t, len(err.Error()), 150)
			require.NoError(t, s.Close())
		}
		s, _ := open(t, "app", Options{Provider: provider, MaxPayload: -1})
		require.ErrorIs(t, s.Err(), fs.ErrInvalid)
		require.NotErrorIs(t, s.Err(), tracepoint.ErrInvalid, "it is an option")
		require.EqualError(t, s.Err(), `test "app": MaxPayload of -1 bytes is negative`)
		s, _ = open(t, "app", Options{Provider: provider, MaxPayload: 5})
		e, err := s.Register("app_info", schema, uevents.NameExact)
		require.Error(t, err)
		assert.False(t, e.Enabled())
		assert.ErrorContains(t, s.Err(), "5 bytes is too small")
		s, _ = open(t, "app", Options{Provider: provider})
		_, err = s.Register("app_info", schema, uevents.NameExact)
		assert.NotErrorIs(t, err, tracepoint.ErrInvalid)
		assert.NotErrorIs(t, s.Err(), fs.ErrInvalid)
		_, err = s.Register("app_info", schema, uevents.NameExact)
		require.ErrorIs(t, err, tracepoint.ErrInvalid)
	}
}

// TestStatsOfOneName: an event that could not be registered does not hide the one that has the name.
func TestStatsOfOneName(t *testing.T) {
	s, k := open(t, "app", Options{})
	e, err := s.Register("app_info", schema, uevents.NameExact)
	require.NoError(t, err)
	_, err = s.Register("app_info", schema, uevents.NameExact)
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	recordtest.Attach(t, k, ueventstest.Ftrace, "app_info")
	var b payload.Builder
	b.Begin(schema, nil, s.Limit)
	buf, truncated := b.End()
	require.NoError(t, write(e, buf, truncated))
	assert.Equal(t, map[string]uevents.EventStats{"app_info": {Written: 1}}, s.Stats())
}

// TestSum: each count of a sum is that of both events.
func TestSum(t *testing.T) {
	assert.Equal(t, uevents.EventStats{Written: 11, Truncated: 22, Disabled: 33, Refused: 44},
		uevents.EventStats{Written: 1, Truncated: 2, Disabled: 3, Refused: 4}.Add(uevents.EventStats{Written: 10, Truncated: 20, Disabled: 30, Refused: 40}))
}

// TestLongestName: a name may have as many bytes as a field's.
func TestLongestName(t *testing.T) {
	assert.NoError(t, checkName(strings.Repeat("n", 64)))
	assert.ErrorContains(t, checkName(strings.Repeat("n", 65)), "has 65 bytes: at most 64")
}

// TestNaming: each policy of package uevents is accepted, and no other.
func TestNaming(t *testing.T) {
	s, _ := open(t, "app", Options{})
	assert.Equal(t, uevents.NameHashedOnConflict, s.Naming(uevents.NameDefault))
	for _, naming := range []uevents.Naming{uevents.NameExact, uevents.NameHashedOnConflict} {
		assert.Equal(t, naming, s.Naming(naming))
	}
	require.NoError(t, s.Err())
	assert.Equal(t, uevents.NameHashedOnConflict, s.Naming(uevents.NameHashedOnConflict+1))
	assert.ErrorContains(t, s.Err(), "unknown Naming")
}

func TestUnsupported(t *testing.T) {
	p, err := uevents.Open(&uevents.Options{Path: t.TempDir()})
	require.Error(t, err)
	s, _ := open(t, "app", Options{Provider: p})
	e, err := s.Register("app_info", schema, uevents.NameExact)
	require.Error(t, err)
	assert.False(t, e.Enabled())
	require.ErrorIs(t, s.Err(), p.Err())
	assert.Equal(t, 1, strings.Count(s.Err().Error(), p.Err().Error()), "once, not for each event")
	assert.NoError(t, write(e, make([]byte, 100), 0))
	assert.Equal(t, map[string]uevents.EventStats{"app_info": {}}, s.Stats())
}

func TestStats(t *testing.T) {
	s, k := open(t, "app", Options{})
	e, err := s.Register(s.Name("info"), schema, uevents.NameExact, s.NewGroup())
	require.NoError(t, err)
	require.NoError(t, s.Err())
	recordtest.Attach(t, k, ueventstest.Ftrace, "app_info")
	require.True(t, s.All.Enabled())
	var b payload.Builder
	b.Begin(schema, nil, s.Limit)
	b.Text(schema.At[1], strings.Repeat("x", 5000))
	buf, truncated := b.End()
	require.NoError(t, write(e, buf, truncated))
	b.Begin(schema, nil, s.Limit)
	buf, truncated = b.End()
	written, err := e.Write(buf, truncated)
	require.NoError(t, err)
	assert.True(t, written)
	refused, pooled := errors.New("refused"), bufpool.Get()
	require.ErrorIs(t, e.WriteEncoded(nil, 0, refused, pooled), refused)
	require.Error(t, write(e, buf[:6], 0))
	require.ErrorIs(t, write(e, make([]byte, payload.Base+tracepoint.MaxPayload+1), 0), uevents.ErrTooLarge)
	assert.Equal(t, uevents.EventStats{Written: 2, Truncated: 1, Refused: 3}, e.Stats())
	assert.Equal(t, e.Stats(), s.Total())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.True(t, s.Closed())
	assert.False(t, e.Enabled())
	assert.NoError(t, write(e, buf, 0), "the program shuts down")
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
