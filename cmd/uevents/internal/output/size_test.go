package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	assert.Equal(t, []string{"0", "999", "1,000", "1,234,567"}, []string{Count(0), Count(999), Count(1000), Count(1234567)})
	assert.Equal(t, []string{"0 CPUs", "1 process", "1,204 processes"}, []string{Plural(0, "CPU"), Plural(1, "process"), Plural(uint64(1204), "process")})
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 98_200_000: "98.2 MB", 5e12: "5.0 TB"} {
		assert.Equal(t, want, FileSize(n))
	}
	for n, want := range map[int]string{4096: "4 KiB", 512 << 10: "512 KiB", 1 << 20: "1 MiB", 1 << 30: "1024 MiB"} {
		assert.Equal(t, want, RingSize(n))
	}
	for s, want := range map[string]int{"1": 1, "4096": 4096, "512K": 512 << 10, "2M": 2 << 20, "1G": 1 << 30, "64KiB": 64 << 10} {
		n, err := ParseSize(s)
		require.NoError(t, err)
		assert.Equal(t, want, n)
	}
	for _, s := range []string{"", "0", "-1", "K", "1T", "2G", "1kk", "1.5M", "1 M"} {
		_, err := ParseSize(s)
		assert.Error(t, err, s)
	}
}

// FuzzParseSize: a size is in the range, and printed by RingSize is parsed again.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1", "64K", "512KiB", "1G", "2097151K", "0M", "1KiBK", "-1", "1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			require.Zero(t, n)
			return
		}
		require.True(t, n >= 1 && n <= MaxSize, "%q is %d", s, n)
		if n%(1<<20) == 0 {
			again, err := ParseSize(strings.ReplaceAll(RingSize(n), " ", ""))
			require.NoError(t, err)
			require.Equal(t, n, again)
		}
	})
}
