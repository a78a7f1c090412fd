package ueventstest

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
)

// TestEachReferenceHolds takes the three kinds of references away in every order.
func TestEachReferenceHolds(t *testing.T) {
	orders := [][3]string{
		{"file", "word", "tool"},
		{"file", "tool", "word"},
		{"word", "file", "tool"},
		{"word", "tool", "file"},
		{"tool", "file", "word"},
		{"tool", "word", "file"},
	}
	for _, order := range orders {
		t.Run(strings.Join(order[:], ","), func(t *testing.T) {
			k := NewKernel(nil)
			f, other := k.open(), k.open()
			word := new(atomic.Uintptr)
			_, err := register(f, "ev", word, 0)
			require.NoError(t, err)
			tool := mustAttach(t, k, Ftrace, "ev")
			drop := map[string]func(){
				"file": func() { require.NoError(t, f.Close()) },
				"word": func() { require.NoError(t, other.Unregister(word, 0)) },
				"tool": tool.Detach,
			}
			for _, what := range order {
				assert.Equal(t, []string{"ev"}, names(k))
				assert.ErrorIs(t, other.Delete("ev"), errno.EBUSY)
				drop[what]()
			}
			assert.Empty(t, names(k))
			assert.ErrorIs(t, other.Delete("ev"), errno.ENOENT)
		})
	}
}

// TestClosingAFileLeavesItsWords has what surprises: words belong to the process.
func TestClosingAFileLeavesItsWords(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	r := mustRegister(t, f, "ev")
	require.NoError(t, f.Close())
	mustAttach(t, k, Ftrace, "ev")
	assert.Equal(t, uintptr(1), r.Word.Load())
}

func TestDeleteNeedsPersistence(t *testing.T) {
	tests := []struct {
		name    string
		perfmon bool
		want    error
	}{
		{"with CAP_PERFMON", true, nil},
		{"without", false, errno.EPERM},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := NewKernel(nil)
			require.NoError(t, k.WriteDynamicEvents("u:ev"))
			k.perfmon = tt.perfmon
			f := k.open()
			assert.ErrorIs(t, f.Delete("ev"), tt.want)
			assert.ErrorIs(t, f.Delete("none"), errno.ENOENT)
			assert.ErrorIs(t, f.Delete(strings.Repeat("n", 512)), errno.EINVAL)

			if !tt.perfmon {
				r := mustRegister(t, f, "ev")
				assert.ErrorIs(t, k.open().Delete("ev"), errno.EBUSY, "before the capability")
				require.NoError(t, f.Unregister(r.Word, 0))
				assert.ErrorIs(t, k.WriteDynamicEvents("!u:ev"), errno.EBUSY)
				require.NoError(t, f.Close())
				assert.ErrorIs(t, k.WriteDynamicEvents("!u:ev"), errno.EPERM)
				assert.ErrorIs(t, k.WriteDynamicEvents("u:new"), errno.EPERM)
			}
		})
	}
}

// TestPersistenceIsTheFirstOnes has that a second registration changes nothing.
func TestPersistenceIsTheFirstOnes(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	r := mustRegister(t, f, "ev")
	require.NoError(t, k.WriteDynamicEvents("u:ev"))
	assert.False(t, k.Events()[0].Persistent)
	require.NoError(t, f.Unregister(r.Word, 0))
	require.NoError(t, f.Close())
	assert.Empty(t, names(k))
}

func TestDeleteAllFormats(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	words := [3]atomic.Uintptr{}
	flags := uint16(backend.FlagPersist | backend.FlagMultiFormat)
	for i, fields := range []string{"ev u8 a", "ev u16 a", "ev u32 a"} {
		_, err := f.Register(backend.Request{Command: fields, Flags: flags, Word: &words[i]})
		require.NoError(t, err)
	}
	for i := range words {
		require.NoError(t, f.Unregister(&words[i], 0))
	}
	require.NoError(t, f.Close())
	tool := mustAttach(t, k, Ftrace, "user_events_multi:ev.1")

	f = k.open()
	assert.ErrorIs(t, f.Delete("ev.0"), errno.ENOENT, "the name is the registered one")
	assert.ErrorIs(t, f.Delete("ev"), errno.EBUSY)
	assert.Equal(t, []string{"ev.0", "ev.1"}, names(k), "the newest went before one was found in use")
	tool.Detach()
	assert.NoError(t, f.Delete("ev"))
	assert.Empty(t, names(k))
}

func TestStatusGenerationsKeepEvents(t *testing.T) {
	onEach(t, statusGenerations, func(t *testing.T, k *Kernel) {
		k.perfmon = false // nothing needs it
		f := k.open()
		r := mustRegister(t, f, "ev")
		assert.True(t, k.Events()[0].Persistent)
		tool := mustAttach(t, k, Ftrace, "ev")
		assert.ErrorIs(t, k.open().Delete("ev"), errno.EBUSY)
		require.NoError(t, f.Close())
		assert.ErrorIs(t, k.open().Delete("ev"), errno.EBUSY)
		tool.Detach()
		assert.Equal(t, []string{"ev"}, names(k))
		require.NoError(t, k.open().Delete("ev"))
		assert.Empty(t, names(k))

		again := mustRegister(t, k.open(), "another")
		assert.Same(t, r.Word, again.Word, "the index is free again")
		assert.Equal(t, r.Mask, again.Mask)
	})
}

func TestFreedWords(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	word, err := f.NewWord()
	require.NoError(t, err)
	assert.Zero(t, word.Load())
	_, err = register(f, "ev", word, 5)
	require.NoError(t, err)
	require.NoError(t, f.Unregister(word, 5))
	f.FreeWord(word)
	require.NoError(t, f.Close())
	assert.NoError(t, k.Close())

	k = NewKernel(nil)
	f = k.open()
	_, err = register(f, "ev", word, 5)
	require.NoError(t, err)
	f.FreeWord(word)
	require.NoError(t, f.Unregister(word, 5))
	require.NoError(t, f.Close())
	assert.EqualError(t, k.Close(), "ueventstest: enable words freed while registered, of ev")

	k = NewKernel(nil)
	f = k.open()
	for range 2 {
		_, err = f.NewWord()
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	assert.EqualError(t, k.Close(), "ueventstest: enable words not freed: 2")
}
