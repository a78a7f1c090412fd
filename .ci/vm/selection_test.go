package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelection(t *testing.T) {
	s := selection{}
	s.add("m/b", "TestK")
	s.add("m/a", "TestZ/sub")
	s.add("m/a", "TestZ/other")
	s.add("m/a", "TestK")
	file := filepath.Join(t.TempDir(), "tests")
	require.NoError(t, s.write(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "m/a TestK\nm/a TestZ\nm/b TestK\n", string(text))
	read, err := readSelection(file)
	require.NoError(t, err)
	assert.Equal(t, selection{"m/a": {"TestK", "TestZ"}, "m/b": {"TestK"}}, read)

	assert.Equal(t, [][]string{{"m/a", "m/b", "-short", "-run=^(TestK|TestZ)$"}, {"m/c", "-short"}}, read.runs([]string{"m/a", "m/c", "m/b"}, []string{"-short"}))
	assert.Equal(t, [][]string{{"m/b", "-run=^(TestK)$"}}, read.runs([]string{"m/b"}, nil))
	assert.Equal(t, [][]string{{"m/c"}}, read.runs([]string{"m/c"}, nil), "a package without tests that use the kernel runs them all")
	assert.Equal(t, [][]string{{"m/c", "-v"}}, selection(nil).runs([]string{"m/c"}, []string{"-v"}))
}

func TestReadSelectionRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tests")
	_, err := readSelection(file)
	assert.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string]string{"": "names no test", "m/a TestK\nm/b\n": `"m/b" is not a package and a test`} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := readSelection(file)
		assert.ErrorContains(t, err, want)
	}
}
