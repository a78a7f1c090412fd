//go:build linux && !386 && !arm && !mips && !mipsle

package reader

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
)

// TestMemoryKinds: programs that make up events take a bounded amount of memory, and later events are remembered all the same.
func TestMemoryKinds(t *testing.T) {
	r, err := newReader(&Options{Events: []string{"mem"}, Transport: TransportMemory}, "/proc")
	require.NoError(t, err)
	m := &memorySession{r: r, kinds: map[string]*memoryKind{}}
	for i := range 2*maxKinds + 1 {
		m.kind(tracepoint.MustParse(fmt.Sprintf("mem_%d u64 a", i)))
		assert.LessOrEqual(t, len(m.kinds), maxKinds)
	}
	later := tracepoint.MustParse("mem_later u64 a")
	assert.Same(t, m.kind(later), m.kind(later))
	assert.NotNil(t, m.kind(later).decoder)
}
