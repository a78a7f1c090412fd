package usereventsreceiver

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestGenerated: the generated files are those that mdatagen makes of metadata.yaml. go generate writes them.
func TestGenerated(t *testing.T) {
	testscale.HostOnly(t)
	out := t.TempDir()
	mdatagen := filepath.Join(out, "mdatagen")
	run := func(dir string, env []string, name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	run(".", []string{"GOWORK=off"}, "go", "build", "-modfile=tools.mod", "-o", mdatagen, "go.opentelemetry.io/collector/cmd/mdatagen")

	// A module of the same name, without the code.
	dir := filepath.Join(out, "usereventsreceiver")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module github.com/userevents/userevents-go/collector/usereventsreceiver\n"), 0o600))
	for _, name := range []string{"metadata.yaml", "README.md", "doc.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	run(dir, []string{"GOWORK=off", "GOFLAGS=-mod=mod"}, mdatagen, "metadata.yaml")

	var names []string
	for _, pattern := range []string{"generated_*_test.go", "internal/*/generated_*.go"} {
		here, err := filepath.Glob(pattern)
		require.NoError(t, err)
		there, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		assert.Len(t, here, len(there), pattern)
		names = append(names, here...)
	}
	for _, name := range append(names, "README.md", "documentation.md") {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}
