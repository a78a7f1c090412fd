package truncate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// of returns n lengths of size bytes.
func of(n, size int) []int {
	lengths := make([]int, n)
	for i := range lengths {
		lengths[i] = size
	}
	return lengths
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		name       string
		lengths    []int
		room       int
		whole, cut int
		fits       bool
	}{
		{"no texts", nil, 0, 0, 0, true},
		{"no texts and no room", nil, -1, 0, 0, false},
		{"all fit", []int{10, 20}, 30, 20, 20, true},
		{"one long", []int{10, 7000}, 1000, 990, 990, true},
		{"two long", []int{7000, 10, 7000}, 1010, 500, 500, true},
		{"all fit, shorter than legible", []int{5, 5}, 10, 5, 5, true},
		{"legible", of(300, 20), 8 * 300, 8, 8, true},
		{"a share of the short length", []int{100, 10, 100}, 10 + 2*Short, Short, Short, true},
		{"a short one, and a rest for the others", append(of(10, 20), 18), 10*3 + 18 + 20, 18, 5, false},
		{"different lengths, both cut", []int{3000, 2000, 100}, 1100, 500, 500, true},
		{"many long, three short", append(of(300, 100), 5, 18, 36), 300*10 + 59, Short, 10, true},
		{"only marks for long ones", append(of(10, 100), 18), 10*3 + 18, Short, 3, true},
		{"no room for marks of long ones", append(of(10, 100), 18), 10*3 + 17, 0, 4, false},
		{"short ones of one length", of(300, 20), 3000, 10, 10, true},
		{"hardly anything of short ones", of(300, 20), 2100, 0, 7, false},
		{"some of the short ones", append(of(10, 20), 18), 10*3 + 18, 18, 3, false},
		{"shorter than the mark", []int{1, 2, 50}, 6, 2, 3, false},
		{"too many", of(100, 20), 299, 0, 0, false},
		{"too many, one short", append(of(100, 20), 2), 299, 2, 0, false},
	} {
		whole, cut, fits := Divide(c.lengths, c.room)
		assert.Equal(t, c.fits, fits, c.name)
		assert.Equal(t, c.whole, whole, c.name)
		assert.Equal(t, c.cut, cut, c.name)
	}
}

// TestDivideIsFair: what Divide says has room, short texts stay whole if it fits, and the room is used.
func TestDivideIsFair(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range testscale.Count(100_000, 5_000) {
		lengths := make([]int, 1+rng.IntN(20))
		for i := range lengths {
			lengths[i] = rng.IntN(1 << rng.IntN(12))
		}
		room := rng.IntN(4000)
		whole, cut, fits := Divide(lengths, room)
		used, truncated := 0, 0
		for _, length := range lengths {
			if length <= whole {
				used += length
				continue
			}
			used += cut
			truncated++
			require.Less(t, cut, length)
		}
		require.LessOrEqual(t, used, room)
		if fits && truncated > 0 {
			require.GreaterOrEqual(t, whole, legible)
			require.GreaterOrEqual(t, cut, len(Mark))
			require.Greater(t, used, room-len(lengths), "%v in %d", lengths, room)
		}
	}
}
