package flight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseRate(t *testing.T) {
	for s, want := range map[string]Rate{"2/h": {2, time.Hour}, "10/m": {10, time.Minute}, "1/90s": {1, 90 * time.Second}, "3/s": {3, time.Second}} {
		got, err := ParseRate(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got)
	}
	for _, s := range []string{"", "2", "/h", "0/h", "-1/h", "2/", "2/x", "x/h", "2/-1h", "2/0s"} {
		_, err := ParseRate(s)
		assert.ErrorContains(t, err, "rate", s)
	}
}

func TestLimiter(t *testing.T) {
	l := NewLimiter(Rate{2, time.Hour})
	at := time.Now()
	allowed := func(after time.Duration) bool { return l.Allow(at.Add(after)) }
	assert.True(t, allowed(0))
	assert.True(t, allowed(time.Second))
	assert.False(t, allowed(2*time.Second))
	assert.False(t, allowed(29*time.Minute))
	assert.True(t, allowed(31*time.Minute))
	assert.False(t, allowed(32*time.Minute))
	assert.True(t, allowed(10*time.Hour))
	assert.True(t, allowed(10*time.Hour))
	assert.False(t, allowed(10*time.Hour), "what was not used does not add up")
	l = NewLimiter(Rate{1, time.Hour})
	assert.True(t, allowed(0))
	assert.False(t, allowed(-10*time.Hour), "the clock was set back")
	assert.False(t, allowed(-9*time.Hour-time.Minute))
	assert.True(t, allowed(-8*time.Hour), "and the rate holds from then on")
	for range 100 {
		assert.True(t, NewLimiter(Rate{}).Allow(at))
	}
}

// FuzzParseRate: a rate that is accepted lets actions pass, and no more than it says.
func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"2/h", "10/m", "1/90s", "1/", "/s", "9223372036854775807/1ns", "1/2562047h", "-1/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			require.Zero(t, r)
			return
		}
		require.True(t, r.N > 0 && r.Per > 0, "%+v", r)
		l := NewLimiter(r)
		now := time.Unix(1e9, 0)
		require.True(t, l.Allow(now), s)
		passed := 1
		for range 10 {
			if l.Allow(now) {
				passed++
			}
		}
		require.LessOrEqual(t, passed, r.N, s)
	})
}
