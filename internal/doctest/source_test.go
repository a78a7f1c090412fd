package doctest

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
)

// file is a block as a Go file.
type file struct {
	text    string
	imports []string
}

// source returns the file of a block. Its positions are those of the Markdown file below root; packages are what a block without a package
// clause may use without importing it, by name.
func (b block) source(root string, packages map[string]string) (f file, err error) {
	code := fmt.Sprintf("//line %s:%d\n%s", filepath.Join(root, b.file), b.line, b.text)
	header := ""
	if _, err := parser.ParseFile(token.NewFileSet(), "", code, parser.PackageClauseOnly); err != nil {
		header = "package doctest\n"
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), "", header+code, 0)
	if err != nil && header != "" {
		code = "func _() {\n" + code + "\n}\n"
		syntax, err = parser.ParseFile(token.NewFileSet(), "", header+code, 0)
	}
	if err != nil {
		return f, err
	}
	for _, spec := range syntax.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return f, err
		}
		f.imports = append(f.imports, path)
	}
	if header != "" && len(f.imports) == 0 {
		for _, name := range syntax.Unresolved {
			if path := packages[name.Name]; path != "" && !slices.Contains(f.imports, path) {
				header += fmt.Sprintf("import %s %q\n", name.Name, path)
				f.imports = append(f.imports, path)
			}
		}
	}
	f.text = header + code
	return f, nil
}
