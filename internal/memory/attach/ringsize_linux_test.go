package attach

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRingSize: the more programs there are, the smaller are the rings of further ones, so that many have some, and all together never take
// more than their memory.
func TestRingSize(t *testing.T) {
	p := &Programs{o: ProgramsOptions{RingMemory: 48 << 20}}
	total, last := 0, defaultRingSize
	for {
		size := p.ringSize()
		if size == 0 {
			break
		}
		assert.LessOrEqual(t, size, last)
		total, last = total+size, size
		p.all = append(p.all, &traced{session: &Session{size: uint64(size / 2), count: 2}})
	}
	assert.LessOrEqual(t, total, p.o.RingMemory)
	assert.Greater(t, total, p.o.RingMemory-leastRing)
	assert.Equal(t, leastRing, last)
	assert.Greater(t, len(p.all), 100)
	assert.Equal(t, defaultRingSize, new(Programs).ringSize(), "without a limit")
	small := &Programs{o: ProgramsOptions{RingMemory: 1 << 20, Options: Options{RingSize: MinRing}}}
	assert.Equal(t, MinRing, small.ringSize(), "they are not made larger")
}
