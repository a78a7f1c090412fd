package reader

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/cgroup"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/record"
)

const (
	maxProcesses = 32768 // tracked at a time
	maxExited    = 4096  // of these, exited ones, whose last records may be unread
	maxAncestors = 16    // searched for inherited names
)

// processes tracks the processes of a machine. It learns from the records of tasks, and reads /proc for the rest. It is
// not safe for concurrent use.
type processes struct {
	proc     string // the directory /proc
	contexts *contexts
	cgroups  *cgroups // nil without Options.CgroupID
	known    map[int32]*task
	exited   []int32 // in order of time
	recent   *task   // of the last call of get; nil after a change
}

// task is the known state of a process.
type task struct {
	record.Process

	parent int32  // 0 if unknown
	looked bool   // /proc was asked
	read   bool   // it had the process
	cgroup uint64 // id of the one in which it wrote the last record; 0 if that is not known
	ended  bool
	asked  bool            // its events were attached by Reader.AttachProcess
	shared *record.Process // the copy that callers have; nil after a change
	used   usage           // with Options.ProgramLimit
	events int             // that had their first record of the second from it

	context contextLook
}

// at returns the process at the time of a record. It looks for its context when that is due. The compiler inlines the case in which
// it is not.
func (t *task) at(now uint64, c *contexts) *record.Process {
	if now < t.context.at && t.shared != nil {
		return t.shared
	}
	return t.look(now, c)
}

func (t *task) look(now uint64, c *contexts) *record.Process {
	if t.context.at != math.MaxUint64 && t.context.due(now) && c.give(t) {
		t.shared = nil
	}
	if t.shared == nil {
		t.shared = t.copied()
	}
	return t.shared
}

func (t *task) copied() *record.Process {
	shared := t.Process
	return &shared
}

func newProcesses(proc string) *processes {
	return &processes{proc: proc, contexts: newContexts(proc), known: map[int32]*task{}}
}

// readAll reads /proc for all running processes, which may have exited when their records are read.
func (p *processes) readAll() {
	entries, err := os.ReadDir(p.proc)
	if err != nil {
		return // unknown values stay empty
	}
	for _, e := range entries {
		if pid, err := strconv.ParseInt(e.Name(), 10, 32); err == nil && pid > 0 && len(p.known) < maxProcesses/2 {
			t := p.task(int32(pid))
			t.looked = p.read(t)
		}
	}
}

// get returns a process at the time of a record. It reads /proc once for each. The compiler inlines the case of the same process.
func (p *processes) get(pid int32) *task {
	if t := p.recent; t != nil && t.PID == pid {
		return t
	}
	return p.other(pid)
}

func (p *processes) other(pid int32) *task {
	p.recent = p.resolve(pid, 0)
	return p.recent
}

// resolve reads /proc for a process. A process that has exited gets the names that it inherited from its parent.
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
	if t.Comm == "" { // else a record of its exec has the name
		t.Comm, t.Exe = parent.Comm, parent.Exe
	}
	t.setCgroup(parent.Process)
	t.cgroup = 0
	return t
}

// task returns the entry of a process, and adds it if it is missing.
func (p *processes) task(pid int32) *task {
	t := p.known[pid]
	if t == nil {
		if len(p.known) >= maxProcesses {
			// Records of exits were lost, or there are very many processes: start over, /proc lists the running ones.
			for other := range p.known {
				p.forget(other)
			}
			p.exited = nil
		}
		t = &task{Process: record.Process{PID: pid}}
		p.known[pid] = t
	}
	return t
}

// read reads /proc for a process, and reports whether it exists.
func (p *processes) read(t *task) bool {
	dir := filepath.Join(p.proc, strconv.Itoa(int(t.PID)))
	comm, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil || t.PID == 0 {
		return false
	}
	t.shared, t.read, t.cgroup = nil, true, 0
	t.Comm = strings.TrimSuffix(string(comm), "\n")
	// Reading the link needs permission to trace the process. Without it, Exe stays empty.
	t.Exe, _ = sys.Executable(dir)
	if cgroups, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil {
		n := cgroup.Parse(string(cgroups))
		t.setCgroup(record.Process{Cgroup: n.Path, Unit: n.Unit, ContainerID: n.ContainerID, PodUID: n.PodUID})
	}
	return true
}

func (t *task) setCgroup(of record.Process) {
	t.Cgroup, t.Unit, t.ContainerID, t.PodUID = of.Cgroup, of.Unit, of.ContainerID, of.PodUID
}

// hasThreads reports whether a process has other threads than the one that it began with. The kernel reports the exit of
// that one while the others may run on.
func (p *processes) hasThreads(pid int32) bool {
	own := strconv.Itoa(int(pid))
	threads, err := os.ReadDir(filepath.Join(p.proc, own, "task"))
	return err == nil && slices.ContainsFunc(threads, func(t os.DirEntry) bool { return t.Name() != own })
}

// update applies a record of a task. Records come in order of time.
func (p *processes) update(r *live.Record) {
	if r.Kind == live.Cgroup {
		p.made(r)
		return
	}
	if r.PID == 0 {
		return // it is in another PID namespace: all of these have the id 0
	}
	p.recent = nil
	switch r.Kind {
	case live.Fork:
		if r.PID != r.ParentPID { // else it is a thread
			p.forget(r.PID)
			p.task(r.PID).parent = r.ParentPID
			// The parent may have exited when this process writes.
			if parent := p.known[r.ParentPID]; parent != nil {
				t := p.task(r.PID)
				t.Comm, t.Exe = parent.Comm, parent.Exe
				t.setCgroup(parent.Process)
				t.looked = parent.looked // its own cgroup may be another one: a record says so
			}
		}
	case live.Comm, live.Exec:
		if r.TID != r.PID {
			return // a thread has a name of its own
		}
		t := p.task(r.PID)
		t.Comm, t.shared = string(r.Comm), nil
		if r.Kind == live.Exec {
			p.contexts.release(t)
			t.Exe, t.ServiceName, t.ResourceJSON = "", "", ""
			t.context = contextLook{}
			t.looked, t.read, t.cgroup = false, false, 0
		}
	case live.Exit:
		if t := p.known[r.PID]; t != nil && r.TID == r.PID && !t.ended {
			t.ended = true
			p.exited = append(p.exited, r.PID)
			p.forgetExited()
		}
	}
}

// forget removes the entry of a process, if there is one.
func (p *processes) forget(pid int32) {
	if t := p.known[pid]; t != nil {
		p.contexts.release(t)
		delete(p.known, pid)
	}
}

func (p *processes) forgetExited() {
	if len(p.exited) <= maxExited {
		return
	}
	half := len(p.exited) / 2
	for _, pid := range p.exited[:half] {
		if t := p.known[pid]; t != nil && t.ended { // else a new process has the id
			p.forget(pid)
		}
	}
	p.exited = append(p.exited[:0], p.exited[half:]...)
}

func (r *Reader) updateTasks() {
	rec := &r.record
	r.processes.update(rec)
	if rec.Kind == live.Cgroup {
		return
	}
	if rec.PID != rec.TID || !r.isWriter(rec.PID) {
		return
	}
	switch {
	case rec.Kind == live.Exec: // the process goes on, and may write the event again
		r.notices.add(Notice{Kind: NoticeExited, PID: rec.PID})
	case rec.Kind == live.Exit && r.processes.hasThreads(rec.PID):
		r.noMainThread[rec.PID] = 0
	case rec.Kind == live.Exit, rec.Kind == live.Fork && rec.PID != rec.ParentPID: // a new process has the id
		r.ended(rec.PID)
	}
}

// isWriter reports whether a process is known to write an event.
func (r *Reader) isWriter(pid int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := range r.events {
		if e.writers[pid] {
			return true
		}
	}
	return false
}

// lookAtLeaderless notes which processes have ended since the thread that they began with did. Their last records may be unread.
func (r *Reader) lookAtLeaderless() {
	for pid, since := range r.noMainThread {
		switch {
		case since == 0 && !r.processes.hasThreads(pid):
			r.noMainThread[pid] = r.record.Monotonic + uint64(time.Since(r.record.Time))
		case since != 0 && since <= r.source.Delivered():
			r.ended(pid)
		}
	}
}

// lookForWriters looks which of the processes that wrote events are gone, since records of exits were lost. Only those can be
// missed that /proc has shown before: it may hide processes of other users.
func (r *Reader) lookForWriters() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := range r.events {
		for pid := range e.writers {
			if t := r.processes.known[pid]; t == nil || t.Cgroup == "" {
				continue
			}
			_, err := os.Stat(filepath.Join(r.processes.proc, strconv.Itoa(int(pid))))
			if _, known := r.noMainThread[pid]; !known && errors.Is(err, fs.ErrNotExist) {
				r.noMainThread[pid] = 0
			}
		}
	}
}

// ended notes that a process has ended, and detaches from events that no other writes, if it should.
func (r *Reader) ended(pid int32) {
	delete(r.noMainThread, pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices.add(Notice{Kind: NoticeExited, PID: pid})
	for e := range r.events {
		if !e.writers[pid] {
			continue
		}
		delete(e.writers, pid)
		e.writer = 0
		if len(e.writers) > 0 || !isUserEvents(e.tracepoint.System()) || r.attached[e.name] != e {
			continue
		}
		r.notices.add(Notice{Kind: NoticeNoWriter, Event: e.name})
		if r.o.DetachAtExit && !r.closed && e.first != nil {
			r.leave(e)
		}
	}
}
