package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTestFlags(t *testing.T) {
	patterns, flags := splitArgs([]string{"./a", "b", "-run=^X$", "-v", "-args", "-records=7", "-test.benchtime=1x"})
	assert.Equal(t, []string{"./a", "b"}, patterns)
	assert.Equal(t, []string{"-test.run=^X$", "-test.v", "-records=7", "-test.benchtime=1x"}, testFlags(flags))
	patterns, _ = splitArgs([]string{"./a"})
	assert.Equal(t, []string{"./a"}, patterns)
}

// TestPrograms builds the test binaries of a list.
func TestPrograms(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	t.Chdir(root)
	dir := t.TempDir()
	s := suite{list: filepath.Join(dir, "list"), root: dir, args: []string{"./.ci/vm/testdata/guest", "./.ci/vm/testdata/next", "./.ci/perfetto", "./encode/typed", "-short"}}
	const guest, next = modulePath + ".ci/vm/testdata/guest", modulePath + ".ci/vm/testdata/next"
	require.NoError(t, writeJSON(s.list, list{Guest: tests{guest: {"TestMachine", "TestFail"}, next: {"TestX"}, modulePath + "reader": {"TestY"}}}))
	programs, err := s.programs()
	require.NoError(t, err)
	require.Len(t, programs, 2)
	p := programs[slices.IndexFunc(programs, func(p program) bool { return p.pkg == guest })]
	assert.Equal(t, []string{
		"-test.run=^(TestMachine|TestFail)$", "-test.bench=^(TestMachine|TestFail)$", "-test.benchtime=1x",
		"-test.paniconexit0", "-test.timeout=30m", "-test.short",
	}, p.args)
	assert.Equal(t, "guest.test", filepath.Base(p.file), "a test sees its own name")
	assert.Equal(t, filepath.Join(dir, ".ci", "vm", "testdata", "guest"), s.job(p).Dir)
	out, err := exec.Command(p.file).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "these tests are for guests of .ci/vm only")
	before, err := os.Stat(p.file)
	require.NoError(t, err)
	_, err = s.programs()
	require.NoError(t, err)
	after, err := os.Stat(p.file)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after), "an unchanged binary is not linked again")

	_, err = (&suite{list: filepath.Join(dir, "none")}).programs()
	assert.ErrorContains(t, err, "make unit writes it")
}
