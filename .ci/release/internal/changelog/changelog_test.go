package changelog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func file(t *testing.T, text string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "CHANGELOG.md")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	f, err := Read(path)
	require.NoError(t, err)
	return f
}

const two = "# Changelog\n\n## Unreleased\n\n### Added\n\n- `a`: `B.C` and\n  `d/e.F{G: 1}`.\n- x y\n\n## 0.1.0 - 2026-01-02\n\n- `old`\n"

// TestEntries: an entry goes on in indented lines, and has the names of its code spans.
func TestEntries(t *testing.T) {
	f := file(t, two)
	entries := f.Entries(Unreleased)
	require.Len(t, entries, 2)
	assert.Equal(t, 7, entries[0].Line)
	for name, want := range map[string]bool{"a": true, "B.C": true, "d/e.F": true, "G": true, "B": false, "C": false, "and": false, "old": false} {
		assert.Equal(t, want, entries[0].Names(name), name)
	}
	assert.False(t, entries[1].Names("x"), "not in a code span")
	assert.Len(t, f.Entries("0.1.0"), 1)
	assert.Empty(t, f.Entries("0.1"), "not the beginning of a version")
	assert.Empty(t, f.Entries("0.2.0"))
}

// TestRelease: what a release needs, and which problem is named.
func TestRelease(t *testing.T) {
	for text, want := range map[string]string{
		"## Unreleased\n\n## 0.1.0 - 2026-01-02\n\n- a\n":        "",
		"## 0.1.0 - 2026-01-02\n\n- a\n":                         "",
		"## Unreleased\n\n- a\n":                                 `has no section "## 0.1.0 - DATE"`,
		"## Unreleased\n\n- b\n\n## 0.1.0 - 2026-01-02\n\n- a\n": ":3: the release leaves an unreleased change",
		"## 0.1.0 - 2026-01-02\n\n## 0.0.1\n\n- a\n":             ":1: the section of 0.1.0 is empty",
		"## 0.1.0 - 2026-02-30\n\n- a\n":                         `:1: "## 0.1.0 - 2026-02-30" is not "## 0.1.0 - DATE"`,
		"## 0.1.0\n\n- a\n":                                      `:1: "## 0.1.0" is not`,
	} {
		if err := file(t, text).Release("0.1.0"); want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.ErrorContains(t, err, want, text)
		}
	}
}

// TestCut: the unreleased changes become those of the version.
func TestCut(t *testing.T) {
	f := file(t, two)
	day := time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC)
	require.NoError(t, f.Cut("0.2.0", day))
	again, err := Read(f.path)
	require.NoError(t, err)
	require.NoError(t, again.Release("0.2.0"))
	assert.Equal(t, "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-03-04\n\n### Added\n", textUntil(t, f.path, "\n- "))
	assert.ErrorContains(t, again.Cut("0.3.0", day), "has no unreleased changes")
	assert.Len(t, again.Entries("0.1.0"), 1)
}

func textUntil(t *testing.T, path, end string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, _, ok := strings.Cut(string(text), end)
	require.True(t, ok)
	return before
}
