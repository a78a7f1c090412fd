package tracefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Names and places that the kernel defines.
const (
	// DefaultDir is where the kernel itself mounts tracefs on most systems.
	DefaultDir = "/sys/kernel/tracing"
	// DataFile is the file through which programs register and write events.
	DataFile = "user_events_data"
	// StatusFile lists the events and who traces them.
	StatusFile = "user_events_status"

	dynamicEvents = "dynamic_events"
	mountInfo     = "/proc/self/mountinfo"
)

// FS is a mounted tracefs. Its methods may be called concurrently.
type FS struct{ dir string }

// At returns the tracefs mounted at dir, without checking that it is one.
func At(dir string) *FS { return &FS{dir: dir} }

// Dir returns the directory that tracefs is mounted at.
func (t *FS) Dir() string { return t.dir }

// Path returns the path of a file in tracefs.
func (t *FS) Path(elem ...string) string { return path.Join(append([]string{t.dir}, elem...)...) }

// Find returns the mounted tracefs: [DefaultDir] if it is one, else the first that
// /proc/self/mountinfo lists. The error wraps [fs.ErrNotExist] when none is mounted.
func Find() (*FS, error) {
	f, err := os.Open(mountInfo)
	if err != nil {
		return nil, fmt.Errorf("looking for tracefs: %w", err)
	}
	defer f.Close()
	mounts, err := ParseMounts(f)
	if err != nil {
		return nil, fmt.Errorf("looking for tracefs in %s: %w", mountInfo, err)
	}
	best := ""
	for _, m := range mounts {
		if dir, ok := m.Tracefs(); ok && (best == "" || dir == DefaultDir) {
			best = dir
		}
	}
	if best == "" {
		return nil, fmt.Errorf("tracefs is not mounted (mount -t tracefs nodev %s): %w", DefaultDir, fs.ErrNotExist)
	}
	return At(best), nil
}

// Mount is a line of /proc/self/mountinfo.
type Mount struct {
	Root    string // which part of the file system is mounted, "/" for all of it
	Point   string // where
	Type    string // the file system's type
	Options string // of this mount, such as "rw,nosuid"
}

// Tracefs returns the directory of a whole tracefs that the mount makes visible.
func (m Mount) Tracefs() (dir string, ok bool) {
	switch {
	case m.Type == "tracefs" && m.Root == "/":
		return m.Point, true
	case m.Type == "debugfs" && m.Root == "/":
		return path.Join(m.Point, "tracing"), true
	}
	return "", false
}

// DataFile returns the path of the data file that the mount makes visible. A container may
// have that one file mounted and nothing else.
func (m Mount) DataFile() (file string, ok bool) {
	if m.Type == "tracefs" && m.Root == "/"+DataFile {
		return m.Point, true
	}
	dir, ok := m.Tracefs()
	return path.Join(dir, DataFile), ok
}

// ReadOnly reports whether the mount is read-only.
func (m Mount) ReadOnly() bool {
	for o := range strings.SplitSeq(m.Options, ",") {
		if o == "ro" {
			return true
		}
	}
	return false
}

// ParseMounts parses the format of /proc/self/mountinfo, proc_pid_mountinfo(5).
func ParseMounts(r io.Reader) ([]Mount, error) {
	var mounts []Mount
	s := bufio.NewScanner(r)
	for s.Scan() {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		before, after, ok := strings.Cut(s.Text(), " - ")
		own, fstype := strings.Fields(before), strings.Fields(after)
		if !ok || len(own) < 6 || len(fstype) < 1 {
			return nil, fmt.Errorf("malformed line %q", s.Text())
		}
		mounts = append(mounts, Mount{Root: unescape(own[3]), Point: unescape(own[4]), Options: own[5], Type: fstype[0]})
	}
	return mounts, s.Err()
}

// unescape undoes the octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// exists reports whether a file is there, as far as that can be told: an error other than
// [fs.ErrNotExist] is returned.
func exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
