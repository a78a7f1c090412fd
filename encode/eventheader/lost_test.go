package eventheader

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLost: the encoder says what the event says.
func TestLost(t *testing.T) {
	var e Encoder
	for _, size := range []int{0, 100, 150, 200, 1000, 0} {
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
		for _, name := range []string{"a", "b", "c"} {
			e.String(name, strings.Repeat("x", size))
		}
		payload, err := e.End()
		require.NoError(t, err)
		ev, err := Decode("p_L4K1", payload)
		require.NoError(t, err)
		nodes, err := ev.Tree()
		require.NoError(t, err)
		said := uint64(0)
		if last := nodes[len(nodes)-1]; last.Name == TruncatedField {
			said = last.Value.(uint64)
		}
		assert.EqualValues(t, said, e.Lost(), size)
		assert.Equal(t, size >= 100, e.Lost() > 0, size)
	}
}
