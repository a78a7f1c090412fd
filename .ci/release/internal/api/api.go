// Package api lists the public API of packages, and compares it with a listing that was recorded.
package api

import (
	"errors"
	"fmt"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Dir is a directory of records: PATH.txt has the lines of the package PATH.
type Dir string

func (d Dir) file(path string) string {
	return filepath.Join(string(d), filepath.FromSlash(path)+".txt")
}

func (d Dir) read() (map[string][]string, error) {
	all := map[string][]string{}
	err := filepath.WalkDir(string(d), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // before the first one
		}
		if err != nil || e.IsDir() || filepath.Ext(name) != ".txt" {
			return err
		}
		text, err := os.ReadFile(name)
		path := filepath.ToSlash(strings.TrimPrefix(strings.TrimSuffix(name, ".txt"), string(d)+string(filepath.Separator)))
		all[path] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		return err
	})
	return all, err
}

// Check returns the lines that differ from the records.
func (d Dir) Check(packages []Package) error {
	recorded, err := d.read()
	if err != nil {
		return err
	}
	var problems []error
	say := func(path string, lines, other []string, problem string) {
		for _, line := range lines {
			if !slices.Contains(other, line) {
				problems = append(problems, fmt.Errorf("%s: %s: %s (make api)", path, problem, line))
			}
		}
	}
	for _, p := range packages {
		say(p.Path, p.Lines, recorded[p.Path], "not recorded")
		say(p.Path, recorded[p.Path], p.Lines, "recorded, but gone")
		delete(recorded, p.Path)
	}
	for path, lines := range recorded {
		say(path, lines, nil, "recorded, but gone")
	}
	return errors.Join(problems...)
}

// Write replaces the records. A package without a public API has no file.
func (d Dir) Write(packages []Package) error {
	if err := os.RemoveAll(string(d)); err != nil {
		return err
	}
	for _, p := range packages {
		if len(p.Lines) == 0 {
			continue
		}
		name := d.file(p.Path)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(strings.Join(p.Lines, "\n")+"\n"), 0o666); err != nil {
			return err
		}
	}
	return nil
}

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

type lister struct{ main string } // path of the main module

// relative returns the path of a package of the repository below the main module, "." for the one at its root.
func (l lister) relative(path string) (string, bool) {
	if path == l.main {
		return ".", true
	}
	return strings.CutPrefix(path, l.main+"/")
}

// list returns the API of a package, a line for each constant, variable, function, type, field and method that other packages can
// use. Names of parameters are left out: a change of them breaks no program.
func (l lister) list(p *types.Package) (lines []string) {
	for _, name := range p.Scope().Names() {
		obj := p.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			lines = append(lines, fmt.Sprintf("const %s %s = %s", name, l.typeString(obj.Type()), obj.Val().ExactString()))
		case *types.Var:
			lines = append(lines, fmt.Sprintf("var %s %s", name, l.typeString(obj.Type())))
		case *types.Func:
			lines = append(lines, fmt.Sprintf("func %s%s", name, l.signature(obj.Signature())))
		case *types.TypeName:
			lines = append(lines, l.typeLines(obj)...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (l lister) typeLines(obj *types.TypeName) []string {
	name := obj.Name()
	if obj.IsAlias() {
		return []string{fmt.Sprintf("type %s = %s", name, l.typeString(types.Unalias(obj.Type())))}
	}
	named := obj.Type().(*types.Named) //nolint:forcetypeassert // what is no alias has a name
	var lines []string
	switch under := named.Underlying().(type) {
	case *types.Struct:
		lines = append(l.fields(name, under, nil), fmt.Sprintf("type %s%s struct", name, l.typeParams(named.TypeParams())))
	case *types.Interface:
		lines = append(lines, fmt.Sprintf("type %s%s %s", name, l.typeParams(named.TypeParams()), l.interfaceString(under)))
	default:
		lines = append(lines, fmt.Sprintf("type %s%s %s", name, l.typeParams(named.TypeParams()), l.typeString(under)))
	}
	value := types.NewMethodSet(named)
	all := value
	if !types.IsInterface(named) {
		all = types.NewMethodSet(types.NewPointer(named))
	}
	for m := range all.Methods() {
		if !m.Obj().Exported() {
			continue
		}
		receiver := name
		if value.Lookup(m.Obj().Pkg(), m.Obj().Name()) == nil {
			receiver = "(*" + name + ")"
		}
		lines = append(lines, fmt.Sprintf("method %s.%s%s", receiver, m.Obj().Name(), l.signature(m.Type().(*types.Signature)))) //nolint:forcetypeassert // of a method
	}
	return lines
}

// fields lists fields of a struct, also those of embedded structs whose type other packages cannot name.
func (l lister) fields(name string, s *types.Struct, seen []*types.Struct) (lines []string) {
	if slices.Contains(seen, s) {
		return nil
	}
	for f := range s.Fields() {
		switch {
		case f.Exported():
			tag := ""
			if f.Embedded() {
				tag = "embedded "
			}
			lines = append(lines, fmt.Sprintf("field %s.%s %s%s", name, f.Name(), tag, l.typeString(f.Type())))
		case f.Embedded():
			t := f.Type()
			if pointer, ok := t.Underlying().(*types.Pointer); ok {
				t = pointer.Elem()
			}
			if inner, ok := t.Underlying().(*types.Struct); ok {
				lines = append(lines, l.fields(name, inner, append(seen, s))...)
			}
		}
	}
	return lines
}

// interfaceString returns an interface without its methods, which have lines of their own, but with what restricts the types that can
// have it.
func (l lister) interfaceString(t *types.Interface) string {
	switch {
	case !t.IsMethodSet():
		return l.typeString(t) // a constraint
	case slices.ContainsFunc(slices.Collect(t.Methods()), func(m *types.Func) bool { return !m.Exported() }):
		return "interface with unexported methods"
	}
	return "interface"
}

func (l lister) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if relative, ok := l.relative(p.Path()); ok {
			return relative
		}
		return p.Path()
	})
}

// signature returns parameters and results without their names.
func (l lister) signature(s *types.Signature) string {
	anonymous := func(t *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range t.Variables() {
			vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
		}
		return types.NewTuple(vars...)
	}
	plain := types.NewSignatureType(nil, nil, nil, anonymous(s.Params()), anonymous(s.Results()), s.Variadic())
	return l.typeParams(s.TypeParams()) + strings.TrimPrefix(l.typeString(plain), "func")
}

func (l lister) typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var params []string
	for p := range list.TypeParams() {
		params = append(params, p.Obj().Name()+" "+l.typeString(p.Constraint()))
	}
	return "[" + strings.Join(params, ", ") + "]"
}
