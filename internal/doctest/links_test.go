package doctest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	absolute = regexp.MustCompile(`^(https?://|mailto:)`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the names by which GitHub links to the headings of a Markdown file.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	fenced := false
	for line := range strings.Lines(text) {
		fenced = fenced != fence.MatchString(strings.TrimRight(line, "\n"))
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if fenced || !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
		for n := 1; names[name]; n++ {
			name = fmt.Sprint(name, "-", n)
		}
		names[name] = true
	}
	return names
}

// brokenLinks returns the relative links of a Markdown file that lead nowhere.
func brokenLinks(root, file, text string) (list []string) {
	for n, line := range strings.Split(text, "\n") {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if absolute.MatchString(m[1]) {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			path := filepath.Join(filepath.Dir(file), filepath.FromSlash(target))
			if target == "" {
				path = file
			}
			info, err := os.Stat(filepath.Join(root, path))
			if err == nil && anchor != "" && !info.IsDir() {
				var other []byte
				if other, err = os.ReadFile(filepath.Join(root, path)); err == nil && !anchors(string(other))[anchor] {
					err = fmt.Errorf("%s has no heading #%s", path, anchor)
				}
			}
			if err != nil {
				list = append(list, fmt.Sprintf("%s:%d: %v", file, n+1, err))
			}
		}
	}
	return list
}

// TestLinks: relative links in Markdown lead to files and headings, and docs/README.md lists all documents.
func TestLinks(t *testing.T) {
	testscale.HostOnly(t)
	root := filepath.Join("..", "..")
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	require.NoError(t, err)
	count := 0
	eachFile(t, []string{".md"}, func(rel, _ string, text []byte) error {
		count += len(link.FindAllString(string(text), -1))
		for _, broken := range brokenLinks(root, rel, string(text)) {
			t.Error(broken)
		}
		if name, ok := strings.CutPrefix(rel, "docs/"); ok && !strings.Contains(name, "/") && name != "README.md" {
			assert.Contains(t, string(index), "("+name+")", "the index lacks it")
		}
		return nil
	})
	assert.Greater(t, count, 50)
}

// eachFile calls f with the name, the ending and the text of each file of the repository that ends in one of kinds. Directories
// without documents of the project are skipped: pages has the copies that the site is made from.
func eachFile(t *testing.T, kinds []string, f func(rel, kind string, source []byte) error) {
	t.Helper()
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && slices.Contains([]string{".git", "testdata", "node_modules", "pages"}, d.Name()) {
				return fs.SkipDir
			}
			return err
		}
		kind := filepath.Ext(name)
		rel, err := filepath.Rel(root, name)
		if err != nil || !slices.Contains(kinds, kind) {
			return err
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(rel), kind, source)
	}))
}
