package perf_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// childEvents has the names of events for TestChild.
const childEvents = "PERF_TEST_EVENTS"

// TestChild is not a test: it is the tool that other tests run with fewer permissions. It attaches to events, prints
// the results, and reads until it is killed or its input ends.
func TestChild(t *testing.T) {
	names := os.Getenv(childEvents)
	if names == "" {
		return
	}
	fs, err := tracefs.Find()
	require.NoError(t, err)
	s := open(t, fs, nil)
	for name := range strings.FieldsSeq(names) {
		if _, err := s.Attach(name, nil); err != nil {
			fmt.Printf("\nchild: %v\n", err)
			return
		}
	}
	stats := perf.MustStats(t, s)
	fmt.Printf("\nchild: attached, rings of %d KiB\n", stats.BufferSize>>10)
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		assert.NoError(t, s.Stop())
	}()
	n := 0
	for r := (live.Record{}); s.ReadInto(&r) == nil; n++ {
		assert.Positive(t, r.PID)
	}
	fmt.Printf("\nchild: read %d\n", n)
}

// Capabilities, include/uapi/linux/capability.h.
const (
	capDacReadSearch = 2
	capSysAdmin      = 21
	capPerfmon       = 38
)

type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	end   func() // of its input
}

// startChild starts TestChild. Without capabilities it is unprivileged; nil lets it be root.
func startChild(t *testing.T, caps []uintptr, names ...string) *child {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEvents+"="+strings.Join(names, " "))
	if caps != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: caps}
	}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it normally has ended
	return &child{t, cmd, bufio.NewScanner(out), func() { require.NoError(t, in.Close()) }}
}

// says returns the next line of the child.
func (c *child) says() string {
	c.t.Helper()
	for c.lines.Scan() {
		if text, ok := strings.CutPrefix(c.lines.Text(), "child: "); ok {
			return text
		}
	}
	c.t.Fatal("the child says nothing")
	return ""
}

func (c *child) wait() error {
	for c.lines.Scan() {
	}
	return c.cmd.Wait()
}

// sysctl sets a sysctl for the duration of the test.
func sysctl(t *testing.T, name, value string) {
	t.Helper()
	file := "/proc/sys/kernel/" + name
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(value), 0))
	t.Cleanup(func() { assert.NoError(t, os.WriteFile(file, before, 0)) })
}

// TestRights: CAP_PERFMON is sufficient for reading, and where kernel.perf_event_paranoid is above Linux's default, CAP_SYS_ADMIN on
// kernels that ask for it. Without them, the error says which one is missing, and has a remedy.
func TestRights(t *testing.T) {
	kerneltest.Require(t)
	ev := newEvent(t)
	works := func(caps ...uintptr) {
		t.Helper()
		c := startChild(t, append(caps, capDacReadSearch), ev.Name())
		assert.Equal(t, "attached, rings of 512 KiB", c.says())
		write(t, ev, 1, 0)
		c.end()
		assert.Equal(t, "read 1", c.says())
		assert.NoError(t, c.wait())
	}
	refused := func(text string, caps ...uintptr) {
		t.Helper()
		c := startChild(t, append(caps, capDacReadSearch), ev.Name())
		said := c.says()
		assert.Contains(t, said, "perf_event_open: permission denied (")
		assert.Contains(t, said, text)
		assert.NoError(t, c.wait())
		assert.False(t, ev.Enabled())
	}
	for _, paranoid := range []string{"2", "3", "4"} {
		t.Run("paranoid_"+paranoid, func(t *testing.T) {
			sysctl(t, "perf_event_paranoid", paranoid)
			refused("no CAP_PERFMON, and kernel.perf_event_paranoid is " + paranoid + ": sudo setcap cap_perfmon+ep PROGRAM)")
			process := perfaccess.Read() // root
			assert.Equal(t, paranoid, fmt.Sprint(process.Paranoid))
			assert.False(t, process.Namespaced)
			// The kernels of the guests have Debian's sources: 6.12-uml, too.
			require.Equal(t, paranoid == "2", process.PerfmonSuffices())
			if process.PerfmonSuffices() {
				works(capPerfmon)
			} else {
				refused("CAP_PERFMON is not enough: kernel.perf_event_paranoid is "+paranoid+", and above 2 this kernel asks for CAP_SYS_ADMIN", capPerfmon)
			}
			works(capSysAdmin)
		})
	}
	sysctl(t, "perf_event_paranoid", "-1")
	works()

	c := startChild(t, []uintptr{}, ev.Name())
	assert.Contains(t, c.says(), "permission denied (the files of tracefs belong to root by default)")
	assert.NoError(t, c.wait())
}

// TestMemory: rings have the largest size that the kernel allows, which Stats reports.
func TestMemory(t *testing.T) {
	kerneltest.Require(t)
	sysctl(t, "perf_event_paranoid", "2")
	ev := newEvent(t)
	var before syscall.Rlimit
	const memlock = 8 // RLIMIT_MEMLOCK, which package syscall lacks
	require.NoError(t, syscall.Getrlimit(memlock, &before))
	require.NoError(t, syscall.Setrlimit(memlock, &syscall.Rlimit{Cur: 0, Max: before.Max}))
	t.Cleanup(func() { assert.NoError(t, syscall.Setrlimit(memlock, &before)) })
	caps := []uintptr{capDacReadSearch, capPerfmon}
	for mlock, want := range map[string]string{"516": "512", "515": "256", "100": "64", "8": "4"} {
		sysctl(t, "perf_event_mlock_kb", mlock)
		c := startChild(t, caps, ev.Name())
		assert.Equal(t, "attached, rings of "+want+" KiB", c.says())
		c.end()
		assert.NoError(t, c.wait())
	}
	sysctl(t, "perf_event_mlock_kb", "4")
	c := startChild(t, caps, ev.Name())
	text := c.says()
	assert.Contains(t, text, "the kernel refuses the memory of the rings: mmap: operation not permitted")
	assert.Contains(t, text, "kernel.perf_event_mlock_kb")
	assert.NoError(t, c.wait())
}

// TestKilledUnderLoad: a tool is killed while records are written as fast as possible. The program gets no error, sees that
// its event is disabled, and the next tool reads each record.
func TestKilledUnderLoad(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	var stop atomic.Bool
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			for !stop.Load() {
				_, err := ev.WriteRecord(make([]byte, 20))
				assert.NoError(t, err)
				if !ev.Enabled() {
					runtime.Gosched()
				}
			}
		})
	}
	for range testscale.CountConcurrent(10, 3) {
		c := startChild(t, nil, ev.Name())
		c.says()
		before := ev.Stats().Written
		testscale.Eventually(t, func() bool { return ev.Stats().Written > before+100 }, "nothing is written")
		require.NoError(t, c.cmd.Process.Kill())
		assert.Error(t, c.wait())
		testscale.Eventually(t, func() bool { return !ev.Enabled() }, "the kernel does not detach the tool")
	}
	stop.Store(true)
	writing.Wait()
	assert.Zero(t, ev.Stats().Refused)
	s := open(t, fs, nil)
	src := attach(t, s, ev, nil)
	for n := range uint64(100) {
		write(t, ev, n, 0)
	}
	assert.Len(t, flushed(t, s), 100)
	assert.Equal(t, uint64(100), statsOf(t, src).Matched)
}

// TestKilled: the kernel detaches a tool that is killed.
func TestKilled(t *testing.T) {
	fs := kerneltest.Require(t)
	a, b := newEvent(t), newEvent(t)
	c := startChild(t, nil, a.Name(), b.Name())
	c.says()
	write(t, a, 1, 0)
	instances, err := fs.Instances()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Process.Kill())
	assert.Error(t, c.wait())
	testscale.Eventually(t, func() bool { return !a.Enabled() && !b.Enabled() }, "the kernel does not detach the tool")
	for _, name := range []string{a.Name(), b.Name()} {
		tools, exists := usedBy(t, fs, name)
		assert.Empty(t, tools)
		assert.True(t, exists, "its program has it")
	}
	after, err := fs.Instances()
	require.NoError(t, err)
	assert.Equal(t, instances, after)
}

// TestTasks: names, forks and exits of other processes are delivered in order with the samples.
func TestTasks(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{Tasks: true})
	src := attach(t, s, ev, nil)
	write(t, ev, 1, 0)
	cmd := exec.Command("/bin/true")
	if runtime.GOARCH == "arm64" { // a guest that has no programs of the host
		cmd = exec.Command("/proc/self/exe", "-test.run=^$")
	}
	require.NoError(t, cmd.Run())
	write(t, ev, 2, 0)
	require.NoError(t, s.Flush())
	pid := int32(cmd.Process.Pid)
	var kinds []live.Kind
	var comm string
	for r := (live.Record{}); s.ReadInto(&r) == nil; {
		switch {
		case r.Kind == live.Sample:
			assert.Same(t, src, r.Tag)
			kinds = append(kinds, r.Kind)
		case r.PID == pid && r.TID == pid:
			kinds = append(kinds, r.Kind)
			assert.Nil(t, r.Tag)
			assert.Empty(t, r.Raw)
			if r.Kind == live.Fork {
				assert.Equal(t, os.Getpid(), int(r.ParentPID))
			}
			if r.Kind == live.Exec {
				comm = string(r.Comm)
			}
		}
	}
	assert.Equal(t, []live.Kind{live.Sample, live.Fork, live.Exec, live.Exit, live.Sample}, kinds)
	assert.Equal(t, filepath.Base(cmd.Path), comm)
	stats := perf.MustStats(t, s)
	assert.Zero(t, stats.LostTaskRecords)

	small := open(t, fs, &perf.Options{Tasks: true, BufferSize: 1})
	for range 100 {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			close(done)
		}()
		<-done
	}
	testscale.Eventually(t, func() bool {
		stats := perf.MustStats(t, small)
		return stats.LostTaskRecords > 0
	}, "no records of tasks are lost")
}

// mountCgroups returns the root of the cgroups.
func mountCgroups(t *testing.T) string {
	root := t.TempDir()
	require.NoError(t, syscall.Mount("cgroup2", root, "cgroup2", 0, ""))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(root, 0)) })
	// Without any controller, perf events cannot use the cgroup either.
	control := filepath.Join(root, "cgroup.subtree_control")
	require.NoError(t, os.WriteFile(control, []byte("+memory"), 0))
	t.Cleanup(func() { assert.NoError(t, os.WriteFile(control, []byte("-memory"), 0)) })
	return root
}

// TestCgroup: the kernel records only processes of the cgroup.
func TestCgroup(t *testing.T) {
	fs := kerneltest.Require(t)
	root := mountCgroups(t)
	group := filepath.Join(root, "perf-test")
	require.NoError(t, os.Mkdir(group, 0o755))
	t.Cleanup(func() { assert.NoError(t, os.Remove(group)) })
	join := func(dir string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0))
	}
	t.Cleanup(func() { join(root) })

	ev := newEvent(t)
	s := open(t, fs, &perf.Options{Cgroup: group})
	all := open(t, fs, &perf.Options{CgroupID: true})
	src, allSrc := attach(t, s, ev, nil), attach(t, all, ev, nil)
	ids := func() (list []uint64) {
		require.NoError(t, all.Flush())
		for r := (live.Record{}); all.ReadInto(&r) == nil; {
			list = append(list, r.CgroupID)
		}
		return list
	}
	write(t, ev, 1, 0)
	join(group)
	write(t, ev, 2, 0)
	join(root)
	write(t, ev, 3, 0)
	assert.Equal(t, []sample{{src, 2, 0}}, flushed(t, s))
	assert.Equal(t, uint64(1), statsOf(t, src).Matched)
	st, err := os.Stat(group)
	require.NoError(t, err)
	rootSt, err := os.Stat(root)
	require.NoError(t, err)
	inode := func(st os.FileInfo) uint64 { return st.Sys().(*syscall.Stat_t).Ino }
	assert.Equal(t, []uint64{inode(rootSt), inode(st), inode(rootSt)}, ids())
	assert.Equal(t, uint64(3), statsOf(t, allSrc).Matched)
}

// TestCgroupRecords: the kernel says which cgroups are made, in order with the samples of processes that are in them for a moment.
func TestCgroupRecords(t *testing.T) {
	fs := kerneltest.Require(t)
	root := mountCgroups(t)
	join := func(dir string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0))
	}
	ev := newEvent(t)
	s := open(t, fs, &perf.Options{Tasks: true, CgroupID: true})
	attach(t, s, ev, nil)
	inner := filepath.Join(root, "perf-a", "inner")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	join(inner)
	write(t, ev, 1, 0)
	join(root)
	require.NoError(t, os.Remove(inner))
	require.NoError(t, os.Remove(filepath.Dir(inner)))
	require.NoError(t, s.Flush())
	paths := map[uint64]string{}
	for r := (live.Record{}); s.ReadInto(&r) == nil; {
		switch r.Kind {
		case live.Cgroup:
			paths[r.CgroupID] = string(r.CgroupPath)
		case live.Sample:
			assert.Equal(t, "/perf-a/inner", paths[r.CgroupID])
		}
	}
	assert.Len(t, paths, 2)
}
