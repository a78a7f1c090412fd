package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
