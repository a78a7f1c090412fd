package abi_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

func isOpen(fd int) bool {
	_, err := os.Lstat("/proc/self/fd/" + strconv.Itoa(fd))
	return err == nil
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// TestClose: the number is free at once, and many files need no more numbers than one.
func TestClose(t *testing.T) {
	tfs := kerneltest.Require(t)
	before := descriptors(t)
	for range 1000 {
		f, err := abi.Open(tfs.Path(tracefs.DataFile))
		require.NoError(t, err)
		require.True(t, isOpen(f.FD()))
		require.NoError(t, f.Close())
		require.False(t, isOpen(f.FD()))
	}
	assert.Equal(t, before, descriptors(t))
}

func TestFromFile(t *testing.T) {
	tfs := kerneltest.Require(t)
	lockThread(t)
	path := tfs.Path(tracefs.DataFile)
	for _, flag := range []int{os.O_WRONLY, os.O_RDWR} {
		file, err := os.OpenFile(path, flag, 0)
		require.NoError(t, err)
		f, err := abi.FromFile(file)
		require.NoError(t, err)
		assert.Equal(t, path, f.Path())
		assert.NotEqual(t, int(file.Fd()), f.FD())
		require.NoError(t, file.Close(), "the caller's own")
		name, reg := register(t, f)
		exists, err := tfs.Event(name).Exists()
		require.NoError(t, err)
		assert.True(t, exists)
		i := kerneltest.NewInstance(t, tfs, 64)
		i.Attach(name)
		buf := binary.NativeEndian.AppendUint32(nil, reg.Index)
		require.NoError(t, f.Write(append(buf, "abcd"...)))
		assert.Len(t, i.Records(), 1)
		i.Detach()
		require.NoError(t, f.Unregister(reg.Word, 0))
		require.NoError(t, f.Close())
	}
}

func TestFromFileRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	open := func(flag int) *os.File {
		f, err := os.OpenFile(path, flag, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() }) // one is closed
		return f
	}
	closed := open(os.O_WRONLY)
	require.NoError(t, closed.Close())
	before := descriptors(t)
	_, err := abi.FromFile(open(os.O_RDONLY))
	assert.ErrorContains(t, err, "not open for writing")
	_, err = abi.FromFile(open(os.O_WRONLY))
	assert.ErrorIs(t, err, syscall.ENOTTY)
	_, err = abi.FromFile(closed)
	assert.ErrorIs(t, err, os.ErrClosed)
	_, err = abi.FromFile(nil)
	assert.ErrorIs(t, err, os.ErrInvalid)
	assert.Equal(t, before+2, descriptors(t), "only the two that this test has")
}

// TestPathOf: the path of a descriptor from elsewhere may mean something else here.
func TestPathOf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	pathOf := func() string { return abi.PathOf(int(f.Fd()), info) }
	assert.Equal(t, path, pathOf())
	moved := filepath.Join(dir, "moved")
	require.NoError(t, os.Rename(path, moved))
	assert.Equal(t, moved, pathOf())
	require.NoError(t, os.Remove(moved))
	assert.Empty(t, pathOf(), "removed")

	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	assert.Empty(t, abi.PathOf(int(w.Fd()), info), "no path")

	other, err := os.Create(path)
	require.NoError(t, err)
	defer other.Close()
	assert.Empty(t, abi.PathOf(int(other.Fd()), info), "another file's path")
}
