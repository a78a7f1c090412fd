package truncate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

func TestShare(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []int
		free    int
		share   int
	}{
		{"no texts", nil, 0, math.MaxInt},
		{"all fit", []int{10, 20}, 30, math.MaxInt},
		{"one long", []int{10, 7000}, 1000, 990},
		{"two long", []int{7000, 10, 7000}, 1010, 500},
		{"different lengths, both cut", []int{3000, 2000, 100}, 1100, 500},
		{"less than a byte each", []int{20, 20, 20}, 2, 0},
		{"no space", []int{20}, -1, 0},
	} {
		assert.Equal(t, c.share, Share(c.lengths, c.free), c.name)
	}
}

// TestShareIsFair: texts cut to the share use the space, but for less than a byte each.
func TestShareIsFair(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range testscale.Count(100_000, 5_000) {
		lengths := make([]int, 1+rng.IntN(20))
		for i := range lengths {
			lengths[i] = rng.IntN(1 << rng.IntN(12))
		}
		free := rng.IntN(4000)
		share := Share(slices.Clone(lengths), free)
		used := 0
		for _, length := range lengths {
			used += min(length, share)
		}
		require.LessOrEqual(t, used, free)
		if share < math.MaxInt {
			require.Greater(t, used, free-len(lengths), "%v in %d", lengths, free)
		}
	}
}

// counted is a record that counts how often Fit goes over it.
type counted struct {
	attributes []int // lengths of texts; each attribute takes 10 bytes more
	passes     int
}

func (c *counted) Measure(lengths []int) (all []int, size int) {
	c.passes++
	return append(lengths, c.attributes...), 10*len(c.attributes) + sum(c.attributes)
}

func (c *counted) Drop(budget *Budget) int {
	c.passes++
	before := len(c.attributes)
	budget.Free += 10*before + sum(c.attributes)
	c.attributes = slices.DeleteFunc(c.attributes, func(n int) bool { return !budget.Keep(10+n, n) })
	return before - len(c.attributes)
}

func (c *counted) Cut(share int) (cut int) {
	c.passes++
	for i, n := range c.attributes {
		if n > share {
			c.attributes[i] = share
			cut++
		}
	}
	return cut
}

// TestFitPasses: a record of any number of attributes takes two passes, and four if attributes are dropped.
func TestFitPasses(t *testing.T) {
	for n := 1; n <= 100_000; n *= 10 {
		for _, length := range []int{5, 100, 7000} {
			c := &counted{attributes: slices.Repeat([]int{length}, n)}
			truncated := Fit(c, 4000)
			_, size := c.Measure(nil)
			assert.LessOrEqual(t, size, 4000)
			kept := min(n, 4000/(10+min(length, Short)))
			assert.Len(t, c.attributes, kept)
			assert.LessOrEqual(t, c.passes-1, 4)
			if kept == n {
				assert.Equal(t, 2, c.passes-1)
			}
			if n*(10+length) > 4000 {
				assert.GreaterOrEqual(t, truncated, n-kept)
				assert.Positive(t, truncated)
			}
		}
	}
}
