package abi_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/internal/words"
)

// TestDetection: each kernel is recognised, and keeps nothing of the question.
func TestDetection(t *testing.T) {
	f, tfs := open(t)
	old := map[string]backend.ABI{"6.1": backend.StatusBit, "6.1-byte": backend.StatusByte}
	if kernel := testscale.Kernel(); kernel != "" {
		want, ok := old[kernel]
		if !ok {
			want = backend.EnableAddress
		}
		assert.Equal(t, want, f.ABI(), "kernel %s", kernel)
	}
	before, err := tfs.Declarations()
	require.NoError(t, err)
	for range 100 {
		enable, err := abi.HasEnableAddress(f.FD())
		require.NoError(t, err)
		assert.Equal(t, f.ABI() == backend.EnableAddress, enable)
	}
	after, err := tfs.Declarations()
	require.NoError(t, err)
	for _, d := range after {
		assert.Contains(t, before, d)
	}
}

// TestForeignFiles: what is no user_events_data is not taken for an old one.
func TestForeignFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]error{
		file:                syscall.ENOTTY,
		os.DevNull:          syscall.ENOTTY,
		file + "-not-there": fs.ErrNotExist,
		filepath.Dir(file):  syscall.EISDIR,
	} {
		f, err := abi.Open(path)
		assert.ErrorIs(t, err, want, path)
		assert.ErrorContains(t, err, path)
		assert.Nil(t, f)
	}
}

func TestStatusGeneration(t *testing.T) {
	const totals = "1:one\n\nActive: 1\nBusy: 0\nMax: %d\n"
	path := filepath.Join(t.TempDir(), "status")
	page := os.Getpagesize()
	for _, c := range []struct {
		text string
		want backend.ABI
		err  string
	}{
		{fmt.Sprintf(totals, page), backend.StatusByte, ""},
		{fmt.Sprintf(totals, page*8), backend.StatusBit, ""},
		{fmt.Sprintf(totals, 17), backend.Unknown, `"Max: 17" says neither status bytes nor status bits`},
		{"one\n\nActive: 1\nBusy: 0\n", backend.Unknown, `"Max: 0"`}, // of a kernel with enable addresses
		{"", backend.Unknown, "no totals"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		got, err := abi.StatusGeneration(path)
		assert.Equal(t, c.want, got)
		if c.err == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, c.err)
		assert.ErrorContains(t, err, path)
	}
	_, err := abi.StatusGeneration(path + "-not-there")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestStatusError(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "/x/user_events_status", Err: fs.ErrPermission}
	var err error = &abi.StatusError{Path: cause.Path, Err: cause}
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorContains(t, err, "user_events_status, which must be readable: open /x/user_events_status: permission denied")
	var se *abi.StatusError
	assert.True(t, errors.As(err, &se))
}

// TestStatusPage: the kernel gives exactly one page, and does not let it be written.
func TestStatusPage(t *testing.T) {
	f, tfs := open(t)
	status, err := sys.Open(tfs.Path(tracefs.StatusFile))
	require.NoError(t, err)
	defer status.Close()
	fd := int(status.Fd())
	_, err = sys.MapReadOnly(fd, 2*os.Getpagesize())
	assert.Error(t, err, "two pages")
	page, err := syscall.Mmap(fd, 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	if f.ABI() == backend.EnableAddress {
		assert.ErrorIs(t, err, errno.ENODEV, "nothing to map")
		return
	}
	require.NoError(t, err)
	defer unmap(t, page)
	name, reg := register(t, f)
	assert.Zero(t, reg.Word.Load()&reg.Mask)
	i := kerneltest.NewInstance(t, tfs, 64)
	i.Attach(name)
	assert.NotZero(t, reg.Word.Load()&reg.Mask)
	perf := kerneltest.AttachPerf(t, tfs, name)
	i.Detach()
	assert.NotZero(t, reg.Word.Load()&reg.Mask, "perf is there")
	perf.Detach()
	assert.Zero(t, reg.Word.Load()&reg.Mask)
}

func TestLocate(t *testing.T) {
	page, err := sys.MapAnonymous(4096)
	require.NoError(t, err)
	for _, c := range []struct {
		abi       backend.ABI
		status    uint32
		byteIndex int
		bits      byte
	}{
		{backend.StatusByte, 1, 1, 0xff},
		{backend.StatusByte, 2, 2, 0xff},
		{backend.StatusByte, 7, 7, 0xff},
		{backend.StatusByte, 8, 8, 0xff},
		{backend.StatusByte, 4095, 4095, 0xff},
		{backend.StatusBit, 1, 0, 0x02},
		{backend.StatusBit, 7, 0, 0x80},
		{backend.StatusBit, 8, 1, 0x01},
		{backend.StatusBit, 31, 3, 0x80},
		{backend.StatusBit, 32, 4, 0x01},
		{backend.StatusBit, 63, 7, 0x80},
		{backend.StatusBit, 64, 8, 0x01},
		{backend.StatusBit, 32767, 4095, 0x80},
	} {
		word, mask, err := abi.Locate(c.abi, page, c.status)
		require.NoError(t, err)
		for bit := range 8 {
			clear(page)
			page[c.byteIndex] = 1 << bit
			assert.Equal(t, c.bits&(1<<bit) != 0, word.Load()&mask != 0, "%+v, bit %d", c, bit)
		}
		for i := range page {
			page[i] = 0xff
		}
		page[c.byteIndex] &^= c.bits
		assert.Zero(t, word.Load()&mask, "%+v: the events beside do not count", c)
	}
	for _, c := range []struct {
		abi    backend.ABI
		status uint32
	}{{backend.StatusByte, 4096}, {backend.StatusBit, 32768}, {backend.StatusByte, 1<<32 - 1}, {backend.StatusBit, 1<<32 - 1}} {
		_, _, err := abi.Locate(c.abi, page, c.status)
		assert.ErrorContains(t, err, "outside of the status page", "%+v", c)
	}
}

func TestByteMask(t *testing.T) {
	value := func(order binary.ByteOrder, b []byte) uint64 {
		if len(b) == 4 {
			return uint64(order.Uint32(b))
		}
		return order.Uint64(b)
	}
	for _, bits := range []byte{0x01, 0x10, 0x80, 0xff} {
		for i := range words.Size {
			b := make([]byte, words.Size)
			b[i] = bits
			assert.EqualValues(t, value(binary.LittleEndian, b), abi.ByteMask(false, i, uintptr(bits)), "%d", i)
			assert.EqualValues(t, value(binary.BigEndian, b), abi.ByteMask(true, i, uintptr(bits)), "%d", i)
		}
	}
}

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
