package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Guests that count and guests of other processors show that an archive can be used.
func TestInitrd(t *testing.T) {
	dir := t.TempDir()
	pkg := filepath.Join(dir, "p")
	for _, name := range []string{"testdata/deep/golden", "p_test.go", "other/other.go"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(pkg, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(pkg, name), []byte("content of "+name), 0o600))
	}
	program := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(program, []byte("the program"), 0o600))
	m := machine{init: program, jobFile: filepath.Join(dir, "job"), initrd: filepath.Join(dir, "initrd")}
	j := job{Args: []string{program, "-v"}, Dir: pkg}
	archive := func() string {
		require.NoError(t, writeInitrd(m, j))
		data, err := os.ReadFile(m.initrd)
		require.NoError(t, err)
		return string(data)
	}
	first := archive()
	assert.Equal(t, first, archive(), "the same each time")
	assert.Equal(t, program, j.Args[0], "the caller's job stays as it was")
	assert.Contains(t, first, `"/tests/000","-v"`)
	assert.Contains(t, first, "content of testdata/deep/golden")
	assert.Contains(t, first, "content of p_test.go")
	assert.NotContains(t, first, "other.go")
	j.Counting = true
	assert.NotContains(t, archive(), "content of", "a guest that counts has the program only")

	m.with = []string{"bash"}
	with := archive()
	assert.Contains(t, with, "/bin/bash\x00")
	assert.Contains(t, with, "/libc.so.6\x00", "and what it is linked with")
	m.with = []string{"no-such-program"}
	assert.ErrorContains(t, writeInitrd(m, j), "no program no-such-program")
	m.with = nil

	j.Args = []string{filepath.Join(dir, "missing")}
	assert.ErrorIs(t, writeInitrd(m, j), fs.ErrNotExist)
}
