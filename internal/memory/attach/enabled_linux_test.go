//go:build linux && !386 && !arm && !mips && !mipsle

package attach

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestEnabled: an event is enabled when all its enable bits are set, and not when a tool has requested it.
func TestEnabled(t *testing.T) {
	f, p, _ := attached(t)
	assert.Equal(t, map[uint32]bool{0: true}, p.Enabled())
	f.data.InUse.Store(math.MaxUint32)
	f.data.Gates[1][63].Store(1)
	f.data.Gates[2][5].Store(7)
	f.data.Gates[3][0].Store(math.MaxUint32)
	assert.Equal(t, map[uint32]bool{0: false, 6: false}, p.Enabled())
	f.control.Words[1].Store(1 << 63)
	assert.Equal(t, map[uint32]bool{0: true, 6: false}, p.Enabled())
	f.control.Words[0].Store(0)
	f.control.Words[2].Store(1 << 5)
	assert.Equal(t, map[uint32]bool{0: false, 6: true}, p.Enabled())
}
