package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/userevents/userevents-go/.ci/release/internal/api"
)

// repository makes a repository of two modules whose first release can be checked up to the steps that need a proxy, and returns it as a release
// that is being made.
func repository(t *testing.T) *release {
	t.Helper()
	root := fake(t, map[string]string{
		"go.mod":       "module example.com/m\n\ngo 1.26.0\n",
		"lib/go.mod":   "module example.com/m/lib\n\ngo 1.26.0\n\nrequire example.com/m v0.0.9\n",
		"go.work":      "go 1.26.0\n\nuse (\n\t.\n\t./lib\n)\n\nreplace example.com/m v0.0.9 => .\n",
		"a/a.go":       "package a\n\nconst A = 1\n",
		"lib/lib.go":   "package lib\n\nimport \"example.com/m/a\"\n\nconst L = a.A\n",
		"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n- `a`: new. `lib`: new.\n",
		".gitignore":   "*.out\n",
		"README.md":    "",
	})
	r := &release{repository: root, version: "v0.1.0", dir: t.TempDir(), out: &bytes.Buffer{}}
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "Test"}, {"config", "user.email", "test@example.com"}} {
		_, err := r.git(args...)
		require.NoError(t, err)
	}
	t.Setenv("GOWORK", "") // of the repository, whatever this test runs with
	return r
}

func (r *release) commit(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "x"}} {
		_, err := r.git(args...)
		require.NoError(t, err)
	}
}

// edit replaces the contents of a file.
func (r *release) edit(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.repository, name), []byte(text), 0o600))
}

func (r *release) prepareNow(t *testing.T) {
	t.Helper()
	c, err := openCheckout(r.repository)
	require.NoError(t, err)
	packages, err := c.api("linux")
	require.NoError(t, err)
	require.NoError(t, c.apiDir().Write(packages))
	require.NoError(t, c.prepare("v0.1.0", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)))
}

// steps runs the checks that need no proxy.
func (r *release) steps() error {
	r.dir = filepath.Join(r.dir, "again")
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	if err := r.run([]step{{"clean", r.clean}, {"export", r.export}}); err != nil {
		return err
	}
	return r.run([]step{{"versions", r.versions}, {"untagged", r.untagged}, {"changelog", r.changelog}, {"api", r.api}})
}

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

// TestModuleFiles: a module has the files of a checkout, and not those of builds.
func TestModuleFiles(t *testing.T) {
	root := fake(t, map[string]string{"a/.build/tests": "", ".build/tests": "", ".git/config": "", "a/a.go": ""})
	files, err := moduleFiles(root)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range files {
		names[f.Path()] = true
	}
	assert.True(t, names["a/a.go"] && names["go.mod"])
	assert.False(t, names[".build/tests"] || names["a/.build/tests"] || names[".git/config"])
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

// TestPrepare: what prepare changes makes a release possible, and nothing else is necessary.
func TestPrepare(t *testing.T) {
	r := repository(t)
	r.commit(t)
	err := r.steps()
	for _, want := range []string{
		"versions: the modules require each other at v0.0.9: make release-prepare VERSION=v0.1.0", "go.work replaces example.com/m@v0.0.9, not v0.1.0",
		"CHANGELOG.md has unreleased changes", "a: not recorded: const A untyped int = 1 (make api)", "lib: not recorded",
	} {
		assert.ErrorContains(t, err, want)
	}
	r.prepareNow(t)
	assert.ErrorContains(t, r.steps(), "clean: commit, or remove:\n")
	r.commit(t)
	require.NoError(t, r.steps())

	require.NoError(t, r.tag())
	there, err := r.git("tag", "--list")
	require.NoError(t, err)
	assert.Equal(t, "lib/v0.1.0\nv0.1.0", there)
	assert.ErrorContains(t, r.steps(), "untagged: a version never changes: there is lib/v0.1.0, v0.1.0")
}

// TestReleaseProblems: what was forgotten after prepare is found.
func TestReleaseProblems(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, want string
	}{
		"changed API":      {"a/a.go", "package a\n\nconst A = 2\n", "a: not recorded: const A untyped int = 2 (make api)"},
		"unreleased":       {"CHANGELOG.md", "## Unreleased\n\n- a\n\n## 0.1.0 - 2026-01-02\n\n- b\n", "CHANGELOG.md has unreleased changes"},
		"other section":    {"CHANGELOG.md", "\n## 0.0.9 - 2026-01-02\n\n- b\n", `CHANGELOG.md has no section "## 0.1.0 - DATE"`},
		"section's date":   {"CHANGELOG.md", "\n## 0.1.0 - soon\n\n- b\n", "the section of v0.1.0: parsing time"},
		"other version":    {"lib/go.mod", "module example.com/m/lib\n\ngo 1.26.0\n\nrequire example.com/m v0.0.9\n", "require each other at v0.0.9"},
		"ignored by git":   {"a/b.out", "", ""},
		"not in the index": {"a/b", "", "commit, or remove:\n?? a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := repository(t)
			r.prepareNow(t)
			r.commit(t)
			r.edit(t, c.file, c.text)
			if c.file != "a/b" && c.file != "a/b.out" {
				r.commit(t)
			}
			if err := r.steps(); c.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.want)
			}
		})
	}
}

// TestVersions: what no module of this repository can be released as.
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "", "v1.2.3-rc.1": "", "0.1.0": "is no version", "v0.1": "is no version", "v1.0.0+a": "is no version", "": "is no version",
		"v2.0.0": "the paths of modules would have to end in /v2",
	} {
		if err := checkVersion(version); want == "" {
			assert.NoError(t, err, version)
		} else {
			assert.ErrorContains(t, err, want, version)
		}
	}
}

// TestBinaries: the binaries of a release are those of its version, without the paths of this machine, and have checksums that
// sha256sum accepts.
func TestBinaries(t *testing.T) {
	e, err := open()
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "new")
	require.NoError(t, e.writeBinaries(out))
	cmd := exec.Command("sha256sum", "-c", "SHA256SUMS")
	cmd.Dir = out
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.Equal(t, "uevents-linux-amd64: OK\nuevents-linux-arm64: OK\n", string(said))
	binary, err := os.ReadFile(filepath.Join(out, "uevents-linux-amd64"))
	require.NoError(t, err)
	// No assert.Contains, which would print the binary.
	assert.True(t, bytes.Contains(binary, []byte(e.command())))
	assert.False(t, bytes.Contains(binary, []byte(e.dir)))
}
