package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/userevents/userevents-go"

// pkg is a package of this module, as go list describes it.
type pkg struct {
	ImportPath string
	GoFiles    []string
	Imports    []string // of code that is no test
}

// name returns the path inside the module.
func (p pkg) name() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// imports returns what the package imports of this module, as paths inside it.
func (p pkg) imports() (list []string) {
	for _, i := range p.Imports {
		if rest, ok := strings.CutPrefix(i, module+"/"); ok {
			list = append(list, rest)
		}
	}
	return list
}

func packages(t *testing.T) (list []pkg) {
	if os.Getenv("USEREVENTS_VM") != "" {
		t.Skip("not on this kernel: the source is checked on the host")
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,Imports", module+"/...")
	cmd.Env = append(os.Environ(), "GOOS=linux") // where all files count
	out, err := cmd.Output()
	require.NoError(t, err)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else {
			require.NoError(t, err)
		}
		list = append(list, p)
	}
}

func within(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
}

// standard reports whether an import is of the standard library: its first element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestImports(t *testing.T) {
	list := packages(t)
	require.NotEmpty(t, list)
	adapters := []string{"sloghandler", "structevent", "exporter", "cmd", "examples"}
	for _, p := range list {
		for _, i := range p.imports() {
			switch {
			case within(p.name(), "tracepoint"):
				assert.Fail(t, "tracepoint stands on nothing", "it imports %s", i)
			case within(p.name(), "encode"):
				assert.True(t, within(i, "tracepoint", "encode"), "%s imports %s: encoders know neither kernel nor logger", p.name(), i)
			case within(p.name(), "uevents"):
				assert.False(t, within(i, "encode"), "%s imports %s: the kernel's side knows bytes only", p.name(), i)
			}
			if !within(p.name(), "examples", "cmd") {
				assert.False(t, within(i, adapters...), "%s imports %s: nothing imports an adapter", p.name(), i)
			}
		}
		for _, i := range p.Imports {
			switch {
			case i == "unsafe":
				assert.True(t, within(p.name(), "internal/sys", "uevents/internal/abi", "encode/typed"), "%s uses unsafe", p.name())
			case strings.HasPrefix(i, "golang.org/x/sys"):
				assert.Equal(t, "internal/sys", p.name(), "the only door to x/sys")
			case strings.HasPrefix(i, "go.opentelemetry.io"):
				assert.True(t, within(p.name(), "exporter", "sloghandler/oteltrace", "examples"), "%s imports %s", p.name(), i)
			case !standard(i) && !strings.HasPrefix(i, module):
				assert.True(t, within(p.name(), "internal/kerneltest"), "%s imports %s", p.name(), i)
			}
		}
	}
}

// TestOneUnsafeFile: encode/typed reads struct fields at their offsets in one file.
func TestOneUnsafeFile(t *testing.T) {
	packages(t) // skips in a guest
	files, err := os.ReadDir("../../encode/typed")
	require.NoError(t, err)
	var found []string
	for _, f := range files {
		if strings.HasSuffix(f.Name(), "_test.go") || !strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		b, err := os.ReadFile("../../encode/typed/" + f.Name())
		require.NoError(t, err)
		if strings.Contains(string(b), `"unsafe"`) {
			found = append(found, f.Name())
		}
	}
	assert.Equal(t, []string{"planunsafe.go"}, found)
}
