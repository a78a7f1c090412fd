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
			limit := h.MinLimit(n)
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
			assert.ErrorIs(t, err, ErrTooLarge, fmt.Sprint(name, n))
		}
	}
}
