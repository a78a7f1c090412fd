package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/benchmarks/internal/figures"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestCommitted checks that the documents are those of the kept figures.
func TestCommitted(t *testing.T) {
	testscale.UsesCheckout()
	root := filepath.Join("..", "..")
	texts, err := render(filepath.Join("..", "results"), root)
	require.NoError(t, err)
	require.Len(t, texts, 3)
	for name, want := range texts {
		got, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "go run ./report in benchmarks writes %s", name)
	}
}

// TestRefuses checks that a document with a missing figure is not written.
func TestRefuses(t *testing.T) {
	_, err := render(t.TempDir(), filepath.Join("..", ".."))
	require.ErrorIs(t, err, os.ErrNotExist)
	all := runs{"count": &figures.Run{Figures: map[string]figures.Figure{"On/zap/five": {Calls: 7, Cost: 1, Others: map[string]float64{"bytes": 3}}}}}
	for unit, want := range map[string]number{"cost": 1, "calls": 7, "allocs": 0, "bytes": 3} {
		v, err := all.value("count", "On/zap/five", unit)
		require.NoError(t, err)
		assert.Equal(t, want, v)
	}
	_, err = all.value("count", "On/zap/ten", "cost")
	require.EqualError(t, err, "6.12-instructions.txt has no cost of On/zap/ten")
	_, err = all.value("count", "On/zap/five", "lost")
	require.EqualError(t, err, "6.12-instructions.txt has no lost of On/zap/five")
}

func TestNumber(t *testing.T) {
	for v, want := range map[number]string{0: "0.0", 9.4: "9.4", 10.46: "10", 999.5: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, v.String())
	}
}
