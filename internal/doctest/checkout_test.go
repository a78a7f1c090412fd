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
	out, err := tryList(dir, args...)
	require.NoError(t, err)
	return out
}

func tryList(dir string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", append([]string{"list", "-find"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s in %s: %w: %s", cmd, dir, err, &stderr)
	}
	return string(out), err
}

// provided returns those of the packages that a module can import as its go.mod is. A package of a module that only its
// requirements require makes the go command refuse the whole list, so that the packages are then asked for in parts.
func provided(t *testing.T, module string, packages []string) []string {
	out, err := tryList(module, append([]string{"-e", "-f={{if not .Error}}{{.ImportPath}}{{end}}"}, packages...)...)
	if err == nil {
		return strings.Fields(out)
	}
	require.ErrorContains(t, err, "updates to go.mod needed")
	if len(packages) == 1 {
		return nil
	}
	half := len(packages) / 2
	return append(provided(t, module, packages[:half]), provided(t, module, packages[half:])...)
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
	imports = slices.Compact(imports)
	for _, module := range c.modules {
		packages := provided(t, module, imports)
		lacks := func(path string) bool { return internal(path) || !slices.Contains(packages, path) }
		overlay := map[string]string{}
		dir := t.TempDir()
		for n, b := range list {
			f, ok := files[b]
			if !ok || slices.ContainsFunc(f.imports, lacks) {
				continue
			}
			delete(files, b)
			name := filepath.Join(dir, fmt.Sprintf("%d.go", n))
			require.NoError(t, os.WriteFile(name, []byte(f.text), 0o600))
			overlay[filepath.Join(module, fmt.Sprintf("doctest%d", n), "block.go")] = name
		}
		if len(overlay) > 0 {
			problems = append(problems, build(t, module, overlay)...)
		}
	}
	for b, f := range files {
		problems = append(problems, fmt.Sprintf("%s: no module of this repository provides all of %q to other modules", b, f.imports))
	}
	return problems
}

// build compiles files, each in its directory inside a module. go list -export does so without linking programs.
func build(t *testing.T, module string, files map[string]string) (problems []string) {
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": files})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	args := []string{"list", "-export", "-overlay=" + overlay}
	for name := range files {
		args = append(args, filepath.Dir(name))
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = module, &stderr
	err = cmd.Run()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return strings.Split(strings.TrimSpace(stderr.String()), "\n")
	}
	require.NoError(t, err)
	return nil
}
