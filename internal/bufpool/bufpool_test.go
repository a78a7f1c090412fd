package bufpool

import (
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
