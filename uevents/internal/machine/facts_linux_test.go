package machine

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// machine builds the files that facts are read from.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T) machine { return machine{t, t.TempDir()} }

func (m machine) file(name, content string) machine { return m.fileMode(name, content, 0o644) }

func (m machine) fileMode(name, content string, mode fs.FileMode) machine {
	path := filepath.Join(m.root, name)
	m.dir(filepath.Dir(name), 0o755)
	require.NoError(m.t, os.WriteFile(path, []byte(content), mode))
	require.NoError(m.t, os.Chmod(path, mode)) // whatever the umask
	return m
}

func (m machine) dir(name string, mode fs.FileMode) machine {
	path := filepath.Join(m.root, name)
	require.NoError(m.t, os.MkdirAll(path, 0o755))
	require.NoError(m.t, os.Chmod(path, mode))
	return m
}

// Files that machines have in common.
const (
	rootMount    = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	tracefsMount = "25 20 0:24 / /sys/kernel/tracing rw,nosuid shared:5 - tracefs tracefs rw\n"
	debugfsMount = "26 20 0:7 / /sys/kernel/debug rw - debugfs debugfs rw\n"
	fileMount    = "30 20 0:24 /user_events_data /run/ue/user_events_data rw - tracefs tracefs rw\n"
	allIDs       = "         0          0 4294967295\n"
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

// print prints the findings as package uevents does.
func print(f *Facts) string {
	var b strings.Builder
	for _, found := range f.Findings() {
		fmt.Fprintf(&b, "%-14s %s\n -> %s\n", found.What+":", found.Result, found.Remedy)
	}
	return b.String()
}

func TestFacts(t *testing.T) {
	m := newMachine(t).
		file("proc/self/mountinfo", rootMount+fileMount+tracefsMount+debugfsMount).
		file("proc/sys/kernel/user_events_max", "32768\n").
		file("sys/kernel/security/lockdown", "[none] integrity confidentiality\n").
		file("proc/self/attr/current", "unconfined\n").
		file("proc/self/uid_map", allIDs).
		file("proc/filesystems", "nodev\ttracefs\nnodev\tdebugfs\n\text4\n").
		fileMode("sys/kernel/tracing/user_events_data", "", 0o640)
	f := Read(m.root)
	assert.Equal(t, []string{"/run/ue/user_events_data", "/sys/kernel/tracing/user_events_data", "/sys/kernel/debug/tracing/user_events_data"}, f.DataFiles())
	dir, ok := f.tracefsDir()
	assert.Equal(t, tracefs.DefaultDir, dir)
	assert.True(t, ok)
	assert.Equal(t, "/run/ue/user_events_data", f.mountPoint("/run/ue/user_events_data"))
	assert.Equal(t, "/sys/kernel/tracing", f.mountPoint("/sys/kernel/tracing/user_events_data"))
	assert.Equal(t, "none", f.lockdown)
	assert.True(t, f.filesystemsKnown)
	assert.True(t, f.tracefsInKernel)
	assert.Equal(t, "32768", f.maxEvents)
	assert.Equal(t, os.Geteuid(), f.user.uid)
	assert.Contains(t, f.user.groups, os.Getegid())
	assert.False(t, f.user.namespaced)
	release, arch := sys.Release()
	assert.Equal(t, release, f.release)
	assert.Equal(t, arch, f.machine)

	text := print(f)
	for _, want := range []string{
		release, "/run/ue/user_events_data (rw)", "/sys/kernel/tracing drwxr-xr-x", "user_events_data -rw-r-----",
		"/sys/kernel/tracing/user_events_status: no such file", "lockdown:      none", "AppArmor:      none", "32768", f.user.String(),
	} {
		assert.Contains(t, text, want)
	}
}

// TestFactsOfNothing: in a container, or with an unreadable /proc, there may be no fact.
func TestFactsOfNothing(t *testing.T) {
	for name, m := range map[string]machine{
		"empty":             newMachine(t),
		"proc is no folder": newMachine(t).file("proc", "").file("sys", ""),
		"folders for files": newMachine(t).dir("proc/self/mountinfo", 0o755).dir("proc/filesystems", 0o755).dir("proc/config.gz", 0o755),
		"malformed":         newMachine(t).file("proc/self/mountinfo", tracefsMount+"what is this\n").file("proc/config.gz", "not compressed"),
	} {
		t.Run(name, func(t *testing.T) {
			f := Read(m.root)
			assert.Empty(t, f.mounts)
			assert.Empty(t, f.DataFiles())
			assert.Empty(t, f.config)
			assert.False(t, f.filesystemsKnown)
			assert.Empty(t, f.lockdown+f.appArmor+f.maxEvents)
			assert.False(t, f.user.namespaced)
			_, ok := f.tracefsDir()
			assert.False(t, ok)
			text := print(f)
			assert.Contains(t, text, "configuration: unknown")
			assert.Contains(t, text, "mounts:        none")
			assert.Contains(t, text, "permissions:   none")
		})
	}
}

func TestConfig(t *testing.T) {
	release, _ := sys.Release()
	yes, no, unset := config("CONFIG_USER_EVENTS=y"), config("# CONFIG_USER_EVENTS is not set"), config("")
	boot, modules, usr := "boot/config-"+release, "lib/modules/"+release+"/config", "usr/lib/kernel/config-"+release
	for _, c := range []struct {
		name        string
		files       map[string]string
		value, file string
	}{
		{"none", nil, "", ""},
		{"the kernel's own", map[string]string{"proc/config.gz": zipped(t, yes)}, "y", "/proc/config.gz"},
		{"not set", map[string]string{"proc/config.gz": zipped(t, no)}, "n", "/proc/config.gz"},
		{"not mentioned", map[string]string{boot: unset}, "n", "/" + boot},
		{"Debian's place", map[string]string{boot: yes}, "y", "/" + boot},
		{"Fedora's place", map[string]string{modules: no}, "n", "/" + modules},
		{"Clear Linux's place", map[string]string{usr: yes}, "y", "/" + usr},
		{"the kernel's own comes first", map[string]string{"proc/config.gz": zipped(t, yes), boot: no}, "y", "/proc/config.gz"},
		{"another kernel's", map[string]string{"boot/config-0.0.1": yes}, "", ""},
		{"not compressed", map[string]string{"proc/config.gz": no, boot: yes}, "y", "/" + boot},
		{"cut short", map[string]string{"proc/config.gz": zipped(t, no)[:20]}, "", ""},
		{"foreign", map[string]string{boot: "see /proc/config.gz\n"}, "", ""},
		{"foreign, but it says so", map[string]string{boot: "CONFIG_USER_EVENTS=y\n"}, "y", "/" + boot},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			for name, content := range c.files {
				m.file(name, content)
			}
			f := Read(m.root)
			assert.Equal(t, c.value, f.config)
			assert.Equal(t, c.file, f.configFile)
		})
	}
}

func TestAppArmor(t *testing.T) {
	const ours, shared = "proc/self/attr/apparmor/current", "proc/self/attr/current"
	for _, c := range []struct{ name, file, line, want string }{
		{"Docker", ours, "docker-default (enforce)\n", "docker-default"},
		{"containerd, before 5.8", shared, "cri-containerd.apparmor.d (enforce)\n", "cri-containerd.apparmor.d"},
		{"nested", ours, "a//b (kill)\n", "a//b"},
		{"only complains", ours, "docker-default (complain)\n", ""},
		{"unconfined", ours, "unconfined\n", ""},
		{"profile in unconfined mode", ours, "chrome (unconfined)\n", ""},
		{"SELinux", shared, "system_u:system_r:container_t:s0:c1,c2\x00", ""},
		{"empty", ours, "", ""},
	} {
		assert.Equal(t, c.want, Read(newMachine(t).file(c.file, c.line).root).appArmor, c.name)
	}
}

func TestLockdown(t *testing.T) {
	for line, want := range map[string]string{
		"[none] integrity confidentiality\n": "none",
		"none [integrity] confidentiality\n": "integrity",
		"none integrity [confidentiality]\n": confidentiality,
		"none integrity confidentiality\n":   "",
		"\n":                                 "",
	} {
		f := Read(newMachine(t).file("sys/kernel/security/lockdown", line).root)
		assert.Equal(t, want, f.lockdown, "%q", line)
		text := print(f)
		assert.Equal(t, want == confidentiality, strings.Contains(text, "-> no tracing tool can attach: boot with lockdown=integrity"), text)
	}
}

func TestUserNamespace(t *testing.T) {
	for uidMap, want := range map[string]bool{
		"":                                   false, // cannot be told
		allIDs:                               false,
		"         0       1000          1\n": true,
		"         0     100000      65536\n": true,
		"         0          0 4294967294\n": true,
		"         0       1000          1\n         1     100000 65536": true,
	} {
		u := Read(newMachine(t).file("proc/self/uid_map", uidMap).root).user
		assert.Equal(t, want, u.namespaced, "%q", uidMap)
		assert.Equal(t, want, strings.Contains(u.String(), "namespace"))
	}
}

func TestUserMay(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	stranger := uid + 1
	// The namespace takes away what root may always do.
	owner := user{uid: uid, namespaced: true}
	for _, c := range []struct {
		name    string
		user    user
		mode    fs.FileMode
		granted fs.FileMode
	}{
		{"root", user{uid: 0}, 0o000, 7},
		{"root of a user namespace", user{uid: stranger, namespaced: true}, 0o770, 0},
		{"owner", owner, 0o420, 4},
		{"owner, although the group may more", user{uid: uid, namespaced: true, groups: []int{gid}}, 0o170, 1},
		{"group", user{uid: stranger, groups: []int{gid + 1, gid}}, 0o720, 2},
		{"group, although others may more", user{uid: stranger, groups: []int{gid}}, 0o707, 0},
		{"others", user{uid: stranger, groups: []int{gid + 1}}, 0o705, 5},
		{"nobody", user{uid: stranger}, 0o770, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := os.Stat(filepath.Join(newMachine(t).fileMode("file", "", c.mode).root, "file"))
			require.NoError(t, err)
			for _, bit := range []fs.FileMode{1, 2, 4} {
				assert.Equal(t, c.granted&bit != 0, c.user.may(st, bit), "%o", bit)
			}
			assert.Equal(t, c.granted == 7, c.user.may(st, 7))
		})
	}
}

// FuzzConfig: a kernel configuration says yes only by a line of its own, and nothing if it is cut or foreign.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(config("CONFIG_USER_EVENTS=y")), false)
	f.Add([]byte(config("# CONFIG_USER_EVENTS is not set")), false)
	f.Add([]byte("\x1f\x8b\x08\x00"), true)
	f.Fuzz(func(t *testing.T, b []byte, compressed bool) {
		value, known := configValue(bytes.NewReader(b), compressed)
		if !compressed && value == "y" {
			require.Contains(t, string(b), "CONFIG_USER_EVENTS=y")
		}
		require.False(t, known && value != "y" && value != "n", value)
	})
}
