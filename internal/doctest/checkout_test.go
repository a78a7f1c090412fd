package doctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
