package eventheader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMinLimit: with that limit there is an event, whatever its fields are, and with one byte less there may be none.
func TestMinLimit(t *testing.T) {
	long := strings.Repeat("x", 1000)
	ids := []UUID{sequence(1), sequence(2), sequence(3)}
	for _, name := range []string{"", "e", "größe", strings.Repeat("é", 127), strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 999)} {
		for n := range ids {
			h := Header{Name: name, Level: LevelInfo}
			limit := h.minLimit(n)
			encode := func(limit int) ([]byte, error) {
				var e Encoder
				e.Begin(nil, &h, limit, ids[:n]...)
				e.String("long", long)
				e.BeginStruct("struct")
				Ints(&e, "numbers", make([]int, 100))
				return e.End()
			}
			b, err := encode(limit)
			require.NoError(t, err)
			nodes := requireEvent(t, b, limit)
			assert.Equal(t, TruncatedField, nodes[len(nodes)-1].Name)
			_, err = encode(limit - 1)
			assert.ErrorIs(t, err, errTooLarge, fmt.Sprint(name, n))
		}
	}
}

// minLimit returns the least limit in bytes with which an [Encoder] can make any event of this header that has so many
// activity ids, 0 to 2. It then has at least the name and says what it lost. With less, [Encoder.End] may return errTooLarge.
func (h *Header) minLimit(ids int) int {
	name := min(max(len(h.Name), len(noName)), maxNameSize)
	if ids > 0 {
		name += extensionSize + min(ids, 2)*len(UUID{})
	}
	return headerSize + extensionSize + name + 1 + truncatedSize
}
