package reader

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/cgroup"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
)

const (
	maxCgroups     = 8192    // of a generation
	maxCgroupBytes = 4 << 20 // of its paths
	maxCgroupDepth = 32      // of the directories that are looked through
	walkInterval   = 30 * time.Second
)

// cgroupPath returns the path that /proc/PID/cgroup has for the directory of a cgroup, such as /system.slice/myapp.service.
func cgroupPath(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("there is no cgroup %s: %w", dir, fs.ErrInvalid)
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("finding the cgroup %s: %w", dir, err)
	}
	defer f.Close()
	mounts, err := tracefs.ParseMounts(f)
	if err != nil {
		return "", fmt.Errorf("finding the cgroup %s: %w", dir, err)
	}
	path, ok := pathIn(mounts, real)
	if !ok {
		return "", fmt.Errorf("%s is no cgroup, which is a directory such as /sys/fs/cgroup/system.slice: %w", dir, fs.ErrInvalid)
	}
	return path, nil
}

func pathIn(mounts []tracefs.Mount, dir string) (path string, ok bool) {
	var of tracefs.Mount
	for _, m := range mounts {
		if (m.Type == "cgroup" || m.Type == "cgroup2") && within(dir, m.Point) && len(m.Point) >= len(of.Point) {
			of = m
		}
	}
	return cmp.Or(strings.TrimSuffix(of.Root, "/")+strings.TrimPrefix(dir, of.Point), "/"), of.Point != ""
}

func within(path, dir string) bool {
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (below == "" || below[0] == '/')
}

// cgroups knows the paths of cgroups by the ids that the kernel's records have: those that exist at the start from their directories,
// and later ones from records, also of cgroups that exist for a moment. It keeps those that were used last.
type cgroups struct {
	root     string // directory of their hierarchy; "" if there is none to see
	new, old map[uint64]string
	bytes    int       // of the paths in new
	walkAt   time.Time // when the directories may be looked through again
}

// cgroupRoots are the directories in which the hierarchy is that has the controller perf_event: with version 1, a mix of both, version 2.
var cgroupRoots = []string{"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"}

func newCgroups() *cgroups {
	c := &cgroups{new: map[uint64]string{}}
	if i := slices.IndexFunc(cgroupRoots, sys.CgroupRoot); i >= 0 {
		c.root = cgroupRoots[i]
	}
	return c
}

func (c *cgroups) add(id uint64, path string) {
	if c.bytes += len(path); len(c.new) >= maxCgroups || c.bytes > maxCgroupBytes {
		c.new, c.old, c.bytes = map[uint64]string{}, c.new, len(path)
	}
	c.new[id] = path
}

// pathOf returns the path of a cgroup, or "" if it is not known.
func (c *cgroups) pathOf(id uint64) string {
	path, ok := c.new[id]
	if !ok {
		if path, ok = c.old[id]; !ok && c.walk(time.Now()) {
			path, ok = c.new[id]
		}
		if ok {
			c.add(id, path)
		}
	}
	return path
}

// walk looks through the directories, unless it has done so a moment ago: records of new cgroups can get lost.
func (c *cgroups) walk(now time.Time) bool {
	if c.root == "" || now.Before(c.walkAt) {
		return false
	}
	left := maxCgroups
	c.walkDir("", maxCgroupDepth, &left)
	c.walkAt = time.Now().Add(walkInterval)
	return true
}

func (c *cgroups) walkDir(path string, depth int, left *int) {
	dir := filepath.Join(c.root, path)
	id := sys.Inode(dir)
	if id == 0 || depth == 0 || *left == 0 {
		return
	}
	*left--
	c.add(id, "/"+strings.TrimPrefix(path, "/"))
	entries, _ := os.ReadDir(dir) // it may be gone
	for _, e := range entries {
		if e.IsDir() {
			c.walkDir(path+"/"+e.Name(), depth-1, left)
		}
	}
}

// follow reads the cgroups that exist, if records have the ids of cgroups.
func (p *processes) follow(c *cgroups) {
	p.cgroups = c
	c.walk(time.Now())
}

// in notes that a process wrote a record in the cgroup with an id. What /proc says is of another moment, and of processes that have ended
// it is what their parents are in.
func (p *processes) in(t *task, id uint64) {
	t.cgroup = id
	path := p.cgroups.pathOf(id)
	if t.read && (path == "" || mayBeInside(&t.Process, path)) {
		return
	}
	var n cgroup.Names // none is better than those of the parent
	if path != "" {
		n = cgroup.Parse("0::" + path + "\n")
	}
	now := record.Process{Cgroup: n.Path, Unit: n.Unit, ContainerID: n.ContainerID, PodUID: n.PodUID}
	if now.Cgroup != t.Cgroup {
		t.setCgroup(now)
		t.shared = nil
	}
}

// mayBeInside reports whether the cgroup of a process, as /proc has it, is one of which the kernel's records may have the path: the kernel
// names the nearest one above that has controllers. In a cgroup namespace, /proc has paths from the one of this process.
func mayBeInside(p *record.Process, path string) bool {
	if within(p.Cgroup, path) {
		return true
	}
	if p.Cgroup != "/" && !strings.HasPrefix(p.Cgroup, "/..") {
		return false
	}
	n := cgroup.Parse("0::" + path + "\n")
	return n.ContainerID == "" && n.PodUID == "" || n.ContainerID != "" && strings.Contains(p.Cgroup, n.ContainerID)
}

func (p *processes) made(r *live.Record) {
	if p.cgroups != nil {
		p.cgroups.add(r.CgroupID, string(r.CgroupPath))
	}
}
