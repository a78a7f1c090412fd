package reader

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
)

// withCgroups returns processes with a directory of cgroups, and a function that makes one and returns its id.
func withCgroups(t *testing.T) (*processes, fakeProc, func(path string) uint64) {
	proc, root := fakeProc{t, t.TempDir()}, t.TempDir()
	p := newProcesses(proc.dir)
	p.follow(&cgroups{root: root, new: map[uint64]string{}})
	p.cgroups.walkAt = time.Time{}
	return p, proc, func(path string) uint64 {
		require.NoError(t, os.MkdirAll(filepath.Join(root, path), 0o700))
		return sys.Inode(filepath.Join(root, path))
	}
}

// writes is a record of a process in a cgroup.
func (p *processes) writes(pid int32, cgroup uint64) record.Process {
	task := p.get(pid)
	p.in(task, cgroup)
	return *task.at(0, p.contexts)
}

// TestCgroupOfRecord: a process is in the cgroup in which it wrote, and not in that of its parent, also if it has ended before its record is
// read, and its cgroup is gone.
func TestCgroupOfRecord(t *testing.T) {
	p, proc, makeCgroup := withCgroups(t)
	proc.add(100, "runtime", "/usr/bin/runtime", "/system.slice/runtime.service")
	before := makeCgroup(inPod(id1))
	assert.Equal(t, "runtime.service", p.at(100, 0).Unit)
	p.update(fork(100, 101))
	p.update(fork(100, 102))
	p.update(fork(100, 103))
	assert.Equal(t, podProcess(101, "runtime", "/usr/bin/runtime", id1), p.writes(101, before), "one that exists")

	p.update(&live.Record{Kind: live.Cgroup, CgroupID: 1 << 40, CgroupPath: []byte(inPod(id2))})
	p.update(exec(102, "short"))
	assert.Equal(t, podProcess(102, "short", "", id2), p.writes(102, 1<<40), "one that was made and removed")

	unknown := p.writes(103, 1<<41)
	assert.Empty(t, unknown.Cgroup+unknown.ContainerID+unknown.Unit, "no cgroup is better than that of another process")

	// One that runs, and has moved since /proc was read.
	proc.add(200, "moves", "/moves", "/system.slice/runtime.service")
	assert.Equal(t, "/system.slice/runtime.service", p.at(200, 0).Cgroup)
	assert.Equal(t, id1, p.writes(200, before).ContainerID)
	p.update(exec(200, "moves"))
	assert.Equal(t, "/system.slice/runtime.service", p.at(200, 0).Cgroup, "/proc is read again")
	assert.Equal(t, id1, p.writes(200, before).ContainerID)

	// A process of another PID namespace.
	assert.Equal(t, id1, p.writes(0, before).ContainerID)
}

// TestCgroupAbove: perf names a cgroup above that of the process if it has no controllers. A reader in a cgroup namespace sees other paths.
func TestCgroupAbove(t *testing.T) {
	for _, c := range []struct {
		proc, kernel string
		want         bool
	}{
		{inPod(id1), inPod(id1), true},
		{inPod(id1) + "/app", inPod(id1), true},
		{inPod(id1), "/kubepods.slice", true},
		{inPod(id1), "/", true},
		{"/a", "/ab", false},
		{"/ab", "/a", false},
		{inPod(id1), inPod(id2), false},
		{"/../crio-" + id1 + ".scope", inPod(id1), true},
		{"/../crio-" + id1 + ".scope", inPod(id2), false},
		{"/../crio-" + id1 + ".scope", "/kubepods.slice", true},
		{"/", inPod(id1), false},
		{"", inPod(id1), false},
	} {
		assert.Equal(t, c.want, mayBeInside(&record.Process{Cgroup: c.proc}, c.kernel), c)
	}
}

// TestCgroupsLimit: programs that make cgroups take a limited memory, and those in use stay known.
func TestCgroupsLimit(t *testing.T) {
	c := &cgroups{new: map[uint64]string{}}
	c.add(1, "/used")
	for i := range uint64(3 * maxCgroups) {
		c.add(2+i, fmt.Sprintf("/made/%d", i))
		require.LessOrEqual(t, len(c.new)+len(c.old), 2*maxCgroups)
		if i%1000 == 0 {
			require.Equal(t, "/used", c.pathOf(1))
		}
	}
	long := make([]byte, 4095)
	for i := range uint64(3 * maxCgroupBytes / len(long)) {
		c.add(1<<32+i, string(long))
	}
	bytes := 0
	for _, m := range []map[uint64]string{c.new, c.old} {
		for _, path := range m {
			bytes += len(path)
		}
	}
	assert.LessOrEqual(t, bytes, 2*maxCgroupBytes)
	assert.Empty(t, c.pathOf(1))
}

// TestCgroupsWalk: unknown ids do not make the reader look through the directories all the time.
func TestCgroupsWalk(t *testing.T) {
	p, _, makeCgroup := withCgroups(t)
	assert.Empty(t, p.cgroups.pathOf(1<<50))
	late := makeCgroup("/late")
	assert.Empty(t, p.cgroups.pathOf(late))
	assert.False(t, p.cgroups.walk(p.cgroups.walkAt.Add(-1)))
	p.cgroups.walkAt = time.Time{}
	assert.Equal(t, "/late", p.cgroups.pathOf(late))
	assert.Equal(t, "/", p.cgroups.pathOf(sys.Inode(p.cgroups.root)))
}

// TestCgroupPath: a directory selects processes by their paths, also where a part of the hierarchy is mounted.
func TestCgroupPath(t *testing.T) {
	mounts := []tracefs.Mount{
		{Root: "/", Point: "/sys/fs/cgroup", Type: "tmpfs"},
		{Root: "/", Point: "/sys/fs/cgroup", Type: "cgroup2"},
		{Root: "/", Point: "/sys/fs/cgroup/perf_event", Type: "cgroup"},
		{Root: "/..", Point: "/host", Type: "cgroup2"},
	}
	for _, c := range []struct {
		dir, path   string
		in, outside []string
	}{
		{"/sys/fs/cgroup", "/", []string{"", "/", "/a", "/a/b"}, nil},
		{"/sys/fs/cgroup/a/b", "/a/b", []string{"/a/b", "/a/b/c"}, []string{"/", "/a", "/b", "/a/bc", "/x/a/b"}},
		{"/sys/fs/cgroup/perf_event/a", "/a", []string{"/a"}, []string{"/perf_event/a"}},
		{"/host", "/..", []string{"/..", "/../other"}, []string{"/..x"}},
		{"/host/other", "/../other", []string{"/../other/c"}, []string{"/other"}},
	} {
		path, ok := pathIn(mounts, c.dir)
		assert.True(t, ok, c.dir)
		assert.Equal(t, c.path, path, c.dir)
		for _, cgroup := range c.in {
			assert.True(t, within(cgroup, path), "%s in %s", cgroup, c.dir)
		}
		for _, cgroup := range c.outside {
			assert.False(t, within(cgroup, path), "%s in %s", cgroup, c.dir)
		}
	}
	_, ok := pathIn(mounts, "/sys/fs/cgroups")
	assert.False(t, ok)
	_, err := Open(&Options{Selection: Selection{Events: []string{"*"}}, Cgroup: t.TempDir()})
	assert.ErrorIs(t, err, fs.ErrInvalid)
}

// TestProcessContextWaits: processes that let the kernel wait keep a few goroutines until they end, and no caller. The files of these here have no
// other end.
func TestProcessContextWaits(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	for pid := int32(100); pid < 100+maxWaiting; pid++ {
		proc.add(pid, "hostile", "/hostile", "/")
		require.NoError(t, syscall.Mkfifo(filepath.Join(proc.dir, strconv.Itoa(int(pid)), "maps"), 0o600))
	}
	proc.add(200, "myapp", "/myapp", "/")
	proc.publish(200, "service.name=shop")
	c := newContexts(proc.dir)
	patience = time.Microsecond
	t.Cleanup(func() { patience = testscale.Patience })
	for n := range maxWaiting {
		testscale.Eventually(t, func() bool { // the time before was spent for the last one
			assert.Empty(t, c.of(100+int32(n)))
			return len(c.waiting) > n
		}, "a process is not looked at")
	}
	c.waits, patience = allowance{}, testscale.Patience
	assert.Empty(t, c.of(200), "no other goroutine may wait")

	for pid := int32(100); pid < 100+maxWaiting; pid++ { // they end
		w, err := os.OpenFile(filepath.Join(proc.dir, strconv.Itoa(int(pid)), "maps"), os.O_WRONLY, 0)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	testscale.Eventually(t, func() bool { return len(c.waiting) == 0 }, "goroutines are left")
	assert.Equal(t, "shop", c.of(200).service)
}
