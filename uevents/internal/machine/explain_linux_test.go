package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/abi"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
)

func openError(path string, errno error) error {
	return &fs.PathError{Op: "open", Path: path, Err: errno}
}

// contract is what an error of Open says about support.
type contract int

const (
	untold       contract = iota // it could not be told
	notSupported                 // conclusively not
	forbidden                    // not for this process
)

func contractOf(err error) contract {
	switch {
	case errors.Is(err, ErrNotSupported):
		return notSupported
	case errors.Is(err, fs.ErrPermission):
		return forbidden
	}
	return untold
}

const (
	usual   = tracefs.DefaultDir + "/" + tracefs.DataFile
	readme  = "sys/kernel/tracing/README"
	data    = "sys/kernel/tracing/user_events_data"
	mounts  = "proc/self/mountinfo"
	tracers = "groupadd -f tracers; chgrp tracers /sys/kernel/tracing /sys/kernel/tracing/user_events_data; " +
		"chmod g+x /sys/kernel/tracing; chmod g+w /sys/kernel/tracing/user_events_data; and run as a member of tracers"
)

// TestWithoutSysctl: since Linux 6.4, the sysctl tells in a container without tracefs and configuration whether the kernel has user_events.
func TestWithoutSysctl(t *testing.T) {
	const known = "proc/sys/kernel/osrelease"
	for _, c := range []struct {
		release string
		files   []string
		without bool
	}{
		{"6.4.0-1", []string{known}, true},
		{"7.0.1", []string{known}, true},
		{"6.3.13", []string{known}, false},
		{"5.15.0-1", []string{known}, false},
		{"unknown", []string{known}, false},
		{"6.12.1", nil, false},
		{"6.12.1", []string{known, "proc/sys/kernel/user_events_max"}, false},
	} {
		m := newMachine(t)
		for _, name := range c.files {
			m.file(name, "1\n")
		}
		f := Read(m.root)
		f.release = c.release
		assert.Equal(t, c.without, f.withoutSysctl(), c)
		_, err := f.Explain(usual, openError(usual, syscall.ENOENT))
		assert.Equal(t, c.without, errors.Is(err, ErrNotSupported), "%v: %v", c, err)
		assert.Equal(t, c.without, !strings.Contains(err.Error(), "tracefs is not mounted"), "%v: %v", c, err)
	}
}

func TestExplain(t *testing.T) {
	release, _ := sys.Release()
	anybody := user{uid: os.Getuid() + 1}
	yes, no := zipped(t, config("CONFIG_USER_EVENTS=y")), zipped(t, config("# CONFIG_USER_EVENTS is not set"))
	hasTracefs := func(m machine) machine { return m.file("proc/filesystems", "nodev\ttracefs\n") }
	for _, c := range []struct {
		name   string
		build  func(machine)
		err    error
		want   contract
		reason string
		remedy string // "": none
	}{
		// Not there.
		{
			"feature not compiled in, by the kernel's configuration",
			func(m machine) { hasTracefs(m).file("proc/config.gz", no).file(mounts, rootMount+tracefsMount) },
			syscall.ENOENT, notSupported, "the kernel " + release + " was built without CONFIG_USER_EVENTS (/proc/config.gz)", "run a kernel that has it",
		},
		{
			"feature not compiled in, by the configuration in /boot",
			func(m machine) { m.file("boot/config-"+release, config("CONFIG_FTRACE=y")) },
			syscall.ENOENT, notSupported, "built without CONFIG_USER_EVENTS (/boot/config-" + release + ")", "run a kernel that has it",
		},
		{
			"feature not compiled in, by the look of tracefs",
			func(m machine) { hasTracefs(m).file(mounts, tracefsMount).file(readme, "") },
			syscall.ENOENT, notSupported, "tracefs is mounted at /sys/kernel/tracing and has no user_events_data", "run a kernel that has it",
		},
		{
			"kernel without tracefs, or none at all: a sandbox",
			func(m machine) { m.file("proc/filesystems", "nodev\tproc\n") },
			syscall.ENOENT, notSupported, "has no tracefs", "CONFIG_USER_EVENTS",
		},
		{
			"tracefs not mounted, the kernel has the feature",
			func(m machine) { hasTracefs(m).file("proc/config.gz", yes).file(mounts, rootMount) },
			syscall.ENOENT, untold, "tracefs is not mounted here", "mount -t tracefs nodev /sys/kernel/tracing; in a container, mount the host's user_events_data",
		},
		{
			"tracefs not mounted, nothing known: a container",
			func(m machine) { hasTracefs(m).file(mounts, rootMount) },
			syscall.ENOENT, untold, "tracefs is not mounted here, so it cannot be told", "set USER_EVENTS_DATA or Options.Path",
		},
		{
			"only debugfs mounted", func(m machine) { hasTracefs(m).file(mounts, rootMount+debugfsMount) },
			syscall.ENOENT, untold, "tracefs is not mounted here", "mount -t tracefs nodev /sys/kernel/tracing",
		},
		{"nothing readable at all", func(machine) {}, syscall.ENOENT, untold, "cannot be told", EnvDataFile},
		{
			"a container with only the projected file",
			func(m machine) { hasTracefs(m).file(mounts, rootMount+fileMount) },
			syscall.ENOENT, untold, "tracefs is not mounted here", "USER_EVENTS_DATA",
		},
		{
			"wrong path, the file is elsewhere",
			func(m machine) { m.file(mounts, tracefsMount).file(readme, "").file(data, "") },
			syscall.ENOENT, untold, "no such file there", "the file is at " + usual + ": set USER_EVENTS_DATA",
		},
		{
			"wrong path, a part of it is a file",
			func(m machine) {
				m.file("proc/config.gz", yes).file(mounts, tracefsMount).file(readme, "").file(data, "")
			},
			syscall.ENOTDIR, untold, "no such file there", "the file is at " + usual,
		},
		{
			"the kernel has it, tracefs has not",
			func(m machine) { m.file("proc/config.gz", yes).file(mounts, tracefsMount).file(readme, "") },
			syscall.ENOENT, untold, "the kernel has user_events, but /sys/kernel/tracing has no user_events_data to be seen", "set USER_EVENTS_DATA",
		},
		{
			"tracefs that may not be looked into, or something mounted above it",
			func(m machine) { hasTracefs(m).file(mounts, tracefsMount).dir("sys/kernel/tracing", 0o700) },
			syscall.ENOENT, untold, "/sys/kernel/tracing may not be searched, so it cannot be told", tracers,
		},

		// Locked down.
		{
			"locked down at boot",
			func(m machine) {
				m.file("sys/kernel/security/lockdown", "none integrity [confidentiality]\n").file("proc/config.gz", yes).file(mounts, tracefsMount)
			},
			syscall.ENOENT, notSupported, "locked down (confidentiality)", "lockdown=integrity",
		},
		{
			"integrity is no obstacle",
			func(m machine) {
				m.file("sys/kernel/security/lockdown", "none [integrity] confidentiality\n").fileMode(data, "", 0o640)
			},
			syscall.EACCES, forbidden, "may not write it", tracers,
		},

		// Not allowed.
		{
			"no permission on the directory", func(m machine) { m.dir("sys/kernel/tracing", 0o700) },
			syscall.EACCES, forbidden, "/sys/kernel/tracing may not be searched by " + anybody.String(), "as root: " + tracers,
		},
		{
			"no permission to see that there is no such file",
			func(m machine) { m.dir("sys/kernel/tracing", 0o700).file("proc/config.gz", no) },
			syscall.EACCES, notSupported, "the kernel " + release + " was built without CONFIG_USER_EVENTS (/proc/config.gz)", "run a kernel that has it",
		},
		{
			"no permission on a directory above", func(machine) {},
			syscall.EACCES, forbidden, "/sys/kernel/tracing may not be searched by", tracers,
		},
		{
			"no permission on the file", func(m machine) { m.fileMode(data, "", 0o640) },
			syscall.EACCES, forbidden, anybody.String() + " may not write it", "as root: " + tracers,
		},
		{
			"no permission, in a rootless container", func(m machine) { m.fileMode(data, "", 0o640).file("proc/self/uid_map", "0 1000 1") },
			syscall.EACCES, forbidden, "of a user namespace may not write it", "as root outside of the user namespace: " + tracers,
		},
		{
			"no permission, with an AppArmor profile that has nothing to do with it",
			func(m machine) {
				m.file("proc/self/attr/apparmor/current", "docker-default (enforce)\n").fileMode(data, "", 0o640)
			},
			syscall.EACCES, forbidden, "may not write it", tracers,
		},
		{
			"AppArmor",
			func(m machine) {
				m.file("proc/self/attr/apparmor/current", "docker-default (enforce)\n").fileMode(data, "", 0o662)
			},
			syscall.EACCES, forbidden, `the AppArmor profile "docker-default" denies it`, "mount the file elsewhere, such as /run/user_events/user_events_data, and set USER_EVENTS_DATA",
		},
		{
			"AppArmor does not even let us look",
			func(m machine) {
				m.file("proc/self/attr/current", "strict (enforce)\n").dir("sys/kernel/tracing", 0o711)
			},
			syscall.EACCES, forbidden, `the AppArmor profile "strict" denies it`, "mount the file elsewhere",
		},
		{
			"another security module", func(m machine) { m.fileMode(data, "", 0o662) },
			syscall.EACCES, forbidden, "a security module of the kernel denies it", "mount the file elsewhere",
		},

		// Kernels before 6.4 need the status file as well.
		{
			"status not readable", func(m machine) { m.fileMode(data, "", 0o662) },
			&abi.StatusError{Path: tracefs.DefaultDir + "/user_events_status", Err: syscall.EACCES}, forbidden,
			"user_events_status, which must be readable: permission denied",
			"chgrp tracers /sys/kernel/tracing /sys/kernel/tracing/user_events_status; chmod g+x /sys/kernel/tracing; chmod g+r /sys/kernel/tracing/user_events_status; and run",
		},
		{
			"status not there", func(m machine) { hasTracefs(m).file(mounts, fileMount) },
			&abi.StatusError{Path: "/run/ue/user_events_status", Err: syscall.ENOENT}, untold,
			"user_events_status, which must be readable: no such file", "mount user_events_status beside " + usual,
		},
		{
			"status not understood", func(machine) {},
			&abi.StatusError{Path: "/run/ue/user_events_status", Err: syscall.EIO}, untold, "input/output error", "",
		},

		// The rest.
		{"read-only tracefs", func(m machine) { m.file(mounts, tracefsMount) }, syscall.EROFS, untold, "read-only", "mount -o remount,rw /sys/kernel/tracing"},
		{
			"read-only file", func(m machine) { m.file(mounts, strings.ReplaceAll(fileMount, "/run/ue/user_events_data", usual)) },
			syscall.EROFS, untold, "read-only", "mount -o remount,rw " + usual,
		},
		{"a foreign file", func(machine) {}, syscall.ENOTTY, untold, "not a user_events_data", "name the file user_events_data in tracefs"},
		{"anything else", func(machine) {}, syscall.EIO, untold, "input/output error", ""},
		{"no descriptors left", func(machine) {}, syscall.EMFILE, untold, "too many open files", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			c.build(m)
			f := Read(m.root)
			f.user.uid, f.user.groups = anybody.uid, anybody.groups
			cause := c.err
			if _, ok := c.err.(syscall.Errno); ok { //nolint:errorlint // the bare errnos of this table
				cause = openError(usual, c.err)
			}
			remedy, err := f.Explain(usual, cause)
			assert.Equal(t, c.want, contractOf(err), "%v", err)
			assert.ErrorIs(t, err, c.err, "the cause stays reachable")
			assert.ErrorContains(t, err, c.reason)
			assert.Contains(t, remedy, c.remedy)
			assert.Equal(t, c.remedy == "", remedy == "", "%q", remedy)
			assert.NotContains(t, err.Error(), "open "+usual, "the caller says it")
		})
	}
}

// TestExplain32Bit: the kernel has no such call for 32-bit programs.
func TestExplain32Bit(t *testing.T) {
	for _, c := range []struct {
		bits    int
		machine string
		want    contract
	}{
		{32, "x86_64", notSupported},
		{32, "aarch64", notSupported},
		{32, "i686", untold},
		{32, "armv7l", untold},
		{64, "x86_64", untold},
	} {
		f := Read(t.TempDir())
		f.bits, f.machine = c.bits, c.machine
		remedy, err := f.Explain(usual, syscall.ENOTTY)
		assert.Equal(t, c.want, contractOf(err), "%d bits on %s: %v", c.bits, c.machine, err)
		assert.ErrorIs(t, err, syscall.ENOTTY)
		if c.want == notSupported {
			assert.ErrorContains(t, err, "32-bit programs on a 64-bit kernel")
			assert.Contains(t, remedy, "build the program for the machine's own architecture")
		}
	}
}

func TestExplainUnusualPath(t *testing.T) {
	const path = "/run/ue/user_events_data"
	f := Read(newMachine(t).file("proc/self/attr/apparmor/current", "mine (enforce)\n").fileMode(path, "", 0o662).root)
	remedy, err := f.Explain(path, openError(path, syscall.EACCES))
	assert.ErrorContains(t, err, `"mine" denies it`)
	assert.Contains(t, remedy, "allow writing "+path)
	assert.NotContains(t, err.Error()+remedy, "/sys")
}

func TestWithoutPath(t *testing.T) {
	assert.Equal(t, syscall.EIO, withoutPath(openError("a", syscall.EIO), "a"))
	other := openError("b", syscall.EIO)
	assert.Equal(t, other, withoutPath(other, "a"))
	wrapped := fmt.Errorf("x: %w", openError("a", syscall.EIO))
	assert.Equal(t, wrapped, withoutPath(wrapped, "a"))
}
