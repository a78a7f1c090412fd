package reader

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestSeveralFormatsOfOtherNames: the number that the kernel adds to a name makes no pattern match another name.
func TestSeveralFormatsOfOtherNames(t *testing.T) {
	p, err := parsePattern("myapp")
	require.NoError(t, err)
	assert.True(t, p.match(tracepoint.MultiSystem, "myapp.1"))
	assert.False(t, p.match(tracepoint.MultiSystem, "other.1"))
}

// TestLimitsAreReached: as many events are attached as Options and descriptors allow. More are refused before any is attached.
func TestLimitsAreReached(t *testing.T) {
	for _, tt := range []struct {
		most, descriptors, rings int
		want                     error
		text                     string
	}{
		{3, 1000, 2, nil, ""},
		{2, 1000, 2, ErrTooManyEvents, "3 events match, and at most 2 are allowed"},
		{0, 6, 2, nil, ""},
		{0, 5, 2, errno.EMFILE, "3 events on 2 CPUs need 6 descriptors, and 5 are left"},
		{0, 7, 0, errno.EMFILE, "need 8 descriptors"},
	} {
		m := newMachine(t)
		p := m.program()
		for _, name := range []string{"a", "b", "c"} {
			_, err := p.Register(tracepoint.Declaration{Name: name}, nil)
			require.NoError(t, err)
		}
		m.stats.Descriptors, m.stats.Rings = tt.descriptors, tt.rings
		_, err := m.open(Options{MaxEvents: tt.most})
		require.ErrorIs(t, err, tt.want)
		if tt.want != nil {
			assert.ErrorContains(t, err, tt.text)
			assert.Empty(t, m.attached())
		}

		// Events that are not selected do not count.
		_, err = m.open(Options{Selection: Selection{Events: []string{"b"}}, MaxEvents: 1})
		require.NoError(t, err)
	}
}

// TestRefusedEvents: the error of Open is that of the first event, and says how many others there are.
func TestRefusedEvents(t *testing.T) {
	m := newMachine(t)
	p := m.program()
	m.refuse = fs.ErrPermission
	for i, want := range []string{"", "; 1 other events cannot be attached either"} {
		_, err := p.Register(tracepoint.Declaration{Name: string(rune('a' + i))}, nil)
		require.NoError(t, err)
		_, err = m.open(Options{NoFollow: true})
		require.ErrorIs(t, err, fs.ErrPermission)
		assert.True(t, strings.HasSuffix(err.Error(), want), err.Error())
		assert.Equal(t, i > 0, strings.Contains(err.Error(), "other events"), err.Error())
	}
}
