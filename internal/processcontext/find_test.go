package processcontext

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	for line, want := range map[string][]uint64{
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042                       /memfd:OTEL_CTX (deleted)": {0x7f0c00000000},
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX":                               {0x7f0c00000000},
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:00 0      [anon:OTEL_CTX]":                               {0x7f0c00000000},
		"f7000000-f7001000 rw-p 00000000 00:01 12345678901     [anon_shmem:OTEL_CTX]":                        {0xf7000000},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [anon:OTEL_CTX]":                            {0xffffffffff600000},
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /tmp/memfd:OTEL_CTX":                           nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX2 (deleted)":                    nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX (deleted) x":                   nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /x /memfd:OTEL_CTX":                            nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   OTEL_CTX":                                      nil,
		"7f0c00000000-7f0c0000001f rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                    nil, // too small
		"7f0c00000000-7f0000000000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                    nil,
		"7f0c00000000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                                 nil,
		"x-7f0c00001000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                               nil,
		"[anon:OTEL_CTX]":     nil,
		"1-2 [anon:OTEL_CTX]": nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:00 0": nil,
		"": nil,
	} {
		got, err := find(strings.NewReader("00400000-00401000 r-xp 00000000 08:01 12  /bin/x\n" + line + "\n"))
		require.NoError(t, err)
		assert.Equal(t, want, got, line)
	}
}

// TestFindBounded: a process can have very many mappings, or many of that name.
func TestFindBounded(t *testing.T) {
	var maps strings.Builder
	for i := range 100 {
		fmt.Fprintf(&maps, "%x-%x rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n", i*0x1000, (i+1)*0x1000)
	}
	got, err := find(strings.NewReader(maps.String()))
	require.NoError(t, err)
	assert.Len(t, got, maxCandidates)

	endless := &endless{}
	got, err = find(endless)
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.LessOrEqual(t, endless.read, maxMaps)

	_, err = find(strings.NewReader(strings.Repeat("x", 1<<20)))
	assert.Error(t, err, "no line of the kernel is so long")
}

// endless has lines without end.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return copy(b, strings.Repeat("1000-2000 rw-p 00000000 00:00 0 [anon:x]\n", len(b)/40+1)), nil
}

var _ io.Reader = new(endless)

// FuzzFind: the mappings of any text are in it.
func FuzzFind(f *testing.F) {
	f.Add("7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042                       /memfd:OTEL_CTX (deleted)\n")
	f.Add("1-30 a b c d [anon:OTEL_CTX]\n2-40 a b c d [anon_shmem:OTEL_CTX]")
	f.Fuzz(func(t *testing.T, maps string) {
		list, _ := find(strings.NewReader(maps))
		require.LessOrEqual(t, len(list), min(maxCandidates, strings.Count(maps, name)))
		for _, at := range list {
			require.Contains(t, strings.ToLower(maps), fmt.Sprintf("%x-", at))
		}
	})
}
