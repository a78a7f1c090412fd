package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// kernelsOfMake returns the kernels of the Makefile.
func kernelsOfMake(t *testing.T) (kernels []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^(?:MAIN|OTHERS) +:= (.*)$`).FindAllStringSubmatch(string(text), -1) {
		kernels = append(kernels, strings.Split(strings.TrimSpace(m[1]), ",")...)
	}
	require.Greater(t, len(kernels), 3)
	return kernels
}

// TestProofsExist: each test that docs/reliability.md names is there, and those that run on kernels ask for one. That they run and
// pass there is checked by make vm-test.
func TestProofsExist(t *testing.T) {
	testscale.HostOnly(t)
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "reliability.md"))
	require.NoError(t, err)
	proofs, err := Proofs(string(text))
	require.NoError(t, err)
	require.Greater(t, len(proofs), 50)
	packages, known := map[string]tests{}, append(kernelsOfMake(t), onHost, onAll)
	for _, p := range proofs {
		all, ok := packages[p.Package]
		if !ok {
			all = testsOf(t, filepath.Join(root, filepath.FromSlash(p.Package)))
			packages[p.Package] = all
		}
		name, script, isScript := strings.Cut(p.Test, "/")
		assert.True(t, all.names[name], "line %d: there is no test %s", p.Line, p)
		for _, on := range p.On {
			assert.Contains(t, known, on, "line %d: no kernel has this name", p.Line)
		}
		if !p.RunsOn("") {
			assert.True(t, all.kernel, "line %d: %s runs on no kernel: its package does not use kerneltest", p.Line, p)
		}
		if isScript {
			found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p.Package), "testdata", "*", script+".txt"))
			require.NoError(t, err)
			assert.NotEmpty(t, found, "line %d: there is no script %s", p.Line, p)
		}
	}
}

// tests are those of a package.
type tests struct {
	names  map[string]bool
	kernel bool // some of them use a kernel
}

func testsOf(t *testing.T, dir string) tests {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	all := tests{names: map[string]bool{}}
	for _, name := range list {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, i := range f.Imports {
			all.kernel = all.kernel || strings.HasSuffix(i.Path.Value, `/internal/kerneltest"`)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all.names[fn.Name.Name] = true
			}
		}
	}
	return all
}
