package bufpool

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPool(t *testing.T) {
	b := Get()
	assert.Empty(t, *b)
	assert.GreaterOrEqual(t, cap(*b), newSize)
	*b = append(*b, "used"...)
	Put(b)
	for range 100 { // whichever buffer comes back
		got := Get()
		assert.Empty(t, *got)
		assert.LessOrEqual(t, cap(*got), maxSize)
		large := make([]byte, 0, maxSize+1)
		Put(&large)
		Put(got)
	}
}

// TestSpread: a buffer keeps its number whatever is in it, and buffers of any size differ in the upper bits.
func TestSpread(t *testing.T) {
	const upper = 32
	seen := map[uint64]bool{}
	var keep [1000][]byte
	for i := range keep {
		b := make([]byte, 0, 16+4*i)
		keep[i] = b
		n := Spread(b)
		assert.Equal(t, n, Spread(append(b, "filled"...)))
		assert.False(t, seen[n>>upper], "buffer %d", i)
		seen[n>>upper] = true
	}
	runtime.KeepAlive(&keep) // no buffer had the memory of an earlier one
	assert.NotPanics(t, func() { Spread(nil) })
}
