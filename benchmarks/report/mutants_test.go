package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMutants: a package has a row, with figures that are rounded down.
func TestMutants(t *testing.T) {
	now, err := parseMutants("# make mutate\npackage a/b: mutants 8, covered 7, killed 5, by the time limit 1, not viable 2\n" +
		"lived a/b/c.go:3 f X `x < y`: equal\nlived a/b/c.go:4 f X `x > y`\nnot-covered a/b/c.go:5 f X `x`\n# other\npackage d: mutants 1, covered 0, killed 0, by\n")
	require.NoError(t, err)
	before, err := parseMutants("package a/b: mutants 9, covered 9, killed 3, by the time limit 0, not viable 0\n")
	require.NoError(t, err)
	assert.Equal(t, "| `a/b` | 8 | 87 % | 71 % | 33 % | 1 | 1 |\n| `d` | 1 | 0 % |  |  | 0 | 0 |", mutantTable(now, before))
	for _, text := range []string{"lived a", "package p: mutants 1, covered 1, killed 1, by\nunknown"} {
		_, err = parseMutants(text)
		assert.Error(t, err, text)
	}
}
