package tracefs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
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

// choose returns the directory that Find prefers.
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
