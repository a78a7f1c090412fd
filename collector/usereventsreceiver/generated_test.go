package usereventsreceiver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestGenerated: the generated files are those that mdatagen makes of metadata.yaml. go generate writes them.
func TestGenerated(t *testing.T) {
	testscale.HostOnly(t)
	// A module of the same name, without the code.
	dir := filepath.Join(t.TempDir(), "usereventsreceiver")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"metadata.yaml", "README.md", "doc.go", "generate.sh", "tools.mod", "tools.sum", "go.sum"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	const schemas = "go.opentelemetry.io/collector/config/configretry"
	mod := "module github.com/userevents/userevents-go/collector/usereventsreceiver\ngo 1.26.0\nrequire " + strings.TrimSpace(run(t, ".", "go", "list", "-m", schemas))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod+"\n"), 0o600))
	run(t, dir, "git", "init", "--quiet")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	run(t, dir, "sh", "generate.sh")

	var names []string
	for _, pattern := range []string{"generated_*.go", "internal/*/generated_*.go"} {
		here, err := filepath.Glob(pattern)
		require.NoError(t, err)
		there, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		here = slices.DeleteFunc(here, func(name string) bool { return name == "generated_test.go" })
		assert.Len(t, here, len(there), pattern)
		names = append(names, here...)
	}
	for _, name := range append(names, "README.md", "documentation.md", "config.schema.json", "internal/metadata/testdata/config.yaml") {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}

// run returns the output of a command.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return string(text)
}
