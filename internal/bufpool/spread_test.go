package bufpool

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
