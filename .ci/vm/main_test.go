package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDispatchRefuses(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for name, args := range map[string][]string{
		"nothing":              {},
		"an unknown command":   {"tset"},
		"init outside a guest": {"init", "job.json"},
		"an unknown flag":      {"test", "-kernle", "6.1"},
		"an unknown kernel":    {"shell", "-kernel", "5.0"},
		"an unknown machine":   {"bench", "-accel", "xen"},
		"a shell's program":    {"shell", "true"},
	} {
		t.Run(name, func(t *testing.T) { assert.Error(t, dispatch(args)) })
	}
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
