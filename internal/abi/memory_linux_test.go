package abi_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/words"
)

// mapPages maps memory that, unlike the package's own, can be unmapped.
func mapPages(t *testing.T, n int) []byte {
	t.Helper()
	pages, err := syscall.Mmap(-1, 0, n*os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	return pages
}

func unmap(t *testing.T, pages []byte) {
	t.Helper()
	require.NoError(t, syscall.Munmap(pages))
}

// TestWordNotInMemory: the kernel brings a page back to change a bit in it.
func TestWordNotInMemory(t *testing.T) {
	f, tfs := enableAddress(t)
	lockThread(t)
	page := mapPages(t, 1)
	w, name := words.At(page, 64), newName()
	require.NoError(t, abi.RegisterRaw(f, name, w, 0, 3, 4, 0), "the page was never touched")
	i := kerneltest.NewInstance(t, tfs, 64)
	for range 3 {
		require.NoError(t, syscall.Madvise(page, syscall.MADV_DONTNEED))
		i.Attach(name)
		changesTo(t, w, 1<<3)
		require.NoError(t, syscall.Madvise(page, syscall.MADV_DONTNEED))
		i.Detach()
		changesTo(t, w, 0)
	}
	require.NoError(t, syscall.Madvise(page, syscall.MADV_DONTNEED))
	require.NoError(t, f.Unregister(w, 3))
	unmap(t, page)
}

// TestWriteNotInMemory: a payload need not be in memory, but it must be the program's.
func TestWriteNotInMemory(t *testing.T) {
	f, tfs := open(t)
	lockThread(t)
	name, reg := register(t, f)
	i := kerneltest.NewInstance(t, tfs, 64)
	i.Attach(name)

	// As the selftest write_fault has it: a page that nobody touched, or that was taken
	// away, is zeros, and zero is the index of a file's first event.
	require.Zero(t, reg.Index)
	zeros := mapPages(t, 1)
	require.NoError(t, f.Write(zeros[:12]))
	require.NoError(t, syscall.Madvise(zeros, syscall.MADV_DONTNEED))
	require.NoError(t, f.Write(zeros[:12]))
	records := i.Records()
	require.Len(t, records, 2)
	for _, r := range records {
		assert.Equal(t, make([]byte, 8), r.Payload[:8])
	}
	unmap(t, zeros)

	size := os.Getpagesize()
	content := make([]byte, size)
	binary.NativeEndian.PutUint32(content, reg.Index)
	for i := 4; i < size; i++ {
		content[i] = byte(i * 7)
	}
	path := filepath.Join(t.TempDir(), "payload")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	page, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	n := 4 + 3000
	require.NoError(t, f.Write(page[:n]), "no byte of it was read yet")
	records = i.Records()
	require.Len(t, records, 1)
	assert.Equal(t, content[4:n], records[0].Payload[:n-4])
	unmap(t, page)

	pages := mapPages(t, 2)
	require.NoError(t, syscall.Mprotect(pages[size:], syscall.PROT_NONE))
	buf := pages[size-8 : size+8]
	binary.NativeEndian.PutUint32(buf, reg.Index)
	assert.ErrorIs(t, f.Write(buf), errno.EFAULT)
	assert.ErrorIs(t, f.Write(pages[size+4:size+16]), errno.EFAULT, "not even the index")
	assert.Empty(t, i.Records())
	unmap(t, pages)
}
