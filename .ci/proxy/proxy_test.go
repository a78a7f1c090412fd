package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
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
	program := "package main\n\nimport (\n"
	get := []string{"get"}
	for _, m := range e.c.modules {
		if !e.c.isPublic(m) {
			continue
		}
		get = append(get, m.Module.Mod.Path+"@"+e.c.version)
		cmd := exec.Command("go", "list", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
		cmd.Dir = dir(m)
		out, err := cmd.Output()
		require.NoError(t, err)
		for p := range strings.FieldsSeq(string(out)) {
			if !slices.Contains(strings.Split(p, "/"), "internal") {
				program += fmt.Sprintf("\t_ %q\n", p)
			}
		}
	}
	program += ")\n\nfunc main() {}\n"
	require.Contains(t, program, `/sloghandler"`)
	require.Contains(t, program, `/exporter/autoexport"`)
	user := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(user, "main.go"), []byte(program), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(user, "go.mod"), []byte("module example.com/user\n\ngo 1.26.0\n"), 0o600))
	require.NoError(t, e.run(user, get...))
	require.NoError(t, e.run(user, "build", "-o", filepath.Join(user, "program"), "."))
}

// TestChecks: a checkout that users cannot use is refused. The error names the file and the reason.
func TestChecks(t *testing.T) {
	for _, c := range []struct{ name, file, gomod, want string }{
		{name: "good"},
		{"replace", "cmd/a/go.mod", "module example.com/m/cmd/a\nrequire example.com/m v0.1.0\nreplace example.com/x => ../x\n", "cmd/a/go.mod: replaces example.com/x"},
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
	require.NoError(t, e.run(t.TempDir(), "install", e.c.modules[0].Module.Mod.Path+"/cmd/uevents@"+e.c.version))
	out, err := exec.Command(filepath.Join(e.dir, "bin", "uevents"), "--version").Output()
	require.NoError(t, err)
	assert.Equal(t, "uevents "+e.c.version+"\n", string(out))
}
