package doctest

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestSource(t *testing.T) {
	packages := map[string]string{"log": "log", "otel": "go.opentelemetry.io/otel"}
	for text, want := range map[string]file{
		"package a\nimport \"os\"\nvar _ = log.Print": {"//line /r/x.md:7\npackage a\nimport \"os\"\nvar _ = log.Print", []string{"os"}},
		"// A\npackage a\n":                           {"//line /r/x.md:7\n// A\npackage a\n", nil},
		"type a int\nfunc (a) b() { log.Print() }":    {"package doctest\nimport log \"log\"\n//line /r/x.md:7\ntype a int\nfunc (a) b() { log.Print() }", []string{"log"}},
		"a := otel.Tracer(log.A)\nlog.B(log.A, a, x)": {
			"package doctest\nimport otel \"go.opentelemetry.io/otel\"\nimport log \"log\"\nfunc _() {\n//line /r/x.md:7\na := otel.Tracer(log.A)\nlog.B(log.A, a, x)\n}\n",
			[]string{"go.opentelemetry.io/otel", "log"},
		},
		"log := f()\nlog.Print()":          {"package doctest\nfunc _() {\n//line /r/x.md:7\nlog := f()\nlog.Print()\n}\n", nil},
		"import \"os\"\nvar a = log.Print": {"package doctest\n//line /r/x.md:7\nimport \"os\"\nvar a = log.Print", []string{"os"}},
	} {
		got, err := block{"x.md", 7, text}.source("/r", packages)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"a(\n", "package a\nfunc b() {", "import \"os\"\nos.Exit(1)\n", "..."} {
		_, err := block{"x.md", 7, text}.source("/r", packages)
		assert.ErrorContains(t, err, "/r/x.md:", text)
	}
}
