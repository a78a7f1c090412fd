package sys

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openDummy opens an event of this machine that counts nothing, on CPU 0.
func openDummy(t *testing.T, a PerfAttr) int {
	t.Helper()
	fd, err := OpenPerf(a, 0, -1)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSYS) {
		t.Skip("only in a guest: this machine refuses perf events")
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, Close(fd)) })
	return fd
}

// TestPerf uses what needs no tracepoint. Package internal/perf tests the rest.
func TestPerf(t *testing.T) {
	fd, other := openDummy(t, PerfAttr{Tasks: true}), openDummy(t, PerfAttr{})
	assert.True(t, closedOnExec(t, fd))
	size := os.Getpagesize()
	_, err := MapPerf(fd, 3*size, false)
	assert.ErrorIs(t, err, unix.EINVAL)
	ring, err := MapPerf(fd, size, false)
	require.NoError(t, err)
	assert.Len(t, ring.Data, size)
	assert.Zero(t, ring.Head.Load())
	ring.Tail.Store(0) // it is writable
	assert.ErrorIs(t, SetPerfOutput(fd, other), unix.EINVAL, "it has a ring of its own")
	require.NoError(t, SetPerfOutput(other, fd))
	require.NoError(t, EnablePerf(fd, true))
	// The kernel's clock may advance by a tick of 4 ms at a time.
	for enabled := uint64(0); enabled == 0; runtime.Gosched() {
		counts, err := ReadPerf(fd)
		require.NoError(t, err)
		enabled = counts.Enabled
	}
	require.NoError(t, EnablePerf(fd, false))
	assert.ErrorIs(t, SetPerfFilter(fd, "a == 1"), unix.EINVAL, "no tracepoint")
	assert.ErrorIs(t, SetPerfFilter(fd, "a\x00"), unix.EINVAL)
	counts, err := ReadPerf(fd)
	require.NoError(t, err)
	otherCounts, err := ReadPerf(other)
	require.NoError(t, err)
	assert.NotEqual(t, counts.ID, otherCounts.ID)
	assert.Zero(t, counts.Matched)
	require.NoError(t, ring.Unmap())
	assert.Error(t, ring.Unmap())

	backward := openDummy(t, PerfAttr{Backward: true})
	ring, err = MapPerf(backward, size, true)
	require.NoError(t, err)
	require.NoError(t, ring.Unmap())

	_, err = ReadPerf(-1)
	assert.ErrorIs(t, err, unix.EBADF)
	assert.ErrorIs(t, EnablePerf(-1, true), unix.EBADF)
	_, err = OpenPerf(PerfAttr{Tracepoint: 1 << 40}, 0, -1)
	assert.Error(t, err)
	_, err = OpenPerf(PerfAttr{}, 1<<20, -1)
	assert.Error(t, err)
}

func TestPoller(t *testing.T) {
	p, err := NewPoller()
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()
	r, w := pipe(t)
	require.NoError(t, p.Add(r))
	assert.ErrorIs(t, p.Add(r), unix.EEXIST)
	assert.ErrorIs(t, p.Add(-1), unix.EBADF)
	// The runtime's signals end a Wait early, though not all of ten.
	lasts := func() bool {
		for range 10 {
			start := time.Now()
			require.NoError(t, p.Wait(20))
			if time.Since(start) >= 15*time.Millisecond { //nolint:forbidigo // a lower bound
				return true
			}
		}
		return false
	}
	assert.True(t, lasts())
	const forever = -1
	require.NoError(t, p.Wake())
	require.NoError(t, p.Wake())
	require.NoError(t, p.Wait(forever), "it was woken before")
	assert.True(t, lasts(), "one Wait takes all that woke it")
	_, err = unix.Write(w, []byte("x"))
	require.NoError(t, err)
	require.NoError(t, p.Wait(forever))
}

// uptime returns CLOCK_BOOTTIME in nanoseconds, rounded down to hundredths of seconds.
func uptime(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/uptime")
	require.NoError(t, err)
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	require.NoError(t, err)
	return int64(seconds * 1e9)
}

func TestClocks(t *testing.T) {
	before := time.Now()
	mono, wall := Clocks()
	assert.WithinRange(t, time.Unix(0, wall), before.Round(0), time.Now().Round(0))
	later, _ := Clocks()
	assert.Positive(t, mono)
	const skew = int64(time.Millisecond) // between the clocks of processors of a guest that has just booted
	assert.Greater(t, later, mono-skew)
	mono, boot := BootClocks()
	assert.Greater(t, mono, later-skew)
	assert.Greater(t, boot, mono-skew)
	least := uptime(t)
	_, boot = BootClocks()
	assert.GreaterOrEqual(t, boot, least-skew)
	assert.GreaterOrEqual(t, uptime(t)+int64(10*time.Millisecond), boot-skew)
}

func TestFiles(t *testing.T) {
	n, err := MaxFiles()
	require.NoError(t, err)
	limits, err := os.ReadFile("/proc/self/limits")
	require.NoError(t, err)
	_, line, ok := strings.Cut(string(limits), "Max open files")
	require.True(t, ok)
	if soft := strings.Fields(line)[0]; soft != "unlimited" {
		want, err := strconv.Atoi(soft)
		require.NoError(t, err)
		assert.Equal(t, min(want, 1<<30), n)
	}
	dir := t.TempDir()
	assert.NotZero(t, Inode(dir))
	assert.Zero(t, Inode(dir+"/nothing"))
	fd, err := OpenDir(dir)
	require.NoError(t, err)
	assert.True(t, closedOnExec(t, fd))
	require.NoError(t, Close(fd))
	_, err = OpenDir("/proc/self/limits")
	assert.ErrorIs(t, err, unix.ENOTDIR)
}
