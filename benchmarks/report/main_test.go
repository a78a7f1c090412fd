package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCommitted: pages and table are what the committed figures make of them.
func TestCommitted(t *testing.T) {
	read := func(elem ...string) string {
		b, err := os.ReadFile(filepath.Join(elem...))
		require.NoError(t, err)
		return string(b)
	}
	root := filepath.Join("..", "..")
	files, err := render(read("..", "results", "6.12.txt"), read(root, "README.md"))
	require.NoError(t, err)
	assert.Len(t, files, 3)
	for name, want := range files {
		assert.Equal(t, want, read(root, name), "run go run ./report")
	}
}

func TestRenderRefuses(t *testing.T) {
	_, err := render("# about\nBenchmarkFloor/load 14 ns/op\n", tableBegin+tableEnd)
	assert.ErrorContains(t, err, "no figure for")
	results, err := os.ReadFile(filepath.Join("..", "results", "6.12.txt"))
	require.NoError(t, err)
	_, err = render(string(results), "# a README without marks")
	assert.ErrorContains(t, err, "no place for the table")
}

func TestThousands(t *testing.T) {
	for v, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(v))
	}
}
