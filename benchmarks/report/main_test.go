package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCommitted: the page is what the committed figures make of it.
func TestCommitted(t *testing.T) {
	results, err := os.ReadFile(filepath.Join("..", "results", "6.12.txt"))
	require.NoError(t, err)
	md, svg, err := render(string(results))
	require.NoError(t, err)
	for name, want := range map[string]string{"benchmarks.md": md, "benchmarks.svg": svg} {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "run go run ./report")
	}
}

func TestRenderRefuses(t *testing.T) {
	_, _, err := render("# about\nBenchmarkFloor/load 14 ns/op\n")
	assert.ErrorContains(t, err, "no figure for")
}

func TestThousands(t *testing.T) {
	for v, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(v))
	}
}
