package symbols

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNotOpened: a recording does not make the command open what is no regular file, such as a device that acts when it
// is opened.
func TestNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	both, err := os.OpenFile(pipe, os.O_RDWR, 0) // else opening it would wait
	require.NoError(t, err)
	defer both.Close()
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	require.NoError(t, err)
	defer func() { assert.NoError(t, syscall.Close(watch)) }()
	_, err = syscall.InotifyAddWatch(watch, pipe, syscall.IN_OPEN)
	require.NoError(t, err)
	event := make([]byte, syscall.SizeofInotifyEvent)

	table := NewRecorded()
	table.Map(1, Mapping{Start: 4096, End: 8192, Path: pipe})
	got := table.appendFrames(nil, 1, []uint64{5000})
	assert.Equal(t, []Frame{{Addr: 5000, Object: pipe}}, got)
	_, err = syscall.Read(watch, event)
	assert.ErrorIs(t, err, syscall.EAGAIN, "the pipe was opened")

	f, err := os.Open(pipe)
	require.NoError(t, err)
	assert.NoError(t, f.Close())
	n, err := syscall.Read(watch, event)
	assert.NoError(t, err, "an open is seen")
	assert.Equal(t, len(event), n)
}

// TestWithoutSize: files that the kernel makes up when they are read, and that may act then, are not opened.
func TestWithoutSize(t *testing.T) {
	_, _, err := openRegular(os.OpenFile, "/proc/self/status")
	assert.ErrorIs(t, err, errNotRegular)
	_, _, err = openRegular(os.OpenFile, "/dev/null")
	assert.ErrorIs(t, err, errNotRegular)
	exe, err := os.Executable()
	require.NoError(t, err)
	f, id, err := openRegular(os.OpenFile, exe)
	require.NoError(t, err)
	assert.NotZero(t, id.inode)
	b := make([]byte, 4)
	_, err = f.ReadAt(b, 0)
	assert.NoError(t, err)
	assert.Equal(t, "\x7fELF", string(b))
	assert.NoError(t, f.Close())
}
