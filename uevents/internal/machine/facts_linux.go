package machine

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// Facts is what a machine says of itself. Missing files leave fields empty: in a container most of them are not visible.
type Facts struct {
	root string // "/" but for tests

	release, machine string
	bits             int // of this program's words
	user             user
	config           string // CONFIG_USER_EVENTS: "y", "n", or "" if unknown
	configFile       string // where that was read
	tracefsInKernel  bool   // /proc/filesystems lists tracefs
	filesystemsKnown bool
	mounts           []tracefs.Mount // of tracefs and debugfs
	lockdown         string          // "none", "integrity", "confidentiality" or ""
	appArmor         string          // the profile that confines this process, or ""
	maxEvents        string          // sysctl kernel.user_events_max, or ""
	sysctlsKnown     bool            // other sysctls of the kernel can be read
}

// Read reads the facts from the files below root.
func Read(root string) *Facts {
	f := &Facts{root: root, bits: strconv.IntSize}
	f.release, f.machine = sys.Release()
	f.user = currentUser(f.line("proc/self/uid_map"))
	f.readConfig()
	if b, err := sys.ReadFile(f.path("proc/filesystems")); err == nil {
		f.filesystemsKnown = true
		f.tracefsInKernel = slices.Contains(strings.Fields(string(b)), "tracefs")
	}
	f.readMounts()
	f.lockdown = selected(f.line("sys/kernel/security/lockdown"))
	f.appArmor = f.readAppArmor()
	f.maxEvents = f.line("proc/sys/kernel/user_events_max")
	f.sysctlsKnown = f.line("proc/sys/kernel/osrelease") != ""
	return f
}

func (f *Facts) path(name string) string { return filepath.Join(f.root, name) }

// line returns the first line of a small file, or "".
func (f *Facts) line(name string) string {
	b, err := sys.ReadFile(f.path(name))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimRight(string(b), "\x00\n"), "\n")
	return first
}

func (f *Facts) readMounts() {
	r, err := sys.Open(f.path("proc/self/mountinfo"))
	if err != nil {
		return
	}
	defer r.Close()
	all, err := tracefs.ParseMounts(r)
	if err != nil {
		return // as if it could not be read
	}
	for _, m := range all {
		if m.Type == "tracefs" || m.Type == "debugfs" {
			f.mounts = append(f.mounts, m)
		}
	}
}

// DataFiles lists the data files that mounts make visible.
func (f *Facts) DataFiles() []string {
	var files []string
	for _, m := range f.mounts {
		if file, ok := m.DataFile(); ok {
			files = append(files, file)
		}
	}
	return files
}

// tracefsDir returns the directory of a whole tracefs.
func (f *Facts) tracefsDir() (dir string, ok bool) {
	for _, m := range f.mounts {
		if d, ok := m.Tracefs(); ok && m.Type == "tracefs" {
			return d, true
		}
	}
	return "", false
}

// mountPoint returns where what holds the file is mounted, as far as is known: at the file
// itself, or at its directory.
func (f *Facts) mountPoint(file string) string {
	for _, m := range f.mounts {
		if m.Point == file {
			return file
		}
	}
	return filepath.Dir(file)
}

// readConfig looks the option up where distributions put a kernel's configuration.
func (f *Facts) readConfig() {
	for _, name := range []string{"proc/config.gz", "boot/config-" + f.release, "lib/modules/" + f.release + "/config", "usr/lib/kernel/config-" + f.release} {
		r, err := sys.Open(f.path(name))
		if err != nil {
			continue
		}
		value, known := configValue(r, strings.HasSuffix(name, ".gz"))
		r.Close()
		if known {
			f.config, f.configFile = value, "/"+name
			return
		}
	}
}

// configValue returns "y" or "n" for CONFIG_USER_EVENTS. An option that is not mentioned
// does not exist in that kernel, or depends on one that is off.
func configValue(r io.Reader, compressed bool) (value string, known bool) {
	if compressed {
		z, err := gzip.NewReader(r)
		if err != nil {
			return "", false
		}
		r = z
	}
	lines := 0
	s := bufio.NewScanner(r)
	for ; s.Scan(); lines++ {
		if s.Text() == "CONFIG_USER_EVENTS=y" {
			return "y", true
		}
	}
	return "n", s.Err() == nil && lines > 100 // not a truncated or foreign file
}

// withoutSysctl reports whether the kernel lacks the sysctl that all kernels with user_events have since Linux 6.4. Unlike tracefs and
// the kernel's configuration, it can be seen in every container.
func (f *Facts) withoutSysctl() bool {
	var major, minor int
	_, err := fmt.Sscanf(f.release, "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 4) && f.sysctlsKnown && f.maxEvents == ""
}

// readAppArmor returns the profile of a line such as "docker-default (enforce)". Other
// security modules use the second file too, without a mode at the end.
func (f *Facts) readAppArmor() string {
	for _, name := range []string{"proc/self/attr/apparmor/current", "proc/self/attr/current"} {
		if profile, mode, ok := strings.Cut(f.line(name), " ("); ok && mode != "complain)" && mode != "unconfined)" {
			return profile
		}
	}
	return ""
}

// selected returns the bracketed word of a line such as "none [integrity] confidentiality".
func selected(line string) string {
	_, after, _ := strings.Cut(line, "[")
	word, _, _ := strings.Cut(after, "]")
	return word
}

// user is who this process is when the kernel checks permissions.
type user struct {
	uid    int
	groups []int
	// namespaced says that the process is in a user namespace of its own, as in a rootless
	// container. Its root has no permissions on the machine's tracefs.
	namespaced bool
}

func currentUser(uidMap string) user {
	groups, err := os.Getgroups()
	if err != nil {
		groups = nil // then the primary group is all that is known
	}
	return user{
		uid:        os.Geteuid(),
		groups:     append(groups, os.Getegid()),
		namespaced: uidMap != "" && !slices.Equal(strings.Fields(uidMap), []string{"0", "0", "4294967295"}),
	}
}

// may reports whether the mode of a file grants the user the permission bits, 4 to read, 2
// to write and 1 to execute or search, whatever security modules say.
func (u user) may(file fs.FileInfo, bits fs.FileMode) bool {
	if u.uid == 0 && !u.namespaced {
		return true
	}
	owner, ok := file.Sys().(*syscall.Stat_t)
	mode := file.Mode().Perm()
	switch {
	case !ok:
		return false
	case int(owner.Uid) == u.uid:
		mode >>= 6
	case slices.Contains(u.groups, int(owner.Gid)):
		mode >>= 3
	}
	return mode&bits == bits
}

func (u user) String() string {
	if u.namespaced {
		return fmt.Sprintf("user %d of a user namespace", u.uid)
	}
	return fmt.Sprintf("user %d", u.uid)
}
