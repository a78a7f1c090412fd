package symbols

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecorded: a recording's process has nothing of the one with its number on this machine, and of many processes those
// that were used last are kept.
func TestRecorded(t *testing.T) {
	self := int32(os.Getpid())
	live := New().Mappings(self)
	require.NotEmpty(t, live, "this process has mappings")
	addr := live[0].Start + 1

	table := NewRecorded()
	assert.Equal(t, []Frame{{Addr: addr}}, table.appendFrames(nil, self, []uint64{addr}))
	assert.Empty(t, table.Mappings(self))
	m := Mapping{Start: 4096, End: 8192, Path: "/nonexistent"}
	table.Map(self, m)
	assert.Equal(t, []Mapping{m}, table.Mappings(self))
	table.Forget(self)
	assert.Empty(t, table.Mappings(self))

	// The first process has mappings all the time, as it is used.
	table.Map(1, m)
	for pid := range int32(3 * maxRecorded) {
		table.Map(pid+2, m)
		if pid%1000 == 0 {
			require.Equal(t, []Mapping{m}, table.Mappings(1))
			require.Equal(t, []Mapping{m}, table.Mappings(max(pid+2-maxRecorded/2, 2)), "half of the limit is always kept")
		}
	}
	assert.LessOrEqual(t, len(table.processes), maxRecorded)
}

// TestUsed: Map is a use, so that the processes without one are forgotten first.
func TestUsed(t *testing.T) {
	table := New()
	m, other := Mapping{Start: 4096, End: 8192, Path: "/nonexistent"}, Mapping{Start: 8192, End: 9000, Path: "/other"}
	table.Map(-1, other)
	for pid := range int32(4 * maxProcesses) {
		table.Map(-pid-2, m)
		table.Map(-1, m)
		require.Equal(t, []Mapping{m, other}, table.processes[-1].mappings)
	}
	assert.LessOrEqual(t, len(table.processes), maxProcesses)
}

// TestInherit: a child has the mappings that its parent had.
func TestInherit(t *testing.T) {
	table := NewRecorded()
	first, second, third := Mapping{Start: 4096, End: 8192, Path: "/a"}, Mapping{Start: 8192, End: 9000, Path: "/b"}, Mapping{Start: 4096, End: 5000, Path: "/c"}
	table.Map(1, first)
	table.Map(1, second)
	table.Inherit(2, 1)
	table.Inherit(1, 1)
	table.Map(2, third)
	table.Forget(1)
	assert.Equal(t, []Mapping{third, second}, table.Mappings(2))
	table.Map(1, first)
	table.Inherit(3, 1)
	table.Map(1, second)
	assert.Equal(t, []Mapping{first}, table.Mappings(3))
	table.Inherit(3, 99)
	assert.Empty(t, table.Mappings(3), "the number has another process now")
}

// TestMappedBytes: processes that inherit many mappings, or have long paths, do not take more memory than the limit.
func TestMappedBytes(t *testing.T) {
	table := NewRecorded()
	for i := range uint64(maxMappings) {
		table.Map(1, Mapping{Start: i * 16, End: i*16 + 8, Path: "/" + strings.Repeat("d", 100)})
	}
	for pid := range int32(1000) {
		table.Inherit(pid+2, 1)
		require.LessOrEqual(t, table.mapped, maxMapped)
		require.Len(t, table.Mappings(pid+2), maxMappings)
	}
	for pid := range int32(1002) {
		table.Forget(pid)
	}
	assert.Zero(t, table.mapped)

	table.Map(1, Mapping{Start: 4096, End: 8192})
	passes := 0 // over all processes, each of which removes an eighth
	for pid := range int32(4 * maxRecorded) {
		before := len(table.processes)
		if table.Inherit(pid+2, 1); len(table.processes) <= before {
			passes++
		}
	}
	assert.LessOrEqual(t, passes, 4*8)
	assert.LessOrEqual(t, len(table.processes), maxRecorded)
}

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
