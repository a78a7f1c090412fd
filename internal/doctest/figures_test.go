package doctest

import (
	"fmt"
	"go/parser"
	"go/token"
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

// Measured figures are generated, since those that were typed by hand become false without notice. The documents that have
// some are made from templates, where actions stand for them, or have them between two marks.
var (
	generated = regexp.MustCompile(`(?s)<!-- figures: .*?<!-- end of figures -->|\{\{.*?\}\}`)
	figure    = regexp.MustCompile(`(^|[\s(~])\d[\d,.]* ?(ns(/op)?|nanoseconds?|instructions?|cycles|allocations?|allocs(/op)?|B/op)\b`)
	ratio     = regexp.MustCompile(`\b(twice|half|halves|thirds?|quarters?|fifths?|times|percent|%) ` +
		`(as (much|many|fast|slow|cheap|expensive)|(of )?(the|its|their) (costs?|instructions|overhead|price))\b|` +
		`\b(two|three|four|five|ten|\d+) ?(times|%|percent) (faster|slower|cheaper|more expensive)\b`)
)

// figures returns the measured figures in a text that nothing has generated, each with its line.
func figures(file, text string) (list []string) {
	text = generated.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	for n, line := range strings.Split(text, "\n") {
		if figure.MatchString(line) || ratio.MatchString(line) {
			list = append(list, fmt.Sprintf("%s:%d: %s", file, n+1, strings.TrimSpace(line)))
		}
	}
	return list
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

// comments returns a Go file with everything but its comments made blank.
func comments(name string, source []byte) (string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	blank := []byte(strings.Repeat(" ", len(source)))
	for n, c := range source {
		if c == '\n' {
			blank[n] = c
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			begin := set.Position(c.Pos()).Offset
			copy(blank[begin:], source[begin:begin+len(c.Text)])
		}
	}
	return string(blank), nil
}

// TestFigures: no document and no comment has a measured figure that was typed by hand.
func TestFigures(t *testing.T) {
	testscale.HostOnly(t)
	read := map[string]int{}
	eachFile(t, []string{".md", ".tmpl", ".go"}, func(rel, kind string, source []byte) (err error) {
		if rel == "docs/benchmarks.md" { // its template is read
			return nil
		}
		read[kind]++
		text := string(source)
		if kind == ".go" {
			text, err = comments(rel, source)
		}
		for _, found := range figures(rel, text) {
			t.Errorf("%s\n\ta measured figure that is not generated", found)
		}
		return err
	})
	for _, kind := range []string{".md", ".tmpl", ".go"} {
		assert.NotZero(t, read[kind], kind)
	}
}
