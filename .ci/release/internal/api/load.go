// Package api lists the public API of packages, and compares it with a listing that was recorded.
package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Package is the public API of one package.
type Package struct {
	Path  string // relative to the main module
	Lines []string
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Name, Dir string
	GoFiles               []string
	ImportMap             map[string]string
	DepOnly               bool
	Module                *struct{ GoVersion string }
	Error                 *struct{ Err string }
}

// Load lists the packages that others can import, but for examples, of modules of a workspace: the main module's path and the directories of
// all, relative to root. It checks types of sources without bodies of functions, which needs no compiled packages, so
// that the listing of another system costs the same.
func Load(root, main string, modules []string, goos string) ([]Package, error) {
	args := []string{"list", "-deps", "-json=ImportPath,Name,Dir,GoFiles,ImportMap,DepOnly,Module,Error"}
	for _, m := range modules {
		args = append(args, "./"+filepath.ToSlash(filepath.Join(m, "..."))) // Join drops a leading ./
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	l := &loader{fset: token.NewFileSet(), checked: map[string]*types.Package{"unsafe": types.Unsafe}, main: main}
	var packages []Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; { // dependencies first
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		checked, err := l.check(&p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		if relative, ok := l.relative(p.ImportPath); ok && !p.DepOnly && isPublic(&p) && !strings.HasPrefix(relative, "examples/") {
			packages = append(packages, Package{relative, l.list(checked)})
		}
	}
}

// isPublic reports whether other modules can import a package.
func isPublic(p *listed) bool {
	return p.Name != "main" && !slices.Contains(strings.Split(p.ImportPath, "/"), "internal")
}

// loader checks packages, dependencies first.
type loader struct {
	fset    *token.FileSet
	checked map[string]*types.Package
	main    string // path of the main module
	current map[string]string
}

// relative returns the path of a package of the repository below the main module, "." for the one at its root.
func (l *loader) relative(path string) (string, bool) {
	if path == l.main {
		return ".", true
	}
	return strings.CutPrefix(path, l.main+"/")
}

func (l *loader) check(p *listed) (*types.Package, error) {
	if p.Error != nil {
		return nil, errors.New(p.Error.Err)
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	l.current = p.ImportMap
	config := types.Config{IgnoreFuncBodies: true, Importer: l, Sizes: types.SizesFor("gc", "amd64")}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	checked, err := config.Check(p.ImportPath, l.fset, files, nil)
	l.checked[p.ImportPath] = checked
	return checked, err
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if mapped, ok := l.current[path]; ok { // vendored by the standard library
		path = mapped
	}
	if p := l.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("go list did not list %s", path)
}
