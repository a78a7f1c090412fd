package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/userevents/userevents-go/internal/cgroup"
	"github.com/userevents/userevents-go/internal/sys"
)

// Process is a process of the machine, but no thread of the kernel.
type Process struct {
	PID     int32
	Program string // base name of its program's file, or else Comm; programs choose both
	Comm    string
	cgroup.Names
}

// Processes returns the processes of the machine whose files are below root.
func Processes(root string) []Process {
	s := newSnapshot(root)
	s.readProcesses()
	return s.Processes
}

// readProcesses reads /proc, and adds the containers that processes run in.
func (s *Snapshot) readProcesses() {
	dir := filepath.Join(s.root, "proc")
	list, err := os.ReadDir(dir)
	s.failed(err)
	for _, e := range list {
		pid, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil || pid <= 0 {
			continue
		}
		p := Process{PID: int32(pid)}
		of := filepath.Join(dir, e.Name())
		if p.Program, err = ProgramOf(of); errors.Is(err, fs.ErrNotExist) {
			continue // a thread of the kernel, or it has ended
		}
		p.Comm = commOf(of)
		groups, _ := os.ReadFile(filepath.Join(of, "cgroup"))
		p.Names = cgroup.Parse(string(groups))
		s.Processes = append(s.Processes, p)
		if p.ContainerID != "" {
			s.add(Container{ID: p.ContainerID, PodUID: p.PodUID})
		}
	}
}

// ProgramOf returns the name of the program of a process, whose directory in /proc is given, as records have it. The error says why
// the name is that of the process.
func ProgramOf(dir string) (string, error) {
	exe, err := sys.Executable(dir)
	if err == nil {
		return filepath.Base(exe), nil
	}
	return commOf(dir), err
}

// commOf returns the name of a process, "" if it has ended.
func commOf(dir string) string {
	comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
	return strings.TrimSuffix(string(comm), "\n")
}

// Units returns the systemd units that have processes, sorted, without those that a runtime made for a container.
func (s *Snapshot) Units() (units []string) {
	for _, p := range s.Processes {
		if p.Unit != "" && (p.ContainerID == "" || !strings.Contains(p.Unit, p.ContainerID)) {
			units = append(units, p.Unit)
		}
	}
	slices.Sort(units)
	return slices.Compact(units)
}

// readKubelet reads the names of the kubelet's directories of logs, one for each pod, and of its links to logs, one for each container.
// It has those of any runtime, and keeps those of containers that have ended as long as their logs.
func (s *Snapshot) readKubelet() {
	s.list("/var/log/pods", func(name string, _ func() string) {
		if p, ok := parsePodDir(name); ok {
			s.addPod(p)
		}
	})
	s.list("/var/log/containers", func(name string, target func() string) {
		c, ok := parseLogLink(name)
		if !ok {
			return
		}
		// The link leads to /var/log/pods/NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log.
		if p, ok := parsePodDir(path.Base(path.Dir(path.Dir(target())))); ok && p.Namespace == c.Namespace && p.Name == c.Pod {
			c.PodUID = p.UID
		}
		s.add(c)
	})
}

// list calls f with each name in a directory, and a function that returns where it leads to if it is a link.
func (s *Snapshot) list(dir string, f func(name string, target func() string)) {
	r, err := open(s.place(dir))
	if s.failed(err) || r == nil {
		return
	}
	defer r.Close()
	names, err := s.entries(r)
	s.failed(err)
	for _, e := range names {
		f(e.Name(), func() string {
			target, _ := r.Readlink(e.Name()) // "" leads nowhere
			return target
		})
	}
}

// parsePodDir parses NAMESPACE_POD_UID. Neither namespaces nor pods have underscores in their names.
func parsePodDir(name string) (p Pod, ok bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || !cgroup.IsPodUID(parts[2]) {
		return p, false
	}
	return Pod{parts[0], parts[1], parts[2]}, true
}

// parseLogLink parses POD_NAMESPACE_CONTAINER-ID.log. The kubelet cuts names that are too long for a file system, and the id with them.
func parseLogLink(name string) (c Container, ok bool) {
	name, ok = strings.CutSuffix(name, ".log")
	i := strings.LastIndexByte(name, '-')
	parts := strings.Split(name[:max(i, 0)], "_")
	if !ok || len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" || !cgroup.IsContainerID(name[i+1:]) {
		return c, false
	}
	return Container{ID: name[i+1:], Name: parts[2], Namespace: parts[1], Pod: parts[0]}, true
}

// readStorage reads the lists of containers in a store of podman or CRI-O. Those of podman run --rm are in one of their own.
func (s *Snapshot) readStorage(store string) {
	dir := s.place(filepath.Join(store, "overlay-containers"))
	r, err := open(dir)
	if s.failed(err) || r == nil {
		return
	}
	defer r.Close()
	for _, name := range []string{"containers.json", "volatile-containers.json"} {
		b, err := read(r, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = s.addList(b)
		}
		if err != nil {
			s.failed(fmt.Errorf("%s: %w", filepath.Join(dir, name), err))
		}
	}
}

// addList adds the containers of a JSON array.
func (s *Snapshot) addList(b []byte) error {
	var list []struct {
		ID    string
		Names []string
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, c := range list {
		if cgroup.IsContainerID(c.ID) && len(c.Names) > 0 {
			s.addNamed(c.ID, c.Names[0], "podman")
		}
	}
	return nil
}

// readDocker reads the configurations of docker's containers, each in a directory that has its id for a name.
func (s *Snapshot) readDocker(dir string) {
	r, err := open(s.place(dir))
	if s.failed(err) || r == nil {
		return
	}
	defer r.Close()
	list, err := s.entries(r)
	s.failed(err)
	for _, e := range list {
		if !cgroup.IsContainerID(e.Name()) {
			continue
		}
		name := filepath.Join(e.Name(), "config.v2.json")
		var c struct{ Name string }
		b, err := read(r, name)
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // docker is making or removing it
		case err != nil:
			s.failed(fmt.Errorf("%s: %w", filepath.Join(r.Name(), name), err))
		default:
			s.addNamed(e.Name(), strings.TrimPrefix(c.Name, "/"), "docker")
		}
	}
}

const (
	maxEntries = 10_000   // of a directory: more than the containers that a machine runs
	maxFile    = 16 << 20 // in bytes: the list of as many containers
)

// open opens the directory of a runtime. Links in it cannot lead out of it. It is nil if there is none.
func open(dir string) (*os.Root, error) {
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() { // OpenRoot would wait for the writer of a pipe
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	var r *os.Root
	if err == nil {
		r, err = os.OpenRoot(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

// entries lists the first entries of a directory, and notes if there are more.
func (s *Snapshot) entries(r *os.Root) ([]fs.DirEntry, error) {
	d, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		return nil, nil // it is empty
	}
	if len(list) > maxEntries {
		s.failed(fmt.Errorf("only the first %d entries of %s", maxEntries, r.Name()))
		list = list[:maxEntries]
	}
	return list, err
}

func read(r *os.Root, name string) ([]byte, error) {
	f, err := r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe has no writer to wait for
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", f.Name())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", f.Name(), maxFile)
	}
	return b, err
}
