// Package tracefs reads and controls events through the kernel's tracing file system: it lists, creates and removes user
// events, enables events of any system, filters them, and reads their records as text.
//
//	dir, err := tracefs.Find()
//	i, err := dir.NewInstance("mytool")           // ring buffers of its own
//	defer i.Remove()
//	ev := i.Event("myapp_request")                // or "user_events_multi:myapp_request.0"
//	err = ev.SetFilter(`status >= 500`)
//	err = ev.Enable()
//	text, err := os.ReadFile(i.Path("trace"))     // the records so far
//
// A [Dir] is a mounted tracefs, an [Instance] a set of ring buffers with enabled events, an [Event] a tracepoint as
// an instance sees it. The files belong to root by default; errors wrap [fs.ErrPermission], [fs.ErrNotExist] and the
// kernel's errno, and name the file.
//
// Programs that only publish events need neither this package nor these permissions: see
// package uevents. This package is for tools, tests and collectors.
//
// The files are described in the kernel's Documentation/trace/user_events.rst,
// Documentation/trace/events.rst and Documentation/trace/ftrace.rst.
package tracefs

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Names and places that the kernel defines.
const (
	// DefaultDir is where the kernel itself mounts tracefs on most systems.
	DefaultDir = "/sys/kernel/tracing"
	// DataFile is the file through which programs register and write events.
	DataFile = "user_events_data"
	// StatusFile lists the events, and for each the kinds of tracing tools attached to it.
	StatusFile = "user_events_status"

	dynamicEvents = "dynamic_events"
	mountInfo     = "/proc/self/mountinfo"
)

// Dir is the directory that tracefs is mounted at. Its methods may be called concurrently.
type Dir struct{ path string }

// At returns the tracefs mounted at path, without checking that it is one.
func At(path string) *Dir { return &Dir{path: path} }

// Path returns the path of a file in tracefs; without elements, that of the directory.
func (d *Dir) Path(elem ...string) string { return path.Join(append([]string{d.path}, elem...)...) }

// Find returns the mounted tracefs: [DefaultDir] if it is one, else the first that
// /proc/self/mountinfo lists, else the one that debugfs mounts in itself. The error wraps
// [fs.ErrNotExist] when none is mounted.
func Find() (*Dir, error) {
	f, err := os.Open(mountInfo)
	if err != nil {
		return nil, fmt.Errorf("looking for tracefs: %w", err)
	}
	defer f.Close()
	mounts, err := ParseMounts(f)
	if err != nil {
		return nil, fmt.Errorf("looking for tracefs in %s: %w", mountInfo, err)
	}
	dir, ok := choose(mounts)
	if !ok {
		return nil, fmt.Errorf("tracefs is not mounted (mount -t tracefs nodev %s): %w", DefaultDir, fs.ErrNotExist)
	}
	return At(dir), nil
}

func choose(mounts []Mount) (best string, ok bool) {
	inDebugfs := ""
	for _, m := range mounts {
		dir, whole := m.Tracefs()
		switch {
		case !whole:
		case dir == DefaultDir:
			return dir, true
		case m.Type == debugfs:
			inDebugfs = dir
		case best == "":
			best = dir
		}
	}
	if best == "" {
		best = inDebugfs
	}
	return best, best != ""
}

// Types of file systems.
const (
	tracefs = "tracefs"
	debugfs = "debugfs"
)

// maxMountLine is the longest line that ParseMounts takes, in bytes. Overlay mounts of many
// layers have long ones.
const maxMountLine = 16 << 20

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
	case m.Root != "/":
		return "", false
	case m.Type == tracefs:
		return m.Point, true
	case m.Type == debugfs:
		return path.Join(m.Point, "tracing"), true
	}
	return "", false
}

// DataFile returns the path of the data file that the mount makes visible. A container may
// have that one file mounted and nothing else.
func (m Mount) DataFile() (file string, ok bool) {
	if m.Type == tracefs && m.Root == "/"+DataFile {
		return m.Point, true
	}
	if dir, ok := m.Tracefs(); ok {
		return path.Join(dir, DataFile), true
	}
	return "", false
}

// ParseMounts parses the format of /proc/self/mountinfo, proc_pid_mountinfo(5). On
// error it returns nil.
func ParseMounts(r io.Reader) ([]Mount, error) {
	var mounts []Mount
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxMountLine)
	for s.Scan() {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		before, after, ok := strings.Cut(s.Text(), " - ")
		own := strings.Split(before, " ") // other white space may be part of a path
		fstype, _, _ := strings.Cut(after, " ")
		if !ok || len(own) < 6 || slices.Contains(own, "") || fstype == "" {
			return nil, fmt.Errorf("malformed line %q", s.Text())
		}
		mounts = append(mounts, Mount{Root: unescape(own[3]), Point: unescape(own[4]), Options: own[5], Type: fstype})
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return mounts, nil
}

// unescape undoes the octal escapes of space, tab, newline, backslash and number sign.
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
