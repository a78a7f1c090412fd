package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKeep keeps this test binary as go test's wrapper does.
func TestKeep(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "kept")
	require.NoError(t, dispatch([]string{"keep", dir, binary, "-test.v"}))
	list, err := readKept(dir)
	require.NoError(t, err)
	require.Len(t, list, 1)
	p := list[0]
	assert.Equal(t, "github.com/userevents/userevents-go/.ci/vm", p.Package)
	s := suite{root: "/x"}
	assert.Equal(t, "/x/.ci/vm", s.job(p).Dir)
	assert.Equal(t, "/x", s.job(program{Package: strings.TrimSuffix(modulePath, "/")}).Dir)
	assert.Equal(t, []string{"-test.v"}, p.Args)
	assert.Equal(t, filepath.Base(binary), filepath.Base(p.file()), "a test sees its own name")
	out, err := exec.Command(p.file(), "-test.run=^TestAuxValue$").CombinedOutput()
	require.NoError(t, err, "%s", out)

	require.NoError(t, selectKept(dir, map[string][]string{p.Package: {"TestX", "TestY"}}))
	list, err = readKept(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"-test.v", "-test.run=^(TestX|TestY)$", "-test.bench=^(TestX|TestY)$", "-test.benchtime=1x"}, list[0].Args)
	require.NoError(t, selectKept(dir, nil))
	_, err = readKept(dir)
	assert.ErrorContains(t, err, "make unit keeps them")
}
