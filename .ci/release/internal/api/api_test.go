package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/.ci/release/internal/changelog"
)

// write writes files below a directory.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// everything has every kind of declaration, and what other packages cannot use.
const everything = `package a

import (
	"io"
	"time"
)

const (
	C       = 1 << 3
	D       = 2 * time.Second
	S       = "a\tb"
	private = 4
)

var V, v map[string]io.Reader

func F(a, b int, rest ...func(x error) string) (n int, err error) { return 0, nil }

func G[T ~int | ~string, U any](t T, u *U) {}

type T struct {
	A, B int
	inner
	*Outer
	hidden int
}

func (T) Value()           {}
func (t *T) Pointer(x int) {}
func (T) private()         {}

type inner struct {
	Promoted, hidden bool
}

func (*inner) Inherited() {}

type Outer struct{ Loop *Outer }

type Gen[K comparable] struct{ Key K }

func (g Gen[K]) Get() K { return g.Key }

type I interface {
	io.Reader
	M(name string) T
}

type Sealed interface {
	Open()
	sealed()
}

type Number interface{ ~int | ~uint }

type Fn func(*T) error

type Level int8

func (Level) String() string { return "" }

type Alias = io.Writer

type private2 struct{ Field int }
`

func workspace(t *testing.T) string {
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26.0\n", "go.work": "go 1.26.0\n\nuse (\n\t.\n\t./nested\n)\n\nreplace example.com/m v0.1.0 => .\n",
		"nested/go.mod": "module example.com/m/nested\n\ngo 1.26.0\n\nrequire example.com/m v0.1.0\n", "nested/deep/n.go": "package deep\n\nimport \"example.com/m/a\"\n\nfunc N(a.T) {}\n",
		"a/a.go": everything, "a/a_test.go": "package a\n\nconst Test = 1\n", "internal/x/x.go": "package x\n\nconst X = 1\n",
		"internal/y/y.go": "package y\n\nconst Y = 1\n", "nested/shared.go": "package nested\n\nimport _ \"example.com/m/internal/y\"\n",
		"main.go":        "package main\n\nfunc main() {}\n",
		"os/os_linux.go": "package os\n\nconst Here = \"linux\"\n", "os/os_other.go": "//go:build !linux\n\npackage os\n\nconst Here = \"other\"\n",
	})
	t.Setenv("GOWORK", filepath.Join(root, "go.work"))
	return root
}

// TestLoad: the listing has all that other packages can use, of nested modules as well, and nothing else.
func TestLoad(t *testing.T) {
	packages, err := Load(workspace(t), "example.com/m", []string{".", "nested"}, "linux")
	require.NoError(t, err)
	lines := map[string][]string{}
	for _, p := range packages {
		lines[p.Path] = p.Lines
	}
	assert.Equal(t, map[string][]string{
		"a": {
			"const C untyped int = 8",
			"const D time.Duration = 2000000000",
			`const S untyped string = "a\tb"`,
			"field Gen.Key K",
			"field Outer.Loop *a.Outer",
			"field T.A int",
			"field T.B int",
			"field T.Outer embedded *a.Outer",
			"field T.Promoted bool",
			"func F(int, int, ...func(x error) string) (int, error)",
			"func G[T ~int | ~string, U any](T, *U)",
			"method (*T).Inherited()",
			"method (*T).Pointer(int)",
			"method Gen.Get() K",
			"method I.M(string) a.T",
			"method I.Read([]byte) (int, error)",
			"method Level.String() string",
			"method Sealed.Open()",
			"method T.Value()",
			"type Alias = io.Writer",
			"type Fn func(*a.T) error",
			"type Gen[K comparable] struct",
			"type I interface",
			"type Level int8",
			"type Number interface{~int | ~uint}",
			"type Outer struct",
			"type Sealed interface with unexported methods",
			"type T struct",
			"var V map[string]io.Reader",
		},
		"internal/y":  {"const Y untyped int = 1"}, // nested imports it
		"nested":      nil,
		"nested/deep": {"func N(a.T)"},
		"os":          {`const Here untyped string = "linux"`},
	}, lines)
}

// TestLoadOtherSystem: the same sources have another API on another system.
func TestLoadOtherSystem(t *testing.T) {
	packages, err := Load(workspace(t), "example.com/m", []string{"."}, "darwin")
	require.NoError(t, err)
	require.Len(t, packages, 2)
	assert.Equal(t, []string{`const Here untyped string = "other"`}, packages[1].Lines)
}

// TestLoadErrors: what does not compile is no API.
func TestLoadErrors(t *testing.T) {
	root := workspace(t)
	write(t, root, map[string]string{"a/b.go": "package a\n\nvar W nosuch\n"})
	_, err := Load(root, "example.com/m", []string{"."}, "linux")
	assert.ErrorContains(t, err, "undefined: nosuch")
	_, err = Load(root, "example.com/m", []string{"nosuch"}, "linux")
	assert.ErrorContains(t, err, "./nosuch/")
}

func changes(t *testing.T, entries string) *changelog.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "CHANGELOG.md")
	require.NoError(t, os.WriteFile(path, []byte("## Unreleased\n\n"+entries+"\n## 0.0.1\n\n- `p/q`: `T`, `F`, `New`\n"), 0o600))
	f, err := changelog.Read(path)
	require.NoError(t, err)
	return f
}

// TestCheck: each change needs an entry that names it, and is refused without one, by Check and by Update.
func TestCheck(t *testing.T) {
	const before = "  field T.A int\n  func F()\n  method (*T).M()\n  type T struct\n"
	old := []string{"field T.A int", "func F()", "method (*T).M()", "type T struct"}
	without := func(line string) []string {
		return strings.Split(strings.ReplaceAll(strings.Join(old, "\n")+"\n", line+"\n", "")+"x", "\n")[:len(old)-1]
	}
	for name, c := range map[string]struct {
		lines   []string
		entries string
		want    string // "": covered
	}{
		"nothing":                          {old, "", ""},
		"function":                         {append(old, "func New()"), "- `q`: `New` is new.\n", ""},
		"function, by path":                {append(old, "func New()"), "- `p/q`: `New` is new.\n", ""},
		"function, qualified":              {append(old, "func New()"), "- `q.New` is new.\n", ""},
		"function, in a call":              {append(old, "func New()"), "- `q`: call `New(x)`.\n", ""},
		"function, on the next line":       {append(old, "func New()"), "- `q`: much\n  `New`.\n", ""},
		"function, not code":               {append(old, "func New()"), "- `q`: New is new.\n", "the func `New` of package `p/q`"},
		"function, part of a word":         {append(old, "func New()"), "- `q`: `Newest`.\n", "the func `New`"},
		"function, other package":          {append(old, "func New()"), "- `r`: `New`.\n", "the func `New`"},
		"function, package in other entry": {append(old, "func New()"), "- `q`: x\n- `New`.\n", "the func `New`"},
		"function, in the last release":    {append(old, "func New()"), "", "the func `New`"},
		"function gone":                    {without("func F()"), "- `q`: `F` is gone.\n", ""},
		"function gone, unnamed":           {without("func F()"), "- `q`: something.\n", "the func `F`"},
		"function changed":                 {append(without("func F()"), "func F(int)"), "- `q`: `F` takes a number.\n", ""},
		"function changed, unnamed":        {append(without("func F()"), "func F(int)"), "- `q`\n", "the func `F`"},
		"field":                            {append(old, "field T.B int"), "- `q`: `T.B`.\n", ""},
		"field, beside the type":           {append(old, "field T.B int"), "- `q`: `T` has the field `B`.\n", ""},
		"field, only the type":             {append(old, "field T.B int"), "- `q`: `T`.\n", "the field `T.B`"},
		"field, only the name":             {append(old, "field T.B int"), "- `q`: `B`.\n", "the field `T.B`"},
		"method changed":                   {append(without("method (*T).M()"), "method T.M()"), "- `q`: `q.T.M`.\n", ""},
		"method changed, unnamed":          {append(without("method (*T).M()"), "method T.M()"), "- `q`: `T`.\n", "the method `T.M`"},
		"type":                             {append(old, "type U struct", "field U.A int", "method U.M()"), "- `q`: `U`.\n", ""},
		"type, unnamed":                    {append(old, "type U struct", "field U.A int"), "- `q`: `U.A`.\n", "the type `U`"},
		"type gone":                        {[]string{"func F()"}, "- `q`: `T` is gone.\n", ""},
		"package gone":                     {nil, "- `p/q` is gone.\n", ""},
		"package gone, unnamed":            {nil, "- `p` is gone.\n", "of package `p/q`"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			d, log := Dir(root), changes(t, c.entries)
			write(t, root, map[string]string{"p/q.txt": before})
			var packages []Package
			if c.lines != nil {
				packages = []Package{{"p/q", c.lines}}
			}
			if name == "nothing" {
				require.NoError(t, d.Check(packages, log))
			} else {
				require.ErrorContains(t, d.Check(packages, log), "p/q: ", "the record is not current")
			}
			err := d.Update(packages, log)
			if c.want == "" {
				require.NoError(t, err)
				assert.NoError(t, d.Check(packages, log), "after the update")
				return
			}
			assert.ErrorContains(t, err, c.want)
			text, err := os.ReadFile(d.file("p/q"))
			require.NoError(t, err)
			assert.Equal(t, before, string(text), "nothing was written")
			// A record that was written by hand changes nothing.
			require.NoError(t, d.write(map[string]*Record{"p/q": {released: parseRecord(before).released, current: c.lines}}))
			assert.ErrorContains(t, d.Check(packages, log), c.want)
		})
	}
}

// TestNewPackage: a package is new as a whole.
func TestNewPackage(t *testing.T) {
	d := Dir(t.TempDir())
	packages := []Package{{"new", []string{"func F()", "type T struct"}}}
	assert.ErrorContains(t, d.Update(packages, changes(t, "- `F`, `T`\n")), "of package `new`")
	require.NoError(t, d.Update(packages, changes(t, "- `new`: a package.\n")))
	assert.ErrorContains(t, d.Changed(packages), "has changes since the last release")
}

// TestRecord: a record keeps what the last release had, until the next one.
func TestRecord(t *testing.T) {
	d, log := Dir(t.TempDir()), changes(t, "- `p`: `A`, `B`, `C`\n")
	update := func(lines ...string) string {
		t.Helper()
		require.NoError(t, d.Update([]Package{{"p", lines}}, log))
		text, err := os.ReadFile(d.file("p"))
		require.NoError(t, err)
		_, text2, _ := strings.Cut(string(text), "\n")
		return text2
	}
	assert.Equal(t, "+ const A\n+ const B\n", update("const A", "const B"))
	packages := []Package{{"p", []string{"const A", "const B"}}}
	require.NoError(t, d.Release(packages))
	require.NoError(t, d.Changed(packages))
	assert.Equal(t, "- const A\n  const B\n+ const C\n", update("const B", "const C"))
	assert.Equal(t, "- const A\n- const B\n", update())
	assert.Equal(t, "  const A\n  const B\n", update("const A", "const B"), "back again")
	require.NoError(t, d.Update(nil, log))
	require.NoError(t, d.Release(nil))
	assert.NoFileExists(t, d.file("p"), "the package is gone")
}
