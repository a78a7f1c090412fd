package reader

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/uevents/perf"
)

// Process is a process that wrote records. It does not change: a process that runs another program has another
// Process from then on. Names are text of programs, as they are: escape them before they reach a terminal.
type Process struct {
	PID    int32
	Comm   string // its name, of up to 15 bytes; empty if it is not known
	Exe    string // path of its program in its own file system; empty if it is not known, also for want of permission
	Cgroup string // path of its cgroup, such as /system.slice/myapp.service; empty if it is not known
	// ContainerID is the id that docker, containerd, CRI-O or podman gave its container; empty if it is in none.
	ContainerID string
}

const (
	maxProcesses = 32768 // that are known at a time
	maxExited    = 4096  // the part of them that have exited, whose last records may not have been read
	maxAncestors = 16    // that are asked for what a process inherited
)

// processes knows the processes of a machine from the records of tasks, and from /proc what these do not tell. It is
// not safe for concurrent use.
type processes struct {
	proc   string // the directory /proc
	known  map[int32]*task
	exited []int32 // in order of time
}

// task is a process, as far as it is known.
type task struct {
	Process

	parent int32 // 0 if it is not known
	looked bool  // in /proc, for what no record tells
	ended  bool
	shared *Process // what callers have of it; nil after a change
}

func newProcesses(proc string) *processes {
	return &processes{proc: proc, known: map[int32]*task{}}
}

// readAll reads /proc for all processes that run: they may be gone when their records are read.
func (p *processes) readAll() {
	entries, err := os.ReadDir(p.proc)
	if err != nil {
		return // what is not known stays empty
	}
	for _, e := range entries {
		if pid, err := strconv.ParseInt(e.Name(), 10, 32); err == nil && pid > 0 && len(p.known) < maxProcesses/2 {
			t := p.task(int32(pid))
			t.looked = p.read(t)
		}
	}
}

// get returns what is known of a process. It reads /proc once for each.
func (p *processes) get(pid int32) *Process {
	t := p.resolve(pid, 0)
	if t.shared == nil {
		shared := t.Process
		t.shared = &shared
	}
	return t.shared
}

// resolve looks into /proc for a process. One that is gone has inherited what its parent has.
func (p *processes) resolve(pid int32, depth int) *task {
	t := p.task(pid)
	if t.looked {
		return t
	}
	t.looked = true
	if p.read(t) || t.parent == 0 || depth == maxAncestors {
		return t
	}
	parent := p.resolve(t.parent, depth+1)
	if t.Comm == "" { // otherwise it was told that it runs a program of its own
		t.Comm, t.Exe = parent.Comm, parent.Exe
	}
	t.Cgroup, t.ContainerID = parent.Cgroup, parent.ContainerID
	return t
}

// task returns the entry of a process, which may be new.
func (p *processes) task(pid int32) *task {
	t := p.known[pid]
	if t == nil {
		if len(p.known) >= maxProcesses {
			// Records of exits were lost, or there are very many processes: begin again, /proc has those that run.
			clear(p.known)
			p.exited = nil
		}
		t = &task{Process: Process{PID: pid}}
		p.known[pid] = t
	}
	return t
}

// read reads /proc for a process, and reports whether it is there.
func (p *processes) read(t *task) bool {
	dir := filepath.Join(p.proc, strconv.Itoa(int(t.PID)))
	comm, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil || t.PID == 0 {
		return false
	}
	t.shared = nil
	t.Comm = strings.TrimSuffix(string(comm), "\n")
	// Reading the link takes the right to trace the process. Without it, the name has to do.
	t.Exe, _ = os.Readlink(filepath.Join(dir, "exe"))
	if cgroups, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil {
		t.Cgroup, t.ContainerID = parseCgroups(string(cgroups))
	}
	return true
}

// update learns from a record of a task. Records come in order of time.
func (p *processes) update(r *perf.Record) {
	switch r.Kind {
	case perf.Fork:
		if r.PID != r.ParentPID { // otherwise it is a thread
			delete(p.known, r.PID)
			p.task(r.PID).parent = r.ParentPID
			// The parent may be gone when this process writes.
			if parent := p.known[r.ParentPID]; parent != nil {
				t := p.task(r.PID)
				t.Comm, t.Exe, t.Cgroup, t.ContainerID = parent.Comm, parent.Exe, parent.Cgroup, parent.ContainerID
				t.looked = parent.looked
			}
		}
	case perf.Comm, perf.Exec:
		if r.TID != r.PID {
			return // a thread has a name of its own
		}
		t := p.task(r.PID)
		t.Comm, t.shared = string(r.Comm), nil
		if r.Kind == perf.Exec {
			t.Exe = ""
			t.looked = false
		}
	case perf.Exit:
		if t := p.known[r.PID]; t != nil && r.TID == r.PID && !t.ended {
			t.ended = true
			p.exited = append(p.exited, r.PID)
			p.forgetExited()
		}
	}
}

// forgetExited keeps the number of processes that are gone within bounds.
func (p *processes) forgetExited() {
	if len(p.exited) <= maxExited {
		return
	}
	half := len(p.exited) / 2
	for _, pid := range p.exited[:half] {
		if t := p.known[pid]; t != nil && t.ended { // the number may have another process since
			delete(p.known, pid)
		}
	}
	p.exited = append(p.exited[:0], p.exited[half:]...)
}
