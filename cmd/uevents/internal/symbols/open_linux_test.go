package symbols

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNotOpened: a recording does not make the command open what is no regular file, such as a device that acts when it
// is opened. A named pipe shows it: a process that opens it for writing waits for a reader.
func TestNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	opened := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			err = f.Close()
		}
		opened <- err
	}()
	time.Sleep(100 * time.Millisecond) // until it waits

	table := NewRecorded()
	table.Map(1, Mapping{Start: 4096, End: 8192, Path: pipe})
	got := table.appendFrames(nil, 1, []uint64{5000})
	assert.Equal(t, []Frame{{Addr: 5000, Object: pipe}}, got)
	select {
	case err := <-opened:
		assert.Fail(t, "the pipe was opened", "%v", err)
	case <-time.After(100 * time.Millisecond):
		f, err := os.Open(pipe)
		require.NoError(t, err)
		assert.NoError(t, <-opened)
		assert.NoError(t, f.Close())
	}
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
