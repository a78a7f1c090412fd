package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Guests that count show that an archive can be used.
func TestInitrd(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(program, []byte("the program"), 0o600))
	m := machine{init: program, dir: dir}
	s := settings{Counting: true, Job: job{Args: []string{program, "-v"}, Dir: filepath.Join(dir, "p")}}
	archive := func() string {
		require.NoError(t, writeInitrd(m, s))
		data, err := os.ReadFile(m.initrd())
		require.NoError(t, err)
		return string(data)
	}
	first := archive()
	assert.Equal(t, first, archive(), "the same each time")
	assert.Equal(t, program, s.Job.Args[0], "the caller's job stays as it was")
	assert.Contains(t, first, `"/tests/000","-v"`)

	m.files = []string{"/proc/self/comm"}
	assert.Contains(t, archive(), "proc/self/comm\x00")

	s.Job.Args = []string{filepath.Join(dir, "missing")}
	assert.ErrorIs(t, writeInitrd(m, s), fs.ErrNotExist)
}
