package words_test

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/words"
)

func newWord(t *testing.T) *atomic.Uintptr {
	t.Helper()
	w, err := words.New()
	require.NoError(t, err)
	return w
}

// TestWords: a freed word is used again, after all that were freed before it.
func TestWords(t *testing.T) {
	before, _ := words.Usage()
	var list []*atomic.Uintptr
	seen := map[*atomic.Uintptr]bool{}
	for range 3000 { // more than a page
		w := newWord(t)
		require.False(t, seen[w], "handed out twice")
		require.Zero(t, w.Load())
		seen[w] = true
		list = append(list, w)
	}
	inUse, pages := words.Usage()
	assert.Equal(t, before+3000, inUse)
	assert.GreaterOrEqual(t, pages*os.Getpagesize(), inUse*words.Size)
	for i, w := range list {
		w.Store(^uintptr(i)) // each has its own bytes
	}
	for i, w := range list {
		require.Equal(t, ^uintptr(i), w.Load())
		words.Free(w)
	}
	inUse, _ = words.Usage()
	assert.Equal(t, before, inUse)

	var again []*atomic.Uintptr
	for len(again) < len(list) {
		w := newWord(t)
		require.Zero(t, w.Load())
		if len(again) == 0 && w != list[0] {
			defer words.Free(w) // of the last page, never used so far
			continue
		}
		again = append(again, w)
	}
	assert.True(t, slices.Equal(list, again), "first in, first out") // assert.Equal compares what pointers point to
	for _, w := range again {
		words.Free(w)
	}
	_, after := words.Usage()
	assert.Equal(t, pages, after, "no new page")
}

func TestWordsConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				w, err := words.New()
				if !assert.NoError(t, err) || !assert.EqualValues(t, 1, w.Add(1), "another goroutine has it too") {
					return
				}
				words.Free(w)
			}
		})
	}
	wg.Wait()
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
