package doctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestDocuments compiles all Go blocks of the documents, and runs the tests among them.
func TestDocuments(t *testing.T) {
	testscale.HostOnly(t)
	c := openCheckout(t, filepath.Join("..", ".."))
	require.Contains(t, c.docs, "README.md")
	require.Contains(t, c.docs, filepath.Join("docs", "operating.md"))
	var all []block
	for _, name := range c.docs {
		text, err := os.ReadFile(filepath.Join(c.root, name))
		require.NoError(t, err)
		list, err := blocks(name, string(text))
		require.NoError(t, err)
		all = append(all, list...)
	}
	require.NotEmpty(t, all)
	t.Logf("%d blocks in %d documents", len(all), len(c.docs))
	for _, problem := range c.compile(t, all) {
		t.Error(problem)
	}
	tests := 0
	for _, b := range all {
		if strings.Contains("\n"+b.text, "\nfunc Test") {
			output, err := c.run(t, b)
			require.NoError(t, err, "%s: %s", b, output)
			assert.Contains(t, output, "--- PASS: Test", "%s", b)
			tests++
		}
	}
	assert.Positive(t, tests)
}

// block is a fenced block of Go code in a Markdown file.
type block struct {
	file string
	line int // of its first line of code
	text string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// fence matches a line that begins or ends a fenced block, which may stand in a list or a quotation.
var fence = regexp.MustCompile("^([ \t>]*)(`{3,}|~{3,})[ \t]*([^\\s`{]*)[^`]*$")

// blocks returns the Go blocks of a Markdown file. A fenced block has to name its language: Go code in a block without
// one would not be compiled.
func blocks(file, text string) (list []block, err error) {
	var open []string // the groups of the fence that began the block
	begin, code := 0, ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		f := fence.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch {
		case open == nil && f == nil:
		case open == nil && f[3] == "":
			return nil, fmt.Errorf("%s:%d: a fenced block without a language", file, number)
		case open == nil:
			open, begin, code = f, number+1, ""
		case f != nil && f[3] == "" && strings.HasPrefix(f[2], open[2]):
			if lang := strings.ToLower(open[3]); lang == "go" || lang == "golang" {
				list = append(list, block{file, begin, code})
			}
			open = nil
		default:
			code += strings.TrimPrefix(line, open[1])
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: a fenced block without an end", file, begin-1)
	}
	return list, nil
}

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

// checkout is a repository of one or more modules.
type checkout struct {
	root     string
	modules  []string          // directories, the main module's first
	docs     []string          // Markdown files, relative to root
	packages map[string]string // paths of the packages that a fragment may use, by name
}

// opentelemetry has the names by which programs import OpenTelemetry's packages, most of which are not the packages' own.
var opentelemetry = map[string]string{
	"otel":      "go.opentelemetry.io/otel",
	"sdklog":    "go.opentelemetry.io/otel/sdk/log",
	"sdkmetric": "go.opentelemetry.io/otel/sdk/metric",
	"sdktrace":  "go.opentelemetry.io/otel/sdk/trace",
}

func openCheckout(t *testing.T, dir string) *checkout {
	root, err := filepath.Abs(dir)
	require.NoError(t, err)
	root, err = filepath.EvalSymlinks(root) // WalkDir does not follow it
	require.NoError(t, err)
	c := &checkout{root: root, modules: []string{root}, packages: map[string]string{}}
	// The walk reads every directory, so that go test does not take this test's result from its cache after a file has changed.
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		switch {
		case d.IsDir() && rel != "." && strings.ContainsAny(d.Name()[:1], "._"):
			return fs.SkipDir
		case d.Name() == "go.mod" && rel != "go.mod":
			c.modules = append(c.modules, filepath.Dir(name))
		case d.Name() == "README.md", filepath.Ext(name) == ".md" && strings.HasPrefix(filepath.ToSlash(rel), "docs/"):
			c.docs = append(c.docs, rel)
		}
		return err
	})
	require.NoError(t, err)

	lists := []string{golist(t, root, "-f={{.Name}} {{.ImportPath}}", "std")}
	for _, module := range c.modules {
		lists = append(lists, golist(t, module, "-f={{.Name}} {{.ImportPath}}", "./..."))
	}
	for line := range strings.Lines(strings.Join(lists, "")) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "main" || internal(path) {
			continue
		}
		if _, ambiguous := c.packages[name]; ambiguous {
			path = "" // a block has to import the one that it means
		}
		c.packages[name] = path
	}
	for name, path := range opentelemetry {
		require.NotContains(t, c.packages, name)
		c.packages[name] = path
	}
	return c
}

func internal(path string) bool {
	elements := strings.Split(path, "/")
	return slices.Contains(elements, "internal") || elements[0] == "vendor"
}

// golist runs go list in a directory. It does not load what the packages import.
func golist(t *testing.T, dir string, args ...string) string {
	var stderr bytes.Buffer
	cmd := exec.Command("go", append([]string{"list", "-find"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s in %s: %s", cmd, dir, &stderr)
	return string(out)
}

// provided returns those of the packages that the main module can import: those of all modules that go.work has, and of all
// that these require.
func (c *checkout) provided(t *testing.T, packages []string) []string {
	return strings.Fields(golist(t, c.root, append([]string{"-e", "-f={{if not .Error}}{{.ImportPath}}{{end}}"}, packages...)...))
}

// compile compiles blocks, each as a package of its own, and returns what the go command says against them. It writes nothing into
// the checkout: the files are an overlay.
func (c *checkout) compile(t *testing.T, list []block) (problems []string) {
	files := map[block]file{}
	imports := []string{"builtin"} // go list with no package means that of the directory
	for _, b := range list {
		f, err := b.source(c.root, c.packages)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		files[b] = f
		imports = append(imports, f.imports...)
	}
	slices.Sort(imports)
	packages := c.provided(t, slices.Compact(imports))
	lacks := func(path string) bool { return internal(path) || !slices.Contains(packages, path) }
	overlay := map[string]string{}
	dir := t.TempDir()
	for n, b := range list {
		f, ok := files[b]
		if !ok {
			continue
		}
		if slices.ContainsFunc(f.imports, lacks) {
			problems = append(problems, fmt.Sprintf("%s: no module of this repository provides all of %q to other modules", b, f.imports))
			continue
		}
		name := filepath.Join(dir, fmt.Sprintf("%d.go", n))
		require.NoError(t, os.WriteFile(name, []byte(f.text), 0o600))
		overlay[filepath.Join(c.root, fmt.Sprintf("doctest%d", n), "block.go")] = name
	}
	if len(overlay) > 0 {
		problems = append(problems, build(t, c.root, overlay)...)
	}
	return problems
}

// overlay returns the flag of the go command for an overlay of files.
func overlay(t *testing.T, files map[string]string) string {
	name := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": files})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return "-overlay=" + name
}

// run runs the tests of a block.
func (c *checkout) run(t *testing.T, b block) (output string, err error) {
	f, err := b.source(c.root, c.packages)
	require.NoError(t, err)
	dir := t.TempDir()
	name, program := filepath.Join(dir, "block.go"), filepath.Join(dir, "doctest.test")
	require.NoError(t, os.WriteFile(name, []byte(f.text), 0o600))
	path := filepath.Join(c.root, "doctest", "block_test.go")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", program, overlay(t, map[string]string{path: name}), filepath.Dir(path))
	cmd.Dir = c.root
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	cmd = exec.Command(program, "-test.v")
	cmd.Dir = dir
	text, err = cmd.CombinedOutput()
	return string(text), err
}

// build compiles files, each in its directory inside a module. go list -export does so without linking programs.
func build(t *testing.T, module string, files map[string]string) (problems []string) {
	args := []string{"list", "-export", overlay(t, files)}
	for name := range files {
		args = append(args, filepath.Dir(name))
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = module, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return strings.Split(strings.TrimSpace(stderr.String()), "\n")
	}
	require.NoError(t, err)
	return nil
}
