package abi_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents/internal/abi"
	"github.com/userevents/userevents-go/uevents/tracefs"
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

// TestNumberStaysTaken: the number of a closed file is not reused while anybody can reach
// it.
func TestNumberStaysTaken(t *testing.T) {
	f, tfs := open(t)
	fd := f.FD()
	require.NoError(t, f.Close())
	for range 50 {
		other, err := os.Open(tfs.Path("README"))
		require.NoError(t, err)
		assert.NotEqual(t, fd, int(other.Fd()))
		defer other.Close()
	}
	runtime.GC()
	assert.True(t, isOpen(fd))
	assert.ErrorIs(t, f.Write(make([]byte, 8)), errno.EBADF)
	_, err := f.Register(registerAnything(t, f))
	assert.ErrorIs(t, err, errno.ENOTTY, "what took its place is no user_events_data")
}

// TestNumberIsGivenBack, once nobody can reach the file: closed or forgotten.
func TestNumberIsGivenBack(t *testing.T) {
	tfs := kerneltest.Require(t)
	for _, closed := range []bool{true, false} {
		fd := func() int {
			f, err := abi.Open(tfs.Path(tracefs.DataFile))
			require.NoError(t, err)
			if closed {
				require.NoError(t, f.Close())
			}
			runtime.GC()
			require.True(t, isOpen(f.FD()))
			return f.FD()
		}()
		require.Eventually(t, func() bool {
			runtime.GC()
			return !isOpen(fd)
		}, eventually, 10*tick, "closed: %t", closed)
	}
}

// TestManyCloses: a program that opens and closes a lot does not run out of numbers.
func TestManyCloses(t *testing.T) {
	tfs := kerneltest.Require(t)
	before, most := descriptors(t), 0
	for range 1000 {
		f, err := abi.Open(tfs.Path(tracefs.DataFile))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		most = max(most, descriptors(t)-before)
	}
	assert.Less(t, most, 300)
}

// TestBuryUnderWriters: whoever writes while a file is closed reaches the event or nothing.
func TestBuryUnderWriters(t *testing.T) {
	tfs := kerneltest.Require(t)
	lockThread(t)
	keeper, _ := open(t)
	name, _ := register(t, keeper)
	i := kerneltest.NewInstance(t, tfs, 1024)
	i.Attach(name)
	dir, overrun := t.TempDir(), 0
	for round := range 20 {
		f, err := abi.Open(tfs.Path(tracefs.DataFile))
		require.NoError(t, err)
		r := registerAnything(t, f)
		r.Command = name
		reg, err := f.Register(r)
		require.NoError(t, err)
		var closing atomic.Bool
		var written atomic.Uint64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				buf := make([]byte, 16)
				binary.NativeEndian.PutUint32(buf, reg.Index)
				for {
					if err := f.Write(buf); err != nil {
						assert.ErrorIs(t, err, errno.EBADF)
						assert.True(t, closing.Load())
						return
					}
					written.Add(1)
				}
			})
		}
		var files []*os.File // they take every number that becomes free
		for n := range 100 {
			if n == 50 {
				closing.Store(true)
				require.NoError(t, f.Unregister(r.Word, 0))
				require.NoError(t, f.Close())
			}
			other, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d-%d", round, n)))
			require.NoError(t, err)
			files = append(files, other)
		}
		wg.Wait()
		for _, other := range files {
			st, err := other.Stat()
			require.NoError(t, err)
			assert.Zero(t, st.Size(), "somebody else's file was written to")
			require.NoError(t, other.Close())
		}
		recorded := len(i.Records()) + i.Stats("overrun") - overrun
		overrun = i.Stats("overrun")
		assert.EqualValues(t, written.Load(), recorded)
	}
}

func TestDiscard(t *testing.T) {
	tfs := kerneltest.Require(t)
	f, err := abi.Open(tfs.Path(tracefs.DataFile))
	require.NoError(t, err)
	fd := f.FD()
	require.NoError(t, f.Discard())
	assert.False(t, isOpen(fd), "at once")
	other, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer other.Close()
	f = nil
	for range 5 {
		runtime.GC()
	}
	_, err = other.Stat()
	assert.NoError(t, err, "not closed a second time")
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
		exists, err := tfs.Exists(name)
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
	assert.ErrorIs(t, err, errno.ENOTTY)
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
