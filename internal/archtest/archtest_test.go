package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

const module = "github.com/userevents/userevents-go"

// file is a Go file of this repository, for whatever system it is.
type file struct {
	path    string // inside the repository
	nested  bool   // in a module of its own
	imports []string
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// in reports whether the file is in one of the directories or below.
func (f file) in(dirs ...string) bool { return within(path.Dir(f.path), dirs...) }

func within(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") })
}

// parse lists the Go files below a directory with what they import. Directories that the go
// command does not look at are left out.
func parse(t *testing.T, root string) (files []file) {
	t.Helper()
	var modules []string // nested ones
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && (strings.ContainsAny(d.Name()[:1], "._") || d.Name() == "testdata") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				modules = append(modules, filepath.ToSlash(name))
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(rel), nested: within(filepath.ToSlash(name), modules...)}
		for _, i := range syntax.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, p)
		}
		files = append(files, f)
		return nil
	})
	require.NoError(t, err)
	return files
}

// encoders turn values into bytes and back.
var encoders = []string{"encode", "internal/attrjson", "internal/chars", "internal/jsonscan", "internal/panictext", "internal/truncate", "internal/typedfield"}

// adapters are what is built on top of the rest. Only programs import them.
var adapters = []string{"sloghandler", "structevent", "exporter"}

// testHelpers are imported by tests and by each other.
var testHelpers = []string{
	"internal/kerneltest", "internal/memory/attachtest", "internal/memory/private", "internal/syncbuffer", "internal/testscale",
	"internal/truncationtest", "examples/internal/decoded",
	"exporter/internal/truncationotel", "exporter/internal/testmetrics", "exporter/internal/testattrs",
}

// violations returns what the rules say against a file importing a package.
func violations(f file, imported string) (list []string) {
	forbid := func(broken bool, rule string) {
		if broken {
			list = append(list, rule)
		}
	}
	if f.in("benchmarks") { // it compares with what may do anything
		return nil
	}
	forbid(imported == "unsafe" && !f.in("internal/sys", "internal/words", "uevents/internal/abi", "internal/memory/layout", "internal/memory/ring") &&
		!slices.Contains([]string{"internal/typedfield/unsafe.go", "internal/bufpool/spread.go", "internal/backend/memory/files.go", "internal/backend/memory/directory.go", "internal/processcontext/layout_linux.go", "reader/alias.go"}, f.path),
		"unsafe is for memory that is shared with the kernel or with other programs, and one file each of internal/typedfield, internal/bufpool, internal/processcontext and reader")
	forbid(imported == "C", "the library is Go without cgo")
	forbid(within(imported, "golang.org/x/sys") && !f.in("internal/sys"), "internal/sys is the only door to x/sys")
	if f.isTest() || f.nested {
		return list // tests may compare anything with anything, and modules have their own go.mod
	}
	own, isOwn := strings.CutPrefix(imported, module+"/")
	forbid(f.in("tracepoint") && (isOwn || !standard(imported)), "tracepoint stands on nothing")
	forbid(f.in(encoders...) && !standard(imported) && (!isOwn || !within(own, "tracepoint") && !within(own, encoders...)),
		"encoders know neither the kernel nor loggers")
	forbid(f.in("internal/chars", "internal/jsonscan", "internal/truncate") && !standard(imported) && (!isOwn || !within(own, "internal/chars", "internal/jsonscan")),
		"truncating is about bytes")
	forbid(f.in("internal/condition") && !standard(imported) && (!isOwn || !within(own, "internal/errno")), "conditions are text")
	forbid(f.in("uevents") && isOwn && within(own, "encode"), "the kernel's side knows bytes only")
	forbid(f.in("reader") && (!f.in("reader/tail") || own != "reader") && !standard(imported) && (!isOwn || !within(own, "tracepoint", "encode", "internal/attrjson", "internal/cgroup", "internal/chars", "internal/condition", "internal/typedfield", "uevents/tracefs", "uevents/perf", "internal/errno", "internal/memory", "internal/processcontext", "internal/sys")),
		"the reader knows what is written, not who writes it")
	forbid(isOwn && within(own, adapters...) && !f.in(adapters...) && !f.in("examples"), "nothing imports an adapter but programs")
	forbid(isOwn && within(own, "examples") && !f.in("examples"), "nothing imports a program")
	forbid(within(imported, "testing") && !f.in("internal/kerneltest", "internal/memory/attachtest", "internal/testscale"), "programs do not link package testing, the simulated kernel included")
	forbid(isOwn && within(own, testHelpers...) && !f.in(testHelpers...), "test helpers stay in tests")
	forbid(within(imported, "go.opentelemetry.io") && !f.in("exporter", "sloghandler/oteltrace", "internal/eventspan", "examples"), "OpenTelemetry stays in its adapters")
	forbid(!isOwn && !standard(imported) && !within(imported, "golang.org/x/sys", "go.opentelemetry.io") && !f.in("internal/kerneltest"),
		"the library depends on nothing else")
	return list
}

// standard reports whether a package is of the standard library: its first element has no
// dot.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func TestImports(t *testing.T) {
	testscale.HostOnly(t)
	files := parse(t, filepath.Join("..", ".."))
	for _, must := range []string{"tracepoint", "encode", "uevents", "internal/sys"} {
		require.True(t, slices.ContainsFunc(files, func(f file) bool { return f.in(must) }), "no file of %s was found", must)
	}
	for _, f := range files {
		for _, i := range f.imports {
			assert.Empty(t, violations(f, i), "%s imports %s", f.path, i)
		}
	}
}

// TestRules: every rule can be broken.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		file, imported string
		broken         int // how many rules
	}{
		{"encode/typed/value.go", "strings", 0},
		{"encode/typed/value.go", "encoding/binary", 0},
		{"encode/typed/value.go", module + "/tracepoint", 0},
		{"encode/typed/plan.go", module + "/internal/typedfield", 0},
		{"internal/attrjson/writer.go", module + "/internal/payload", 1},
		{"internal/truncate/text.go", module + "/internal/chars", 0},
		{"internal/truncate/text.go", module + "/encode/text", 1},
		{"encode/typed/plan.go", "unsafe", 1},
		{"internal/typedfield/unsafe.go", "unsafe", 0},
		{"internal/typedfield/put.go", "unsafe", 1},
		{"internal/typedfield/put_test.go", "unsafe", 1},
		{"internal/words/words_linux.go", "unsafe", 0},
		{"uevents/event.go", "unsafe", 1},
		{"internal/sys/sys_linux.go", "golang.org/x/sys/unix", 0},
		{"internal/sys/sys_linux_test.go", "golang.org/x/sys/unix", 0},
		{"uevents/probe_linux.go", "golang.org/x/sys/unix", 1},
		{"uevents/world_linux_test.go", "golang.org/x/sys/unix", 1},
		{"internal/sys/c.go", "C", 1},
		{"tracepoint/type.go", module + "/encode/typed", 1},
		{"tracepoint/type.go", "fmt", 0},
		{"tracepoint/type_test.go", "github.com/stretchr/testify/assert", 0},
		{"encode/eventheader/builder.go", module + "/uevents", 1},
		{"encode/eventheader/builder.go", "github.com/google/uuid", 2},
		{"encode/typed/kernel_linux_test.go", module + "/uevents", 0},
		{"uevents/event.go", module + "/encode/typed", 1},
		{"uevents/tracefs/save.go", module + "/tracepoint", 0},
		{"uevents/event.go", module + "/sloghandler", 1},
		{"reader/decoder.go", module + "/encode/typed", 0},
		{"reader/reader.go", module + "/uevents/perf", 0},
		{"reader/open.go", module + "/internal/errno", 0},
		{"reader/decoder.go", module + "/uevents", 1},
		{"reader/processcontext.go", module + "/internal/processcontext", 0},
		{"internal/processcontext/layout_linux.go", "unsafe", 0},
		{"internal/processcontext/read.go", "unsafe", 1},
		{"internal/processcontext/encode.go", "go.opentelemetry.io/otel/attribute", 1},
		{"reader/decoder.go", module + "/sloghandler", 2},
		{"reader/decoder_test.go", module + "/sloghandler", 0},
		{"reader/decoder.go", "unsafe", 1},
		{"reader/alias.go", "unsafe", 0},
		{"uevents/event.go", module + "/internal/kerneltest", 1},
		{"uevents/world_linux_test.go", module + "/internal/kerneltest", 0},
		{"sloghandler/handler.go", module + "/internal/truncationtest", 1},
		{"exporter/internal/truncationotel/truncationotel.go", module + "/internal/truncationtest", 0},
		{"uevents/event.go", module + "/examples/quickstart", 1},
		{"uevents/ueventstest/kernel.go", "testing", 1},
		{"uevents/ueventstest/kernel_test.go", "testing", 0},
		{"internal/kerneltest/require_linux.go", "testing", 0},
		{"internal/bufpool/bufpool.go", module + "/exporter/ueventslog", 1},
		{"examples/quickstart/main.go", module + "/sloghandler", 0},
		{"exporter/ueventslog/exporter.go", "go.opentelemetry.io/otel/sdk/log", 0},
		{"sloghandler/oteltrace/ids.go", "go.opentelemetry.io/otel/trace", 0},
		{"sloghandler/handler.go", "go.opentelemetry.io/otel/trace", 1},
		{"internal/eventspan/eventspan.go", "go.opentelemetry.io/otel/trace", 0},
		{"uevents/event.go", "go.opentelemetry.io/otel", 1},
		{"sloghandler/handler.go", "github.com/rs/zerolog", 1},
	} {
		assert.Len(t, violations(file{path: c.file}, c.imported), c.broken, "%s imports %s", c.file, c.imported)
	}
	nested := file{path: "exporter/ueventsmetric/otlp/wire.go", nested: true}
	assert.Empty(t, violations(nested, "google.golang.org/protobuf/proto"))
	assert.Len(t, violations(nested, "unsafe"), 1)
	assert.Empty(t, violations(file{path: "benchmarks/site_amd64.go", nested: true}, "unsafe"))
}

func TestParse(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"a/a.go":             "package a\nimport (\n\t\"fmt\"\n\tx \"example.com/x\"\n)\n",
		"a/a_windows.go":     "//go:build windows\npackage a\nimport _ \"unsafe\"\n",
		"a/a_test.go":        "package a_test\n",
		"a/testdata/bad.go":  "not Go",
		".hidden/bad.go":     "not Go",
		"_old/bad.go":        "not Go",
		"nested/go.mod":      "module nested\n",
		"nested/b/b.go":      "package b\nimport \"unsafe\"\n",
		"a/README.md":        "not Go",
		"go.mod":             "module root\n",
		"deep/er/package.go": "package er\n",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	}
	assert.Equal(t, []file{
		{"a/a.go", false, []string{"fmt", "example.com/x"}},
		{"a/a_test.go", false, nil},
		{"a/a_windows.go", false, []string{"unsafe"}},
		{"deep/er/package.go", false, nil},
		{"nested/b/b.go", true, []string{"unsafe"}},
	}, parse(t, root))
}
