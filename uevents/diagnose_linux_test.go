package uevents

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
)

// machine builds the files that facts are read from.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T) machine { return machine{t, t.TempDir()} }

func (m machine) file(name, content string) machine {
	path := filepath.Join(m.root, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(content), 0o644))
	return m
}

const (
	tracefsMount = "25 20 0:24 / /sys/kernel/tracing rw,nosuid shared:5 - tracefs tracefs rw\n"
	otherMount   = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	fileMount    = "30 20 0:24 /user_events_data /run/ue/user_events_data rw - tracefs tracefs rw\n"
)

// config returns a kernel configuration of a plausible length.
func config(option string) string {
	return strings.Repeat("CONFIG_OTHER=y\n", 200) + option + "\n"
}

func zipped(t *testing.T, s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(s))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func openError(path string, errno error) error {
	return &fs.PathError{Op: "open", Path: path, Err: errno}
}

func TestDiagnose(t *testing.T) {
	release, _ := sys.Release()
	const usual = "/sys/kernel/tracing/user_events_data"
	cases := []struct {
		name        string
		build       func(machine)
		err         error
		unsupported bool // errors.Is(err, ErrNotSupported)
		reason      string
		remedy      string
	}{
		{
			"feature not compiled in, configuration in /proc",
			func(m machine) {
				m.file("proc/config.gz", zipped(t, config("# CONFIG_USER_EVENTS is not set"))).file("proc/self/mountinfo", otherMount+tracefsMount)
			},
			syscall.ENOENT, true, "built without CONFIG_USER_EVENTS (/proc/config.gz)", "run a kernel that has it",
		},
		{
			"feature not compiled in, configuration in /boot",
			func(m machine) { m.file("boot/config-"+release, config("CONFIG_FTRACE=y")) },
			syscall.ENOENT, true, "built without CONFIG_USER_EVENTS (/boot/config-", "run a kernel that has it",
		},
		{
			"feature not compiled in, by the look of tracefs",
			func(m machine) {
				m.file("proc/filesystems", "nodev\ttracefs\n").file("proc/self/mountinfo", tracefsMount).file("sys/kernel/tracing/README", "")
			},
			syscall.ENOENT, true, "has no user_events_data", "run a kernel that has it",
		},
		{
			"kernel without tracefs",
			func(m machine) { m.file("proc/filesystems", "nodev\tproc\n") },
			syscall.ENOENT, true, "has no tracefs", "CONFIG_USER_EVENTS",
		},
		{
			"tracefs not mounted, kernel has the feature",
			func(m machine) {
				m.file("boot/config-"+release, config("CONFIG_USER_EVENTS=y")).file("proc/filesystems", "nodev\ttracefs\n").file("proc/self/mountinfo", otherMount)
			},
			syscall.ENOENT, false, "tracefs is not mounted here", "mount -t tracefs nodev /sys/kernel/tracing",
		},
		{
			"tracefs not mounted, nothing known: a container",
			func(m machine) { m.file("proc/self/mountinfo", otherMount) },
			syscall.ENOENT, false, "cannot be told", EnvDataFile,
		},
		{"nothing readable at all", func(machine) {}, syscall.ENOENT, false, "cannot be told", EnvDataFile},
		{
			"wrong path, the file is elsewhere",
			func(m machine) {
				m.file("proc/self/mountinfo", tracefsMount).file("sys/kernel/tracing/README", "").file("sys/kernel/tracing/user_events_data", "")
			},
			syscall.ENOENT, false, "no such file there", "the file is at " + usual,
		},
		{
			"locked down",
			func(m machine) {
				m.file("sys/kernel/security/lockdown", "none integrity [confidentiality]\n").file("proc/self/mountinfo", tracefsMount)
			},
			syscall.ENOENT, true, "locked down", "lockdown=integrity",
		},
		{
			"locked down after boot",
			func(m machine) { m.file("sys/kernel/security/lockdown", "none integrity [confidentiality]\n") },
			syscall.EPERM, true, "locked down", "lockdown=integrity",
		},
		{
			"AppArmor",
			func(m machine) {
				m.file("proc/self/attr/apparmor/current", "docker-default (enforce)\n").file("sys/kernel/tracing/user_events_data", "")
			},
			syscall.EACCES, false, `AppArmor profile "docker-default"`, "set " + EnvDataFile,
		},
		{
			"no permission on the file",
			func(m machine) { m.file("sys/kernel/tracing/user_events_data", "") },
			syscall.EACCES, false, "may not write it", "chmod g+w",
		},
		{"no permission on the directory", func(machine) {}, syscall.EACCES, false, "may not be searched", "chmod g+x"},
		{"read-only", func(machine) {}, syscall.EROFS, false, "read-only", "remount,rw"},
		{"a foreign file", func(machine) {}, syscall.ENOTTY, false, "not a user_events_data", "name the file"},
		{"anything else", func(machine) {}, syscall.EIO, false, "input/output error", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			c.build(m)
			err := explain(usual, openError(usual, c.err), readFacts(m.root))
			assert.Equal(t, c.unsupported, errors.Is(err, ErrNotSupported), "%v", err)
			assert.ErrorIs(t, err, c.err, "the errno stays reachable")
			assert.ErrorContains(t, err, c.reason)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Contains(t, e.Remedy, c.remedy)
			assert.Equal(t, c.remedy == "", e.Remedy == "")
			assert.Equal(t, 1, strings.Count(err.Error(), "open "+usual), "said once: %v", err)
		})
	}
}

func TestPermissionIsTold(t *testing.T) {
	err := explain("/x", openError("/x", syscall.EACCES), readFacts(t.TempDir()))
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.NotErrorIs(t, err, ErrNotSupported)
}

func TestFacts(t *testing.T) {
	m := newMachine(t).
		file("proc/self/mountinfo", otherMount+fileMount+tracefsMount+"26 20 0:7 / /sys/kernel/debug rw - debugfs debugfs rw\n").
		file("proc/sys/kernel/user_events_max", "32768\n").
		file("sys/kernel/security/lockdown", "[none] integrity confidentiality\n").
		file("proc/self/attr/current", "unconfined\n").
		file("proc/config.gz", "not compressed").
		file("proc/filesystems", "nodev\ttracefs\nnodev\tdebugfs\n")
	f := readFacts(m.root)
	assert.Equal(t, []string{"/run/ue/user_events_data", "/sys/kernel/tracing/user_events_data", "/sys/kernel/debug/tracing/user_events_data"}, f.dataFiles())
	assert.Equal(t, "none", f.lockdown)
	assert.Empty(t, f.appArmor)
	assert.Empty(t, f.config, "a file that cannot be read says nothing")
	assert.True(t, f.tracefsInKernel)
	text := (&Report{Findings: f.findings()}).String()
	assert.Contains(t, text, "/run/ue/user_events_data (rw)")
	assert.Contains(t, text, "32768")
	assert.Empty(t, readFacts(newMachine(t).file("proc/config.gz", zipped(t, "short")).root).config, "a truncated configuration says nothing")
}

func TestMostTelling(t *testing.T) {
	missing, denied := openError("a", syscall.ENOENT), openError("b", syscall.EACCES)
	assert.Equal(t, denied, mostTelling([]error{missing, denied}))
	assert.Equal(t, missing, mostTelling([]error{missing, ErrNotSupported}))
}
