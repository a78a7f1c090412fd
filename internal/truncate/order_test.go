package truncate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestSelect: as many values are dropped as asked for, those dropped stay so if more are, and the classes follow each other.
func TestSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range testscale.Count(50, 10) {
		var counts Counts
		all := 0
		for class := range counts {
			counts[class] = rng.IntN(20)
			all += counts[class]
		}
		require.Equal(t, all-counts[ClassFixed], counts.Total())
		before := map[[2]int]bool{}
		for n := range all + 1 {
			s := counts.Select(n)
			dropped := map[[2]int]bool{}
			var left Counts
			for class, count := range counts {
				for i := range count {
					if s.Drops(Class(class)) {
						dropped[[2]int{class, i}] = true
					} else {
						left[class]++
					}
				}
			}
			require.Len(t, dropped, n)
			for value := range before {
				require.Contains(t, dropped, value)
			}
			before = dropped
			if left[ClassLongText] < counts[ClassLongText] {
				require.Zero(t, left[ClassRemote]+left[ClassElement])
			}
			if left[ClassNumber] < counts[ClassNumber] {
				require.LessOrEqual(t, left[ClassText], last)
				require.Zero(t, left[ClassLongText])
			}
			if left[ClassText] < min(last, counts[ClassText]) {
				require.LessOrEqual(t, left[ClassNumber], last)
			}
			if left[ClassFixed] < counts[ClassFixed] {
				require.Zero(t, left.Total())
			}
		}
	}
}
