package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const output = `goos: linux
BenchmarkOn/zap          	    2000	       100.0 ns/op	       0 B/op
BenchmarkOn/zap-2        	    2000	        90.2 ns/op
BenchmarkOff/slog-json   	    2000	      1000 ns/op
PASS
`

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures")
	require.NoError(t, run(file, "a note", "", strings.NewReader(output), io.Discard))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(b), "; a note\nBenchmarkOff/slog-json 1000 ns/op\nBenchmarkOn/zap 90 ns/op\n"), "%s", b)

	var out strings.Builder
	require.NoError(t, run("", "", file, strings.NewReader(output), &out))
	assert.NotContains(t, out.String(), "MORE")
	for change, want := range map[string]string{
		"1020 ns/op": "", "1021 ns/op": "1 of 2 figures grew", "500 ns/op": "",
	} {
		err = run("", "", file, strings.NewReader(strings.Replace(output, "1000 ns/op", change, 1)), io.Discard)
		if want == "" {
			assert.NoError(t, err, change)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
	err = run("", "", file, strings.NewReader("BenchmarkOn/zap 95 ns/op\n"), io.Discard)
	assert.ErrorContains(t, err, "1 of 2", "one is missing, and 5 more are forgiven")
	assert.ErrorContains(t, run("", "", file, strings.NewReader("nothing"), io.Discard), "no figure")
	assert.ErrorIs(t, run("", "", file+"x", strings.NewReader(output), io.Discard), os.ErrNotExist)
}
