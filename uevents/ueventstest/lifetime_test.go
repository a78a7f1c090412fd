package ueventstest

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestStatusGenerationsKeepEvents(t *testing.T) {
	onEach(t, statusGenerations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "ev")
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
