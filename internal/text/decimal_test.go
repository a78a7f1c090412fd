package text

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAppendDecimalTakesShortNumbers: numbers of few digits do not take the slower way, and others do.
func TestAppendDecimalTakesShortNumbers(t *testing.T) {
	for _, s := range []string{"0.25", "0.1", "0.001", "0.000001", "0.000001001", "123456.789012345", "999999.999999999", "0.3", "1.1"} {
		v, err := strconv.ParseFloat(s, 64)
		assert.NoError(t, err)
		for sign, v := range map[string]float64{"": v, "-": -v} {
			out, ok := appendDecimal([]byte("x"), v)
			assert.True(t, ok, s)
			assert.Equal(t, "x"+sign+s, string(out))
		}
	}
	for _, v := range []float64{1.0 / 3, math.Nextafter(0.3, 1), 1e-7, 1e6 + 0.5, math.Pi, 1e300, 0} {
		out, ok := appendDecimal([]byte("x"), v)
		assert.False(t, ok, v)
		assert.Equal(t, "x", string(out))
	}
}
