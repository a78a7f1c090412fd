package uevents_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
)

// nobody is an unprivileged user and group.
const nobody = 65534

func unprivileged() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{nobody}}}
}

// rootless is the root of a user namespace, who is nobody outside.
func rootless() *syscall.SysProcAttr {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: nobody, Size: 1}}
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
		Credential: &syscall.Credential{Uid: 0, Gid: 0, Groups: []uint32{0}},
	}
}

// change gives a file a mode and nobody's group for the duration of the test.
func change(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Chown(path, -1, nobody))
	require.NoError(t, os.Chmod(path, mode))
	t.Cleanup(func() {
		assert.NoError(t, os.Chmod(path, st.Mode().Perm()))
		// Not the group it had: files take after the directory's until they are given one.
		assert.NoError(t, os.Chown(path, -1, 0))
	})
}

func oldKernel(t *testing.T) bool {
	t.Helper()
	r := uevents.Probe(nil)
	require.NoError(t, r.Err)
	return r.ABI != uevents.ABIEnableAddress
}

// TestUnprivileged follows the advice of the errors, step by step, with the least that each
// of them grants.
func TestUnprivileged(t *testing.T) {
	for name, c := range map[string]struct {
		attr       func() *syscall.SysProcAttr
		who, where string
	}{
		"user":           {unprivileged, "user 65534", "(as root: groupadd"},
		"user namespace": {rootless, "user 0 of a user namespace", "(as root outside of the user namespace: groupadd"},
	} {
		t.Run(name, func(t *testing.T) {
			tfs := kerneltest.Require(t)
			dir, data, status := tfs.Path(), tfs.Path(tracefs.DataFile), tfs.Path(tracefs.StatusFile)
			start := func() *child { return startChild(t, childOptions{attr: c.attr()}) }
			start().mustFail("permission=true unsupported=false", dir+" may not be searched by "+c.who, c.where, "chmod g+x "+dir)

			change(t, dir, 0o710) // search, not read
			start().mustFail("permission=true unsupported=false", c.who+" may not write it", c.where, "chmod g+w "+data)

			change(t, data, 0o620) // write, not read
			if oldKernel(t) {
				start().mustFail("permission=true unsupported=false", tracefs.StatusFile+", which must be readable", c.where, "chmod g+r "+status)
				change(t, status, 0o640)
			}
			start().mustWork(tfs)
		})
	}
}

// TestDescriptor hands an open file to a process that may not even see tracefs.
func TestDescriptor(t *testing.T) {
	tfs := kerneltest.Require(t)
	f, err := os.OpenFile(tfs.Path(tracefs.DataFile), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	start := func() *child {
		return startChild(t, childOptions{setup: "descriptor", attr: unprivileged(), files: []*os.File{f}})
	}
	if oldKernel(t) {
		start().mustFail("permission=true unsupported=false", tracefs.StatusFile+", which must be readable", "chmod g+r "+tfs.Path(tracefs.StatusFile))
		change(t, tfs.Path(), 0o710)
		change(t, tfs.Path(tracefs.StatusFile), 0o640)
	}
	start().mustWork(tfs)

	p, err := uevents.Open(&uevents.Options{File: f, Path: "/nonexistent"})
	require.NoError(t, err)
	require.NoError(t, f.Close(), "the provider has its own")
	mustRegister(t, p, newName(), nil)
	assert.NoError(t, p.Close())
}

// TestPassed: a process that may not see tracefs finds a descriptor that was passed to it by name, as systemd does.
func TestPassed(t *testing.T) {
	tfs := kerneltest.Require(t)
	f, err := os.OpenFile(tfs.Path(tracefs.DataFile), os.O_RDWR, 0) // as systemd opens it
	require.NoError(t, err)
	defer f.Close()
	if oldKernel(t) {
		change(t, tfs.Path(), 0o710)
		change(t, tfs.Path(tracefs.StatusFile), 0o640)
	}
	start := func(names string, files ...*os.File) *child {
		env := []string{"LISTEN_FDS=" + strconv.Itoa(len(files)), "LISTEN_FDNAMES=" + names}
		return startChild(t, childOptions{setup: "passed", attr: unprivileged(), env: env, files: files})
	}
	start("user_events", f).mustWork(tfs)
	start("http:user_events_data", os.Stderr, f).mustWork(tfs)
	start("http:user_events", f, os.Stderr).mustFail("permission=false unsupported=false", "descriptor 4 (user_events of LISTEN_FDNAMES)")
	start("http", os.Stderr).mustFail("permission=true unsupported=false", tfs.Path(tracefs.DataFile)) // graceful: none was passed

	// In this process: every provider finds it, none closes it, and programs that it starts do not get it.
	fd := int(f.Fd())
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0)
	require.Zero(t, errno)
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("LISTEN_FDS", strconv.Itoa(fd-2))
	t.Setenv("LISTEN_FDNAMES", strings.Repeat("http:", fd-3)+"user_events")
	t.Setenv(uevents.EnvDataFile, "")
	for range 2 {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		mustRegister(t, p, newName(), nil)
		require.NoError(t, p.Close())
	}
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^flags:\s*0[0-7]*2[0-7]{6}$`, string(info), "O_CLOEXEC")
	r := uevents.Probe(nil)
	require.NoError(t, r.Err)
	assert.Equal(t, tfs.Path(tracefs.DataFile), r.DataFile)
}

// TestBadDescriptors: what is no user_events_data that can be written to is refused at once.
func TestBadDescriptors(t *testing.T) {
	tfs := kerneltest.Require(t)
	open := func(path string, flags int) *os.File {
		f, err := os.OpenFile(path, flags, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() }) // one of them is closed
		return f
	}
	closed := open(tfs.Path(tracefs.DataFile), os.O_WRONLY)
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		file  *os.File
		cause error
		text  string
	}{
		{closed, os.ErrClosed, ""},
		{open(tfs.Path(tracefs.DataFile), os.O_RDONLY), nil, "not open for writing"},
		{open(tfs.Path("trace_marker"), os.O_WRONLY), syscall.ENOTTY, "not a user_events_data"},
		{open(os.DevNull, os.O_WRONLY), syscall.ENOTTY, "not a user_events_data"},
	} {
		before := entries("/proc/self/fd")
		p, err := uevents.Open(&uevents.Options{File: c.file})
		require.Error(t, err, c.file.Name())
		assert.ErrorContains(t, err, "open "+c.file.Name())
		assert.ErrorContains(t, err, c.text)
		assert.NotErrorIs(t, err, uevents.ErrNotSupported)
		if c.cause != nil {
			assert.ErrorIs(t, err, c.cause)
		}
		require.NotNil(t, p)
		assert.NoError(t, p.Close())
		assert.LessOrEqual(t, entries("/proc/self/fd"), before, "nothing stays open")
	}
}

func TestMounts(t *testing.T) {
	tfs := kerneltest.Require(t)
	data := filepath.Join(projectedDir, tracefs.DataFile)
	given := []string{uevents.EnvDataFile + "=" + data}

	startChild(t, childOptions{setup: "read-only"}).mustFail("unsupported=false", "read-only", "mount -o remount,rw "+tfs.Path())
	startChild(t, childOptions{setup: "projected read-only"}).mustFail("unsupported=false", "read-only", "mount -o remount,rw "+data)
	startChild(t, childOptions{setup: "unmounted"}).mustFail("unsupported=false", "not mounted", "mount -t tracefs")

	for _, env := range [][]string{given, nil} { // without, it is found among the mounts
		if oldKernel(t) {
			startChild(t, childOptions{setup: "projected", env: env}).mustFail("unsupported=false",
				data+": ", tracefs.StatusFile+", which must be readable", "mount "+tracefs.StatusFile+" beside "+data)
			startChild(t, childOptions{setup: "projected with status", env: env}).mustWork(tfs)
			continue
		}
		startChild(t, childOptions{setup: "projected", env: env}).mustWork(tfs)
	}
	startChild(t, childOptions{setup: "projected, no proc"}).mustWork(tfs)
}

// TestContainers follows the recipes for containers and pods, whose program is no root, has no capability and no permission on tracefs.
func TestContainers(t *testing.T) {
	tfs := kerneltest.Require(t)
	file := []string{uevents.EnvDataFile + "=" + filepath.Join(projectedDir, tracefs.DataFile)}
	directory := []string{uevents.EnvDataFile + "=" + projectedDir + "/pod"}
	startChild(t, childOptions{setup: "container", env: file}).mustFail("permission=true unsupported=false", "user 1000 may not write it")

	change(t, tfs.Path(tracefs.DataFile), 0o620) // through the mount, it is the same file
	change(t, tfs.Path(tracefs.StatusFile), 0o640)
	startChild(t, childOptions{setup: "container", env: file}).mustWork(tfs)
	startChild(t, childOptions{setup: "pod", env: directory}).mustWork(tfs)

	// On a node without the file, the directory is empty.
	c := startChild(t, childOptions{setup: "container, no files", env: []string{uevents.EnvDataFile + "=" + projectedDir}})
	c.mustFail("permission=false unsupported=false", projectedDir+"/"+tracefs.DataFile+": no such file or directory", "tracefs is not mounted here")
}

func TestOpenPath(t *testing.T) {
	tfs := kerneltest.Require(t)
	for _, path := range []string{tfs.Path(), tfs.Path(tracefs.DataFile)} {
		p, err := uevents.Open(&uevents.Options{Path: path})
		require.NoError(t, err)
		mustRegister(t, p, newName(), nil)
		require.NoError(t, p.Close())
	}
	_, err := uevents.Open(&uevents.Options{Path: tfs.Path("trace_marker")})
	assert.ErrorContains(t, err, "not a user_events_data")
	assert.ErrorIs(t, err, syscall.ENOTTY)
	t.Setenv(uevents.EnvDataFile, "/nonexistent")
	_, err = uevents.Open(nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.NotErrorIs(t, err, uevents.ErrNotSupported, "the file may be elsewhere")
	assert.ErrorContains(t, err, "the file is at "+tfs.Path(tracefs.DataFile))
	p, err := uevents.Open(&uevents.Options{Path: tfs.Path()})
	require.NoError(t, err, "options come first")
	require.NoError(t, p.Close())
}

func TestProbe(t *testing.T) {
	tfs := kerneltest.Require(t)
	st, err := tfs.Status()
	require.NoError(t, err)
	before := entries("/proc/self/fd")
	for range 10 {
		r := uevents.Probe(nil)
		require.NoError(t, r.Err)
		assert.Equal(t, "/sys/kernel/tracing/user_events_data", r.DataFile)
		for _, want := range []string{
			"events: kernel (" + r.ABI.String(), "CONFIG_USER_EVENTS=y (/proc/config.gz)", "/sys/kernel/tracing/user_events_data (rw",
			"/sys/kernel/tracing drwx------ 0:0, /sys/kernel/tracing/user_events_data -rw-r----- 0:0", "user 0, groups", "CAP_PERFMON:   yes",
		} {
			assert.Contains(t, r.String(), want)
		}
	}
	assert.LessOrEqual(t, entries("/proc/self/fd"), before)
	after, err := tfs.Status()
	require.NoError(t, err)
	assert.LessOrEqual(t, after.Active, st.Active, "no event is made")
	r := uevents.Probe(&uevents.Options{Path: "/nonexistent"})
	assert.Error(t, r.Err)
	assert.Empty(t, r.DataFile)
	assert.Equal(t, uevents.ABIUnknown, r.ABI)
	assert.Contains(t, r.String(), "/nonexistent")
	assert.Contains(t, r.String(), "-> the file is at ")
}

// Security modules are chosen at boot: make vm-lsm runs these tests.

// TestLockedDown: such a kernel has a tracefs with nothing in it.
func TestLockedDown(t *testing.T) {
	kerneltest.Guest(t)
	line, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil || !strings.Contains(string(line), "[confidentiality]") {
		t.Skip("not on this kernel: it is not locked down")
	}
	p, err := uevents.Open(nil)
	require.NotNil(t, p)
	assert.ErrorIs(t, err, uevents.ErrNotSupported)
	assert.ErrorContains(t, err, "the kernel is locked down (confidentiality)")
	assert.ErrorContains(t, err, "(boot with lockdown=integrity or without lockdown)")
	ev, err := p.Register(declare(t, "locked_down u8 a"), nil)
	assert.ErrorIs(t, err, uevents.ErrNotSupported)
	assert.False(t, ev.Enabled())
	assert.NoError(t, p.Close())

	r := uevents.Probe(nil)
	assert.ErrorIs(t, r.Err, uevents.ErrNotSupported)
	assert.Contains(t, r.String(), "lockdown:      confidentiality")
	assert.Contains(t, r.String(), "-> no tracing tool can attach: boot with lockdown=integrity")
}

// appArmorProfile is the name in testdata/apparmor/profile.
const appArmorProfile = "userevents-test"

// TestAppArmorProfile: profiles of container runtimes deny writing below /sys, also to what is
// mounted there on purpose.
func TestAppArmorProfile(t *testing.T) {
	tfs := kerneltest.Require(t)
	if on, err := os.ReadFile("/sys/module/apparmor/parameters/enabled"); err != nil || strings.TrimSpace(string(on)) != "Y" {
		t.Skip("not on this kernel: AppArmor is off")
	}
	compiled, err := os.ReadFile("testdata/apparmor/compiled")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("/sys/kernel/security/apparmor/.replace", compiled, 0))
	t.Cleanup(func() {
		assert.NoError(t, os.WriteFile("/sys/kernel/security/apparmor/.remove", []byte(appArmorProfile), 0))
	})

	data := tfs.Path(tracefs.DataFile)
	startChild(t, childOptions{setup: "AppArmor"}).mustFail("permission=true unsupported=false",
		data+": permission denied: the AppArmor profile \""+appArmorProfile+"\" denies it", "mount the file elsewhere", "set "+uevents.EnvDataFile)
	startChild(t, childOptions{setup: "AppArmor, projected"}).mustWork(tfs)
}
