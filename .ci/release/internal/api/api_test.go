package api

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// TestCheck: a record that differs is found, and writing it makes it current.
func TestCheck(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "api"))
	before := []Package{{"p", []string{"const A", "func F()"}}, {"p/q", []string{"type T struct"}}, {"empty", nil}}
	require.NoError(t, d.Write(before))
	require.NoError(t, d.Check(before))
	assert.NoFileExists(t, d.file("empty"))
	after := []Package{{"p", []string{"const A", "func F(int)"}}, {"new", []string{"var V int"}}}
	assert.EqualError(t, d.Check(after), `p: not recorded: func F(int) (make api)
p: recorded, but gone: func F() (make api)
new: not recorded: var V int (make api)
p/q: recorded, but gone: type T struct (make api)`)
	require.NoError(t, d.Write(after))
	require.NoError(t, d.Check(after))
	assert.NoFileExists(t, d.file("p/q"))
}
