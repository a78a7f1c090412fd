// Package api lists the public API of packages, and compares it with a listing that was recorded.
package api

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Package is the public API of one package.
type Package struct {
	Path  string // relative to the main module
	Lines []string
}

// Load lists the packages that others can import, but for examples, of modules of a workspace: the main module's path and the directories of
// all, relative to root. Internal packages are among them if another module imports them, which a program may have at an older version. Load
// checks types of sources, which needs no compiled packages, so that the listing of another system costs the same.
func Load(root, main string, modules []string, goos string) ([]Package, error) {
	var patterns []string
	for _, m := range modules {
		patterns = append(patterns, "./"+filepath.ToSlash(filepath.Join(m, "..."))) // Join drops a leading ./
	}
	const sources = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
		packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule
	loaded, err := packages.Load(&packages.Config{
		Mode: sources, Dir: root, Env: append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false"),
	}, patterns...)
	if err != nil {
		return nil, err
	}
	l := lister{main}
	shared := map[string]bool{} // packages that another module imports
	for _, p := range loaded {
		if strings.HasPrefix(p.PkgPath, main+"/cmd/") {
			continue // no module requires a command
		}
		for path, imported := range p.Imports {
			shared[path] = shared[path] || imported.Module != nil && imported.Module.Path != p.Module.Path
		}
	}
	var list []Package
	var problems []error
	for _, p := range loaded {
		for _, err := range p.Errors {
			problems = append(problems, fmt.Errorf("%s: %w", p.PkgPath, err))
		}
		relative, ok := l.relative(p.PkgPath)
		if ok && p.Name != "main" && (!IsInternal(p.PkgPath) || shared[p.PkgPath]) && !strings.HasPrefix(relative, "examples/") {
			list = append(list, Package{relative, l.list(p.Types)})
		}
	}
	return list, errors.Join(problems...)
}

// IsInternal reports whether programs cannot import a package.
func IsInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// lister writes types.
type lister struct{ main string } // path of the main module

// relative returns the path of a package of the repository below the main module, "." for the one at its root.
func (l lister) relative(path string) (string, bool) {
	if path == l.main {
		return ".", true
	}
	return strings.CutPrefix(path, l.main+"/")
}
