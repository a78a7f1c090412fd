package ueventstest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents"
)

func TestWriteDynamicEvents(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		require.NoError(t, k.WriteDynamicEvents("u:a\nu: b u32 x;u8 y# comment\n#u:c\n \nu:\td struct s x 010"))
		assert.Equal(t, "u:a\nu:b u32 x; u8 y\nu:d struct s x 10\n", k.DynamicEvents())
		for _, e := range k.Events() {
			assert.True(t, e.Persistent)
			assert.Zero(t, e.Files)
		}
		require.NoError(t, k.WriteDynamicEvents(""))
		require.NoError(t, k.WriteDynamicEvents("u:b u32 x; u8 y"), "it is there")
		assert.Len(t, k.Events(), 3)

		require.NoError(t, k.open().Delete("a"))
		saved := k.DynamicEvents()
		require.NoError(t, k.WriteDynamicEvents("-:b u32 x; u8 y\n!u:user_events/d struct s x 10\n"))
		assert.Empty(t, k.DynamicEvents())
		require.NoError(t, k.WriteDynamicEvents(saved), "a listing can be restored")
		assert.Equal(t, saved, k.DynamicEvents())
	})
}

func TestWriteDynamicEventsErrors(t *testing.T) {
	tests := []struct {
		text string
		want error
	}{
		{"p:kprobe", errno.EINVAL},
		{" u:leading_space", errno.EINVAL},
		{"u", errno.EINVAL},
		{"u:new nonsense", errno.EINVAL},
		{"u:new u32 a # comment", errno.EINVAL}, // for the space before it
		{"u:nul\x00", errno.EINVAL},
		{"u:" + strings.Repeat("x", 4093), nil},
		{"u:" + strings.Repeat("x", 4094), errno.EINVAL},
		{"u:" + strings.Repeat("x", 4093) + "\n", errno.EINVAL},
		{"-", errno.EINVAL},
		{"-u:there", errno.EINVAL},
		{"-:", errno.EINVAL},
		{"!", errno.EINVAL},
		{"!:", errno.EINVAL},
		{"!there", errno.EINVAL},
		{"-:none", errno.ENOENT},
		{"!u:none", errno.ENOENT},
		{"-:/there u32 x", errno.ENOENT},
		{"-:user_events/", errno.ENOENT},
		{"-:sched/there u32 x", errno.ENOENT},
		{"!u:there u8 x", errno.ENOENT},
		{"!u:there u32 x; u8 y", errno.ENOENT},
		{"!u:busy", errno.EBUSY},
		{"-:user_events/busy", errno.EBUSY},
		{"-:there u32 x", nil},
		{"!anything:there\tu32  x", nil},
		{"-:user_events/there u32 x", nil},
	}
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		mustRegister(t, k.open(), "busy")
		for _, tt := range tests {
			require.NoError(t, k.WriteDynamicEvents("u:there u32 x"))
			assert.ErrorIs(t, k.WriteDynamicEvents(tt.text), tt.want, "%q", tt.text)
		}
	})
}

// TestRemoveComparesFields has a difference that scripts fall over: since fields are
// compared, an event with fields can't be removed by its name alone.
func TestRemoveComparesFields(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		byName := error(errno.ENOENT)
		if k.page != nil {
			byName = nil
		}
		for _, command := range []string{"!u:ev", "-:user_events/ev", "-:ev"} {
			require.NoError(t, k.WriteDynamicEvents("u:ev u32 a; u8 b"))
			assert.ErrorIs(t, k.WriteDynamicEvents(command), byName, command)
		}
		require.NoError(t, k.WriteDynamicEvents("u:ev u32 a; u8 b"))
		assert.ErrorIs(t, k.WriteDynamicEvents("!u:ev u32 a;u8 b"), errno.ENOENT, "a semicolon does not end a word here")
		assert.NoError(t, k.WriteDynamicEvents("!u:ev u32 a; u8 b"))
	})
}

func TestRemoveFromEitherSystem(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		require.NoError(t, k.WriteDynamicEvents("u:ev"))
		err := k.WriteDynamicEvents("-:user_events_multi/ev")
		if k.page != nil {
			assert.ErrorIs(t, err, errno.ENOENT)
		} else {
			assert.NoError(t, err, "which of the two it is does not matter")
		}
	})
}

func TestCreateConflicts(t *testing.T) {
	k := NewKernel(&Options{MaxEvents: 2})
	require.NoError(t, k.WriteDynamicEvents("u:ev u32 a"))
	assert.ErrorIs(t, k.WriteDynamicEvents("u:ev u32 b"), errno.EADDRINUSE)
	assert.ErrorIs(t, k.WriteDynamicEvents("u:ev:flag u32 a"), errno.EINVAL)
	assert.ErrorIs(t, k.WriteDynamicEvents("u:a\nu:b\n"), errno.EMFILE)
	assert.Equal(t, "u:ev u32 a\nu:a\n", k.DynamicEvents(), "commands before the one that failed count")

	k = NewKernel(&Options{ABI: uevents.ABIStatusBit})
	require.NoError(t, k.WriteDynamicEvents("u:ev u32 a"))
	assert.NoError(t, k.WriteDynamicEvents("u:ev:flag u32 b"))
	assert.Equal(t, "u:ev u32 a\n", k.DynamicEvents())

	require.NoError(t, k.Close())
	assert.ErrorIs(t, k.WriteDynamicEvents("u:ev"), errno.ENODEV)
}

func TestLongCommands(t *testing.T) {
	k := NewKernel(nil)
	long := strings.Repeat("u8 x;", 200)
	assert.NoError(t, k.WriteDynamicEvents("u:ev "+long), "the limit of 512 bytes is that of registrations")
	_, err := register(k.open(), "ev2 "+long, nil, 0)
	assert.ErrorIs(t, err, errno.EINVAL)
}
