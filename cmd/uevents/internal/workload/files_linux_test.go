package workload

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPipe: a pipe in the place of a file is not waited for.
func TestPipe(t *testing.T) {
	m := newMachine(t)
	m.docker("/var/lib/docker", id("a1"), "web")
	m.docker("/var/lib/docker", id("b2"), "piped")
	file := filepath.Join(m.root, "var/lib/docker/containers", id("b2"), "config.v2.json")
	require.NoError(t, syscall.Unlink(file))
	require.NoError(t, syscall.Mkfifo(file, 0o600))
	s := Read(m.root)
	assert.Equal(t, []Container{{ID: id("a1"), Name: "web", Runtime: "docker"}}, s.Containers)
	_, err := s.ResolveContainer("piped")
	assert.ErrorContains(t, err, "no regular file")
}

// TestPipeForDirectory: nor is one in the place of a directory.
func TestPipeForDirectory(t *testing.T) {
	m := newMachine(t)
	m.docker("/var/lib/docker", id("a1"), "web")
	m.file("var/log/x", "")
	require.NoError(t, syscall.Mkfifo(filepath.Join(m.root, "var/log/pods"), 0o600))
	s := Read(m.root)
	assert.Len(t, s.Containers, 1)
	_, err := s.ResolvePod("web")
	assert.ErrorIs(t, err, syscall.ENOTDIR)
}
