package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// TestSetupPlan: on a machine with systemd, the printed unit repeats at each start the steps that a restart reverts.
func TestSetupPlan(t *testing.T) {
	var out bytes.Buffer
	e := &env{out: &out, err: io.Discard}
	p := newPlan("nosuchgroup", "/root/go/bin/uevents", "/usr/local/bin/uevents", tracefs.At("/sys/kernel/tracing"), 0o750, false, true)
	require.NoError(t, p.print(e))
	assert.Equal(t, `groupadd -f nosuchgroup                                                                      # survives a restart
install -o root -g nosuchgroup -m 0750 /root/go/bin/uevents /usr/local/bin/uevents           # survives a restart; again after an update
setcap cap_perfmon=ep /usr/local/bin/uevents                                                 # survives a restart; again after an update
mount -o remount,gid=$(getent group nosuchgroup | cut -d: -f3),mode=750 /sys/kernel/tracing  # until the next restart
chmod g+w /sys/kernel/tracing/user_events_data                                               # until the next restart
write /etc/systemd/system/uevents-tracefs.service                                            # survives a restart; does the two lines above at each start
systemctl enable uevents-tracefs.service                                                     # survives a restart

/etc/systemd/system/uevents-tracefs.service:
  # Written by uevents setup nosuchgroup.
  [Unit]
  Description=Let group nosuchgroup read user_events
  After=sys-kernel-tracing.mount
  Requires=sys-kernel-tracing.mount

  [Service]
  Type=oneshot
  RemainAfterExit=yes
  ExecStart=mount -o remount,gid=NUMBER_OF_THE_GROUP,mode=750 /sys/kernel/tracing
  ExecStart=chmod g+w /sys/kernel/tracing/user_events_data

  [Install]
  WantedBy=multi-user.target

not done yet: sudo uevents setup nosuchgroup --apply
`, out.String())

	// The written unit has the number: systemd expands no commands.
	p = newPlan("root", "/usr/local/bin/uevents", "/usr/local/bin/uevents", tracefs.At("/sys/kernel/tracing"), 0o750, false, true)
	assert.Contains(t, p.Steps[6].Content, "\nExecStart=mount -o remount,gid=0,mode=750 /sys/kernel/tracing\n")
	assert.Equal(t, []string{"chown", "root:root", "/usr/local/bin/uevents"}, p.Steps[1].Command, "it is where it should be")

	// Without systemd, the lines ask to repeat them at each start.
	p = newPlan("root", "/usr/local/bin/uevents", "/usr/local/bin/uevents", tracefs.At("/sys/kernel/tracing"), 0o750, false, false)
	assert.Len(t, p.Steps, 6)
	assert.Contains(t, p.Steps[5].Lasts, "have it run at each start")
}

// TestSetupQuotes: paths are words for the shell, and for systemd, whatever is in them.
func TestSetupQuotes(t *testing.T) {
	var out bytes.Buffer
	e := &env{out: &out, err: io.Discard}
	p := newPlan("nosuchgroup", "/home/a b/it's/uevents", "/opt/$(id)/uevents", tracefs.At("/mnt/100% $x \"t"), 0o755, false, true)
	require.NoError(t, p.print(e))
	for _, want := range []string{
		`install -o root -g nosuchgroup -m 0750 '/home/a b/it'\''s/uevents' '/opt/$(id)/uevents' `,
		`setcap cap_perfmon=ep '/opt/$(id)/uevents' `,
		`mount -o remount,gid=$(getent group nosuchgroup | cut -d: -f3),mode=755 '/mnt/100% $x "t' `,
		`  ExecStart=mount -o remount,gid=NUMBER_OF_THE_GROUP,mode=755 "/mnt/100%% $$x \"t"` + "\n",
		`  ExecStart=chmod g+w "/mnt/100%% $$x \"t/user_events_data"` + "\n",
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.Equal(t, "''", shellWord(""))
	assert.Equal(t, `''\'''`, shellWord("'"))
}

// TestSetupStrict: where CAP_PERFMON is not enough, the plan lowers the sysctl, now and at each start.
func TestSetupStrict(t *testing.T) {
	var out bytes.Buffer
	e := &env{out: &out, err: io.Discard}
	for _, systemd := range []bool{false, true} {
		require.NoError(t, newPlan("nosuchgroup", "/a", "/a", tracefs.At("/mnt"), 0o755, true, systemd).print(e))
		assert.Regexp(t, `(?m)^write /etc/sysctl.d/99-uevents.conf +# survives a restart$`, out.String())
		assert.Regexp(t, `(?m)^sysctl -p /etc/sysctl.d/99-uevents.conf +# survives a restart, with that file$`, out.String())
		assert.Contains(t, out.String(), "\n/etc/sysctl.d/99-uevents.conf:\n  kernel.perf_event_paranoid=2\n")
		assert.NotContains(t, out.String(), "ExecStart=sysctl")
		assert.Equal(t, systemd, strings.Contains(out.String(), "\n/etc/systemd/system/uevents-tracefs.service:\n  # Written by"))
		out.Reset()
	}
}

// TestSetupMode: the mode takes no permission from other users.
func TestSetupMode(t *testing.T) {
	path := t.TempDir()
	for before, after := range map[fs.FileMode]fs.FileMode{0o700: 0o750, 0o755: 0o755, 0o711: 0o751} {
		require.NoError(t, os.Chmod(path, before))
		assert.Equal(t, after, modeFor(tracefs.At(path)))
	}
	assert.Equal(t, fs.FileMode(0o750), modeFor(tracefs.At(path+"/nosuch")))
}

// TestDeadInstances: instances of processes that are gone are removed, also if another process has their id now, and none of
// processes that cannot be seen from here.
func TestDeadInstances(t *testing.T) {
	proc, fs := t.TempDir(), t.TempDir()
	own := strconv.Itoa(os.Getpid())
	for pid, start := range map[string]string{own: "300", "7": "100", "8": "200"} {
		require.NoError(t, os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(proc, pid, "stat"), []byte(pid+" (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "+start+" 20\n"), 0o600))
		require.NoError(t, os.Symlink("pid:[42]", filepath.Join(proc, pid, "ns", "pid")))
	}
	require.NoError(t, os.Symlink(own, filepath.Join(proc, "self")))
	name, err := instanceName("hist", proc)
	require.NoError(t, err)
	assert.Equal(t, "uevents_hist_"+own+"_300_42", name)

	dead := []string{"uevents_hist_8_100_42", "uevents_doctor_9_1_42"}
	kept := []string{name, "uevents_hist_7_100_42", "uevents_doctor_7_100_42", "uevents_hist_8_100_43", "uevents_hist_x", "uevents_hist_9_1", "other"}
	for _, name := range append(dead, kept...) {
		require.NoError(t, os.MkdirAll(filepath.Join(fs, "instances", name), 0o700))
	}
	left := func() []string {
		removeDeadInstances(tracefs.At(fs), proc)
		left, err := tracefs.At(fs).Instances()
		require.NoError(t, err)
		return left
	}

	// A container can have the proc of its host, in which other processes have these ids.
	require.NoError(t, os.Remove(filepath.Join(proc, "self")))
	require.NoError(t, os.Symlink("7", filepath.Join(proc, "self")))
	assert.ElementsMatch(t, append(dead, kept...), left())
	require.NoError(t, os.Remove(filepath.Join(proc, "self")))
	require.NoError(t, os.Symlink(own, filepath.Join(proc, "self")))
	assert.ElementsMatch(t, kept, left())

	_, err = instanceName("hist", t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestOwnInstance: the names of a running process's instances say that it runs.
func TestOwnInstance(t *testing.T) {
	if _, err := os.Stat("/proc/self/ns/pid"); err != nil {
		t.Skip("not on this kernel: no namespaces: ", err)
	}
	name, err := instanceName("doctor", "/proc")
	require.NoError(t, err)
	assert.Regexp(t, fmt.Sprintf(`^uevents_doctor_%d_\d+_\d+$`, os.Getpid()), name)
	fs := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(fs, "instances", name), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(fs, "instances", name+"0"), 0o700), "of another namespace")
	removeDeadInstances(tracefs.At(fs), "/proc")
	left, err := tracefs.At(fs).Instances()
	require.NoError(t, err)
	assert.Len(t, left, 2)
}

// TestSetupPaths: only the option of mount gets the number of the group, and only it is for the shell.
func TestSetupPaths(t *testing.T) {
	p := newPlan("root", "/bin/uevents", "/opt/$(getent group root | cut -d: -f3)", tracefs.At("/mnt/NUMBER_OF_THE_GROUP"), 0o750, false, true)
	var lines []string
	for i := range p.Steps {
		lines = append(lines, p.commandLine(&p.Steps[i]))
	}
	all := strings.Join(lines, "\n")
	assert.Contains(t, all, "mount -o remount,gid=0,mode=750 /mnt/NUMBER_OF_THE_GROUP\n")
	assert.Contains(t, all, "setcap cap_perfmon=ep '/opt/$(getent group root | cut -d: -f3)'\n")
}
