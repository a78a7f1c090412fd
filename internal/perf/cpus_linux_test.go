package perf

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
)

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-3": {0, 1, 2, 3}, "0,2-3,65535": {0, 2, 3, 65535}, "1": {1}} {
		got, err := parseCPUs(list)
		require.NoError(t, err, list)
		assert.Equal(t, want, got, list)
	}
	for _, list := range []string{"", "a", "1-", "-1", "3-1", "0,", "0-65536", "0-99999999999999999999", "0 1", "1,0", "0,0", "0-3,2", "0-65535,0-65535"} {
		_, err := parseCPUs(list)
		assert.ErrorContains(t, err, "is no list of CPUs", "%q", list)
	}
}

// TestOnline reads the CPUs of this machine.
func TestOnline(t *testing.T) {
	k, err := newKernel("")
	require.NoError(t, err)
	defer func() { assert.NoError(t, k.close()) }()
	cpus, err := k.online()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(cpus), runtime.NumCPU())
	free, err := k.files()
	require.NoError(t, err)
	f, err := os.Open("/proc/self/stat")
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	less, err := k.files()
	require.NoError(t, err)
	assert.Less(t, less, free, "a file is open")
	assert.Positive(t, less)
	memory, err := k.memory()
	require.NoError(t, err)
	assert.Greater(t, memory, uint64(1<<20))
}

// TestOpen: a session without events needs no permission.
func TestOpen(t *testing.T) {
	s, err := Open(tracefs.At(t.TempDir()), nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestParseMemory(t *testing.T) {
	n, err := parseMemory("MemTotal:        8038444 kB\nMemFree:          224164 kB\nMemAvailable:    3145728 kB\nBuffers:               0 kB\n")
	require.NoError(t, err)
	assert.Equal(t, uint64(3<<30), n)
	for _, text := range []string{"", "MemTotal: 5 kB\n", "\nMemAvailable: x kB\n", "\nMemAvailable: 99999999999999999999 kB\n"} {
		_, err := parseMemory(text)
		assert.ErrorContains(t, err, "has no MemAvailable", "%q", text)
	}
}

// FuzzParseCPUs: a list that is accepted has each CPU once, in order, however often it names it.
func FuzzParseCPUs(f *testing.F) {
	f.Add("0-3,8")
	f.Add("0-65535,0-65535")
	f.Add("3,1-2")
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := parseCPUs(list)
		if err != nil {
			require.Empty(t, cpus)
			return
		}
		require.NotEmpty(t, cpus)
		for i, cpu := range cpus {
			require.True(t, cpu >= 0 && cpu < maxCPU && (i == 0 || cpu > cpus[i-1]), "%q: %v", list, cpus)
		}
	})
}

// FuzzParseMemory: a size is accepted only with the digits of the text.
func FuzzParseMemory(f *testing.F) {
	f.Add("MemTotal: 8038444 kB\nMemAvailable:    3145728 kB\n")
	f.Add("\nMemAvailable:18014398509481983 kB")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseMemory(text)
		if err == nil {
			require.Zero(t, n%1024)
			require.Contains(t, text, strconv.FormatUint(n/1024, 10))
		}
	})
}
