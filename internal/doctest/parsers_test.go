package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
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
	// parses matches the names of functions that take bytes or text from outside of the program apart.
	parses = regexp.MustCompile(`^([Pp]arse|[Dd]ecode|[Uu]nescape|[Uu]nmarshal)([A-Z].*)?$`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// notFuzzed are directories whose parsers read what this repository itself has written.
var notFuzzed = []string{"benchmarks", "examples", "exporter/internal/truncationotel", "internal/doctest"}

// fuzzed is what a package has: parsers, and targets for fuzzing.
type fuzzed struct{ parsers, targets []string }

// TestParsersAreFuzzed: the table of parsers in .ci/parsers.md has all functions of all modules that parse, but those that tools
// generate, and all targets for fuzzing, and no others. A package with parsers has a target, and each target has inputs to begin with, which go test runs.
func TestParsersAreFuzzed(t *testing.T) {
	testscale.HostOnly(t)
	root := filepath.Join("..", "..")
	have := map[string]*fuzzed{}
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		rel, err := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || slices.Contains(notFuzzed, filepath.ToSlash(rel))):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasPrefix(d.Name(), "generated_"):
			return nil
		}
		return readFuzzed(t, have, path.Dir(filepath.ToSlash(rel)), name)
	}))
	text, err := os.ReadFile(filepath.Join(root, ".ci", "parsers.md"))
	require.NoError(t, err)
	want := fuzzedOf(string(text))
	require.NotEmpty(t, want)
	for pkg, w := range want {
		assert.Contains(t, have, pkg, "the table has a package without parsers and targets")
		assert.NotEmpty(t, w.targets, "%s: parsers without a target", pkg)
	}
	for pkg, h := range have {
		if w := want[pkg]; assert.NotNil(t, w, ".ci/parsers.md lacks the package %s: %+v", pkg, h) {
			assert.ElementsMatch(t, h.parsers, w.parsers, "parsers of %s", pkg)
			assert.ElementsMatch(t, h.targets, w.targets, "targets of %s", pkg)
		}
	}
}

// readFuzzed adds what a file has.
func readFuzzed(t *testing.T, have map[string]*fuzzed, pkg, name string) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	isTest := strings.HasSuffix(name, "_test.go")
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		fuzz := isTest && strings.HasPrefix(fn.Name.Name, "Fuzz")
		if !fuzz && (isTest || !parses.MatchString(fn.Name.Name)) {
			continue
		}
		if have[pkg] == nil {
			have[pkg] = &fuzzed{}
		}
		if !fuzz {
			if !slices.Contains(have[pkg].parsers, fn.Name.Name) { // methods of several types have one name
				have[pkg].parsers = append(have[pkg].parsers, fn.Name.Name)
			}
			continue
		}
		have[pkg].targets = append(have[pkg].targets, fn.Name.Name)
		kept, err := filepath.Glob(filepath.Join(filepath.Dir(name), "testdata", "fuzz", fn.Name.Name, "*"))
		require.NoError(t, err)
		assert.True(t, len(kept) > 0 || callsAdd(fn), "%s of %s has no inputs: call f.Add, or keep some in testdata/fuzz", fn.Name.Name, pkg)
	}
	return nil
}

// callsAdd reports whether a target adds inputs.
func callsAdd(fn *ast.FuncDecl) (adds bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Add" {
				adds = true
			}
			for _, arg := range call.Args { // a function that adds them
				if id, ok := arg.(*ast.Ident); ok && id.Name == "f" {
					adds = true
				}
			}
		}
		return !adds
	})
	return adds
}

// fuzzedOf reads the table with the columns Package, Parsers and Fuzz targets.
func fuzzedOf(text string) map[string]*fuzzed {
	list := map[string]*fuzzed{}
	_, table, _ := strings.Cut(text, "\n| Package | Parsers | Fuzz targets |\n")
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(line, "|")
		names := func(cell string) (list []string) {
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				list = append(list, m[1])
			}
			return list
		}
		if pkg := names(cells[1]); len(pkg) == 1 {
			list[pkg[0]] = &fuzzed{names(cells[2]), names(cells[3])}
		}
	}
	return list
}
