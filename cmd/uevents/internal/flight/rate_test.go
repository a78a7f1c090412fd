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
		again, err := ParseRate(got.String())
		require.NoError(t, err)
		assert.Equal(t, want, again)
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
	for range 100 {
		assert.True(t, NewLimiter(Rate{}).Allow(at))
	}
}

func TestParseKeep(t *testing.T) {
	for s, want := range map[string]Keep{
		"64M": {64 << 20, 0}, "10s": {defaultBytes, 10 * time.Second}, "512K,5m": {512 << 10, 5 * time.Minute}, "1h,1G": {1 << 30, time.Hour},
	} {
		got, err := ParseKeep(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "64", "0M", "-1M", "M", "1M,2M", "1s,2s", "64M,", "99999999999999G", "0s"} {
		_, err := ParseKeep(s)
		assert.Error(t, err, s)
	}
	assert.Equal(t, 8<<20, Keep{Bytes: 64 << 20}.Ring(8))
	assert.Equal(t, 8<<20, Keep{Bytes: 64 << 20}.Ring(6), "a power of two that fits")
	assert.Equal(t, 64<<10, Keep{Bytes: 1 << 10}.Ring(64), "the least")
}
