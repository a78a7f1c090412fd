package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDispatchRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":              {},
		"an unknown command":   {"tset"},
		"init outside a guest": {"init", "job.json"},
		"work without a job":   {"work"},
		"an unknown flag":      {"test", "-kernle", "6.1"},
		"an unknown kernel":    {"shell", "-kernel", "5.0"},
		"an unknown machine":   {"test", "-accel", "xen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join("..", ".."))
			assert.Error(t, dispatch(t.Context(), args))
		})
	}
}

func TestSplitFlags(t *testing.T) {
	tests := []struct {
		args           string
		own, testFlags []string
	}{
		{args: ""},
		{args: "./a ./b", own: []string{"./a", "./b"}},
		{args: "-x 1 ./a -- -test.run=X -test.count=2", own: []string{"-x", "1", "./a"}, testFlags: []string{"-test.run=X", "-test.count=2"}},
		{args: "-- -a -- -b", own: []string{}, testFlags: []string{"-a", "--", "-b"}},
	}
	for _, test := range tests {
		own, testFlags := splitFlags(strings.Fields(test.args))
		assert.ElementsMatch(t, test.own, own, test.args)
		assert.ElementsMatch(t, test.testFlags, testFlags, test.args)
	}
}

func TestBuildTests(t *testing.T) {
	module := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(module, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	const testFile = "package x\nimport \"testing\"\nfunc TestX(*testing.T) {}\n"
	write("go.mod", "module example.com/m\ngo 1.26\n")
	write("x/x_test.go", testFile)
	write("deep/x/x_test.go", testFile) // the same name as the package above
	write("plain/plain.go", "package plain\n")

	bin := t.TempDir()
	packages, err := buildTests(t.Context(), module, bin, []string{"./..."})
	require.NoError(t, err)
	require.Len(t, packages, 2, "one for each package with tests")
	assert.NotEqual(t, packages[0].Binary, packages[1].Binary)
	for _, p := range packages {
		assert.FileExists(t, p.Binary)
		assert.Equal(t, "x", filepath.Base(p.Dir))
		assert.DirExists(t, p.Dir)
	}

	_, err = buildTests(t.Context(), module, bin, []string{"./plain"})
	assert.ErrorContains(t, err, "no package of ./plain has tests")

	write("x/broken_test.go", "package x\nfunc {\n")
	_, err = buildTests(t.Context(), module, bin, []string{"./x"})
	assert.Error(t, err)
}

func TestGuestPath(t *testing.T) {
	t.Setenv("PATH", "/my/tools:/usr/bin")
	dirs := filepath.SplitList(guestPath())
	assert.Contains(t, dirs, "/my/tools")
	assert.Contains(t, dirs, "/usr/sbin", "where trace-cmd's friends are")
}
