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
var encoders = []string{"encode", "internal/attrjson", "internal/chars", "internal/eventheader", "internal/jsonscan", "internal/panictext", "internal/text", "internal/truncate", "internal/typedfield"}

// apart are modules of the library that keep OpenTelemetry out of its module. The rules hold for their packages, too.
var apart = []string{"exporter", "sloghandler/oteltrace"}

// adapters are what is built on top of the rest. Only programs import them.
var adapters = []string{"sloghandler", "structevent", "exporter"}

// above are the internal packages of the upper layer: they stand on package uevents or reader, and the others below these.
var above = []string{"internal/adapter", "internal/tool"}

// testHelpers are imported by tests and by each other.
var testHelpers = []string{
	"internal/kerneltest", "internal/memory/attachtest", "internal/memory/private", "internal/recordtest", "internal/syncbuffer", "internal/sys/systest",
	"internal/testscale",
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
	forbid(imported == "unsafe" && !f.in("internal/sys", "internal/words", "internal/abi", "internal/memory/layout", "internal/memory/ring") &&
		!slices.Contains([]string{"internal/typedfield/unsafe.go", "internal/bufpool/bufpool.go", "internal/backend/memory/files.go", "internal/backend/memory/directory.go", "internal/processcontext/layout_linux.go", "record/alias.go"}, f.path),
		"unsafe is for memory that is shared with the kernel or with other programs, and one file each of internal/typedfield, internal/bufpool, internal/processcontext and record")
	forbid(imported == "C", "the library is Go without cgo")
	forbid(within(imported, "golang.org/x/sys") && !f.in("internal/sys"), "internal/sys is the only door to x/sys")
	own, isOwn := strings.CutPrefix(imported, module+"/")
	forbid(!f.nested && isOwn && within(own, append(apart, "reader/otlp")...),
		"the library's module requires no other one: tests with several are in exporter/internal/conformance")
	forbid(!f.nested && !isOwn && !standard(imported) && !within(imported, "golang.org/x/sys", "github.com/stretchr/testify"),
		"the library's module requires x/sys and testify, which cost programs a line or two of go.mod")
	if f.isTest() || f.nested && !f.in(apart...) || f.in("exporter/autoexport") {
		return list // tests may compare anything with anything, and modules have their own go.mod
	}
	forbid(f.in("tracepoint") && (isOwn || !standard(imported)), "tracepoint stands on nothing")
	forbid(f.in(encoders...) && !standard(imported) && (!isOwn || !within(own, "tracepoint") && !within(own, encoders...)),
		"encoders know neither the kernel nor loggers")
	forbid(f.in("internal/chars", "internal/jsonscan", "internal/truncate") && !standard(imported) && (!isOwn || !within(own, "internal/chars", "internal/jsonscan")),
		"truncating is about bytes")
	forbid(f.in("record") && (slices.Contains([]string{"os", "syscall", "net"}, imported) || !standard(imported) && (!isOwn ||
		!within(own, "tracepoint", "encode", "record", "internal/attrjson", "internal/cgroup", "internal/chars", "internal/eventheader", "internal/typedfield", "internal/text"))),
		"records are bytes with a format, wherever they come from")
	forbid(f.in("record") && !f.in("record/where") && isOwn && within(own, "record/where"), "conditions are about records")
	forbid(f.in("uevents") && isOwn && within(own, "encode"), "the kernel's side knows bytes only")
	forbid(f.in("reader") && !standard(imported) && (!isOwn || !within(own, "tracepoint", "record", "internal/cgroup", "internal/eventheader", "internal/tracefs", "internal/perf", "internal/live", "internal/text", "internal/errno", "internal/memory", "internal/processcontext", "internal/sys")),
		"the reader knows what is written, not who writes it")
	forbid(isOwn && within(own, adapters...) && !f.in(adapters...) && !f.in("examples"), "nothing imports an adapter but programs")
	forbid(isOwn && within(own, append(above, "uevents", "record", "reader")...) && f.in("internal") && !f.in(append(above, testHelpers...)...),
		"packages uevents, record and reader stand on internal packages, but for those of internal/adapter and internal/tool")
	forbid(f.in("internal/live") && (isOwn || !standard(imported)), "records that are read live have one form, wherever they come from")
	forbid(f.in("internal/perf") && isOwn && within(own, "internal/memory") || f.in("internal/memory") && isOwn && within(own, "internal/perf", "internal/tracefs"),
		"the kernel and shared memory are sources that do not know each other")
	forbid(isOwn && within(own, "examples") && !f.in("examples"), "nothing imports a program")
	forbid(within(imported, "testing") && !f.in("internal/kerneltest", "internal/memory/attachtest", "internal/recordtest", "internal/testscale"),
		"programs do not link package testing, the simulated kernel included")
	forbid(isOwn && within(own, testHelpers...) && !f.in(testHelpers...), "test helpers stay in tests")
	forbid(!isOwn && !standard(imported) && !within(imported, "golang.org/x/sys") && !f.in("internal/kerneltest", "internal/recordtest") &&
		(!within(imported, "go.opentelemetry.io") || !f.in(apart...)), "packages depend on x/sys, and in modules of their own on OpenTelemetry")
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
