package perf_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/testscale"
)

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
	var kinds []perf.Kind
	var comm string
	for r := (perf.Record{}); s.ReadInto(&r) == nil; {
		switch {
		case r.Kind == perf.Sample:
			assert.Same(t, src, r.Source)
			kinds = append(kinds, r.Kind)
		case r.PID == pid && r.TID == pid:
			kinds = append(kinds, r.Kind)
			assert.Nil(t, r.Source)
			assert.Empty(t, r.Payload())
			if r.Kind == perf.Fork {
				assert.Equal(t, os.Getpid(), int(r.ParentPID))
			}
			if r.Kind == perf.Exec {
				comm = string(r.Comm)
			}
		}
	}
	assert.Equal(t, []perf.Kind{perf.Sample, perf.Fork, perf.Exec, perf.Exit, perf.Sample}, kinds)
	assert.Equal(t, filepath.Base(cmd.Path), comm)
	stats, err := s.Stats()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, stats.TaskRecords, uint64(3))
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
		stats, err := small.Stats()
		require.NoError(t, err)
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
		for r := (perf.Record{}); all.ReadInto(&r) == nil; {
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
	for r := (perf.Record{}); s.ReadInto(&r) == nil; {
		switch r.Kind {
		case perf.Cgroup:
			paths[r.CgroupID] = string(r.CgroupPath)
		case perf.Sample:
			assert.Equal(t, "/perf-a/inner", paths[r.CgroupID])
		}
	}
	assert.Len(t, paths, 2)
}

// TestKind: kinds have names.
func TestKind(t *testing.T) {
	var b bytes.Buffer
	for k := range perf.Cgroup + 2 {
		b.WriteString(k.String() + " ")
	}
	assert.Equal(t, "unknown sample comm exec fork exit cgroup unknown ", b.String())
}
