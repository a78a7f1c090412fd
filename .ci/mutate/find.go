package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A mutant is the package with one operator changed.
type mutant struct {
	id       int
	file     *source
	line     int
	function string // "" outside of functions
	operator string
	text     string // of the expression
	// own is set if the change needs a program of its own: of constants, and where the types do not allow a function.
	own     bool
	node    ast.Node
	to      token.Token
	format  string // of the text in the program of all mutants
	convert string // the type of its operands, of a typed constant

	hit     map[*test]bool
	outcome outcome
}

// key names the mutant as long as its function and its expression stay the same.
func (m *mutant) key() string {
	return fmt.Sprintf("%s %s %s `%s`", m.file.name, m.function, m.operator, m.text)
}

// A source is a file of the package.
type source struct {
	name    string // in the repository
	path    string
	content []byte
	tree    *ast.File
}

// A target is the package whose mutants are tested.
type target struct {
	name    string // its folder in the repository
	path    string // its import path
	dir     string
	files   []*source
	fset    *token.FileSet
	info    *types.Info
	mutants []*mutant
	of      map[ast.Node][]*mutant
	earlier *figures // of results that keep those of mutants which are not tried again
}

// load reads and type-checks a package with the files that this system builds.
func load(root, pattern string) (*target, error) {
	out, err := goCommand(root, "list", "-deps", "-export", "-json=ImportPath,Dir,GoFiles,Export,DepOnly,Name", pattern)
	if err != nil {
		return nil, err
	}
	t := &target{fset: token.NewFileSet(), of: map[ast.Node][]*mutant{}}
	exports := map[string]string{}
	var files []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, Export, Name string
			GoFiles                       []string
			DepOnly                       bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			t.path, t.dir, files = p.ImportPath, p.Dir, p.GoFiles
		}
	}
	if t.name, err = filepath.Rel(root, t.dir); err != nil {
		return nil, err
	}
	var trees []*ast.File
	for _, name := range files {
		s := &source{name: filepath.ToSlash(filepath.Join(t.name, name)), path: filepath.Join(t.dir, name)}
		if s.content, err = os.ReadFile(s.path); err != nil {
			return nil, err
		}
		if s.tree, err = parser.ParseFile(t.fset, s.path, s.content, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		t.files, trees = append(t.files, s), append(trees, s.tree)
	}
	t.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	if _, err = config.Check(t.path, t.fset, trees, t.info); err != nil {
		return nil, err
	}
	for _, s := range t.files {
		t.find(s)
	}
	return t, nil
}

// find adds the mutants of a file.
func (t *target) find(s *source) {
	for _, decl := range s.tree.Decls {
		function := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			function = f.Name.Name
			if f.Recv != nil {
				function = strings.TrimLeft(types.ExprString(f.Recv.List[0].Type), "*") + "." + function
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			for _, m := range t.mutate(n) {
				m.file, m.function = s, function
				m.line = t.fset.Position(n.Pos()).Line
				if b, ok := n.(*ast.BinaryExpr); ok {
					m.line = t.fset.Position(b.OpPos).Line
				}
				m.text = strings.Join(strings.Fields(string(s.content[t.offset(n.Pos()):t.offset(n.End())])), " ")
				m.id = len(t.mutants) + 1
				t.mutants, t.of[n] = append(t.mutants, m), append(t.of[n], m)
			}
			return true
		})
	}
}

func (t *target) offset(p token.Pos) int { return t.fset.Position(p).Offset }

// goCommand runs the go command and returns its standard output.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return out, nil
}
