package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
)

const output = `goos: linux
BenchmarkOn/zap          	    2000	       100.0 ns/op	       0 B/op
BenchmarkOn/zap-2        	    2000	        90.2 ns/op
BenchmarkOff/slog-json   	    2000	      1000 ns/op
PASS
`

func parse(t *testing.T, output string) *figures.Run {
	run, err := figures.Parse(strings.NewReader(output))
	require.NoError(t, err)
	return run
}

func TestCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures")
	require.NoError(t, write(file, parse(t, output)))
	against := func(output string) (string, error) {
		var out strings.Builder
		err := check(&out, parse(t, output), file)
		return out.String(), err
	}
	text, err := against(output)
	require.NoError(t, err)
	assert.Contains(t, text, "2 of 2 are the same to the digit")
	for change, want := range map[string]string{
		"1020 ns/op": "", "1021 ns/op": "1 of 2 figures grew", "500 ns/op": "",
	} {
		text, err = against(strings.Replace(output, "1000 ns/op", change, 1))
		assert.Contains(t, text, "1 of 2 are the same")
		if want == "" {
			assert.NoError(t, err, change)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
	text, err = against("BenchmarkOn/zap 1 95 ns/op\n")
	assert.ErrorContains(t, err, "1 of 2", "one is missing, and 5 more are forgiven")
	assert.Contains(t, text, "MISSING")
	assert.ErrorIs(t, check(io.Discard, parse(t, output), file+"x"), os.ErrNotExist)
}
