package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/userevents/userevents-go/.ci/release/internal/api"
)

// open returns the checkout of this test. The process holds the lock on the cache, so all tests share one environment.
var open = sync.OnceValues(func() (*environment, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return nil, err
	}
	c, err := openCheckout(root)
	if err != nil {
		return nil, err
	}
	return newEnvironment(c, scratch)
})

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "proxy-"); err != nil {
		panic(err)
	}
	status := m.Run()
	if err := os.RemoveAll(scratch); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// TestTidy: go.mod and go.sum of every module are as go mod tidy leaves them.
func TestTidy(t *testing.T) {
	e, err := open()
	require.NoError(t, err)
	for _, m := range e.c.modules {
		changed, err := e.tidy(m)
		require.NoError(t, err)
		for name := range changed {
			t.Errorf("%s is not tidy: run make tidy", name)
		}
	}
}

// TestImport: a program outside of the repository builds with every public package.
func TestImport(t *testing.T) {
	e, err := open()
	require.NoError(t, err)
	empty := t.TempDir()
	require.NoError(t, e.importAll(empty))
	program, err := os.ReadFile(filepath.Join(empty, "main.go"))
	require.NoError(t, err)
	assert.Contains(t, string(program), `/sloghandler"`)
	assert.Contains(t, string(program), `/exporter/autoexport"`)
}

// TestGettingStarted: so does the program of docs/getting-started.md.
func TestGettingStarted(t *testing.T) {
	e, err := open()
	require.NoError(t, err)
	require.NoError(t, e.getStarted(t.TempDir()))
}

// TestChecks: a checkout that users cannot use is refused. The error names the file and the reason.
func TestChecks(t *testing.T) {
	for _, c := range []struct{ name, file, gomod, want string }{
		{name: "good"},
		{"replace", "cmd/a/go.mod", "module example.com/m/cmd/a\nrequire example.com/m v0.1.0\nreplace example.com/x => ../x\n", "cmd/a/go.mod: replaces example.com/x"},
		{"internal", "lib/internal/b/go.mod", "module example.com/m/lib/internal/b\nrequire example.com/m v0.1.0\nreplace example.com/x => ../x\n", ""},
		{"own", "examples/b/go.mod", "module example.com/m/examples/b\nrequire example.com/m v0.1.0\nreplace example.com/m => ../..\n", "examples/b/go.mod: replaces example.com/m"},
		{"version", "cmd/a/go.mod", "module example.com/m/cmd/a\nrequire example.com/m v0.2.0\n", "requires example.com/m@v0.1.0, other modules require v0.2.0"},
		{"path", "cmd/a/go.mod", "module example.com/m/a\nrequire example.com/m v0.1.0\n", "the module is called example.com/m/a, not example.com/m/cmd/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openCheckout(fake(t, map[string]string{c.file: c.gomod}))
			if c.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.want)
			}
		})
	}
}

// TestPublic: only modules that users can import or install are published and tagged.
func TestPublic(t *testing.T) {
	files := map[string]string{}
	for _, dir := range []string{"cmd/a", "examples/b", "benchmarks", ".ci/c", "lib/internal/d"} {
		files[dir+"/go.mod"] = "module example.com/m/" + dir + "\n"
	}
	c, err := openCheckout(fake(t, files))
	require.NoError(t, err)
	var names []string
	for _, m := range c.public() {
		names = append(names, c.name(m))
	}
	assert.Equal(t, []string{"the library", "cmd/a", "lib"}, names)
}

// TestUntidy: lines that go mod tidy would add or remove are found.
func TestUntidy(t *testing.T) {
	e, err := open()
	require.NoError(t, err)
	c, err := openCheckout(fake(t, map[string]string{"encode/go.mod": "module example.com/m/encode\nrequire github.com/stretchr/testify v1.12.1\n", "encode/a.go": "package encode\n"}))
	require.NoError(t, err)
	changed, err := (&environment{c: c, dir: t.TempDir(), env: e.env}).tidy(c.modules[slices.IndexFunc(c.modules, func(m *modfile.File) bool {
		return m.Module.Mod.Path == "example.com/m/encode"
	})])
	require.NoError(t, err)
	require.Len(t, changed, 1)
	assert.NotContains(t, string(changed[filepath.Join(c.root, "encode", "go.mod")]), "require")
}

// fake writes a repository of two modules, and more files.
func fake(t *testing.T, more map[string]string) string {
	root := t.TempDir()
	files := map[string]string{"go.mod": "module example.com/m\n", "lib/go.mod": "module example.com/m/lib\nrequire example.com/m v0.1.0\n"}
	maps.Copy(files, more)
	delete(files, "")
	for name, text := range files {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return root
}

// TestInstall: go install builds the command of a release, which reports its version.
func TestInstall(t *testing.T) {
	e, err := open()
	require.NoError(t, err)
	require.NoError(t, e.install(t.TempDir()))
}

// TestAPI: the public API is as recorded, on other systems too.
func TestAPI(t *testing.T) {
	e, err := open()
	require.NoError(t, err)
	linux, err := e.c.api("linux")
	require.NoError(t, err)
	assert.Greater(t, len(linux), 10)
	assert.NoError(t, e.c.apiDir().Check(linux))

	// Internal packages may have another API there.
	darwin, err := e.c.api("darwin")
	require.NoError(t, err)
	darwin = slices.DeleteFunc(darwin, func(p api.Package) bool { return api.IsInternal(p.Path) })
	for _, p := range linux {
		if api.IsInternal(p.Path) {
			darwin = append(darwin, p)
		}
	}
	assert.NoError(t, e.c.apiDir().Check(darwin), "darwin")
}
