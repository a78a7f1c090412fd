package workload

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
