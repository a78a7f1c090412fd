package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDispatchRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":              {},
		"an unknown command":   {"tset"},
		"init outside a guest": {"init", "job.json"},
		"an unknown flag":      {"test", "-kernle", "6.1"},
		"an unknown kernel":    {"shell", "-kernel", "5.0"},
		"an unknown machine":   {"exec", "-accel", "xen", "true"},
		"no program":           {"exec"},
		"a shell's program":    {"shell", "true"},
		"nothing to keep":      {"keep", "dir"},
	} {
		t.Run(name, func(t *testing.T) { assert.Error(t, dispatch(args)) })
	}
	t.Chdir(t.TempDir())
	assert.ErrorContains(t, dispatch([]string{"exec", "true"}), "run this inside of the repository")
}

// go test starts the wrapper in the directory of the package.
func TestRepository(t *testing.T) {
	want, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	t.Chdir(filepath.Join("testdata", "guest"))
	got, err := repository()
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PATH", "/my/tools:/usr/bin")
	env := testEnv(machine{kernel: "6.1"})
	assert.Contains(t, env, "USEREVENTS_KERNEL=6.1")
	for _, v := range env {
		if dirs, ok := filepath.SplitList(v), v[:5] == "PATH="; ok {
			assert.Contains(t, dirs, "/usr/bin")
			assert.Contains(t, dirs, "/usr/sbin", "where trace-cmd's friends are")
		}
	}
	assert.NotContains(t, env, "HOME="+os.Getenv("HOME"))

	assert.Contains(t, testEnv(machine{kernel: "6.12-arm64"}), "PATH=/nonexistent", "another processor has none of the host's programs")

	// A shell has these, and the rest of the host's.
	shell := guestEnv(machine{kernel: "6.1"})
	assert.Subset(t, env, shell)
	assert.True(t, strings.HasPrefix(shell[len(shell)-1], "PATH="))
	assert.NotContains(t, shell, "TERM=dumb")
}
