package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

func TestParseKeep(t *testing.T) {
	for s, want := range map[string]keep{
		"64M": {64 << 20, 0}, "10s": {defaultKeep, 10 * time.Second}, "512K,5m": {512 << 10, 5 * time.Minute}, "1h,1G": {1 << 30, time.Hour},
	} {
		got, err := parseKeep(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "64", "0M", "-1M", "M", "1M,2M", "1s,2s", "64M,", "99999999999999G", "0s", "63K", "-1s"} {
		_, err := parseKeep(s)
		assert.Error(t, err, s)
	}
	assert.Equal(t, 8<<20, keep{bytes: 64 << 20}.ring(8))
	assert.Equal(t, 8<<20, keep{bytes: 64 << 20}.ring(6), "a power of two that fits")
	assert.Equal(t, leastKeep, keep{bytes: 1 << 20}.ring(64), "the least")
}

// FuzzParseKeep: what is accepted gives each CPU a ring of a power of two, and all together no more than was asked for, or
// the minimum.
func FuzzParseKeep(f *testing.F) {
	for _, s := range []string{"64M", "10s", "64M,10s", "10s,64M", "1G,2562047h", ",", "64K,64K", "63K"} {
		f.Add(s, 4)
	}
	f.Fuzz(func(t *testing.T, s string, cpus int) {
		k, err := parseKeep(s)
		if err != nil {
			require.Zero(t, k)
			return
		}
		require.True(t, k.bytes >= leastKeep && k.bytes <= output.MaxSize && k.age >= 0, "%+v", k)
		if cpus < 1 || cpus > 1<<16 {
			return
		}
		ring := k.ring(cpus)
		require.True(t, ring&(ring-1) == 0 && (ring == leastKeep || ring*cpus <= k.bytes), "%+v on %d CPUs: %d", k, cpus, ring)
	})
}
