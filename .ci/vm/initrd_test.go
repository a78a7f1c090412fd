package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// That a guest can use what is in it, the guests that count show.
func TestInitrd(t *testing.T) {
	dir := t.TempDir()
	m := machine{init: os.Args[0], initrd: filepath.Join(dir, "initrd")}
	j := job{Packages: []testPackage{{ImportPath: "a", Dir: "/src/a", Binary: os.Args[0]}}}
	require.NoError(t, writeInitrd(m, j))
	assert.Equal(t, os.Args[0], j.Packages[0].Binary, "the caller's job stays as it was")
	first, err := os.ReadFile(m.initrd)
	require.NoError(t, err)
	require.NoError(t, writeInitrd(m, j))
	second, err := os.ReadFile(m.initrd)
	require.NoError(t, err)
	assert.Equal(t, first, second, "the same each time")

	j.Packages[0].Binary = filepath.Join(dir, "missing")
	err = writeInitrd(m, j)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "missing")
}
