package reader

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// maxWriters is how many writers of an event are tracked. With more of them, no exit is noticed.
const maxWriters = 1024

// wrote notes that a process wrote a record. The end of one in another PID namespace, which has no id, is not noticed, so it
// is not known when the last writer ends.
func (s *source) wrote(pid int32) {
	switch {
	case s.writers == nil:
	case pid == 0:
		s.writers = nil
	case pid != s.writer:
		s.writer = pid
		s.writers[pid] = true
		if len(s.writers) > maxWriters {
			s.writers = nil
		}
	}
}

// updateTasks applies the record of a task.
func (r *Reader) updateTasks() {
	rec := &r.record
	r.processes.update(rec)
	if rec.Kind == perf.Cgroup {
		return
	}
	if rec.PID != rec.TID || !r.isWriter(rec.PID) {
		return
	}
	switch {
	case rec.Kind == perf.Exec: // the process goes on, and may write the event again
		r.notify(Notice{Kind: NoticeExited, PID: rec.PID})
	case rec.Kind == perf.Exit && r.processes.hasThreads(rec.PID):
		r.leaderless[rec.PID] = 0
	case rec.Kind == perf.Exit, rec.Kind == perf.Fork && rec.PID != rec.ParentPID: // a new process has the id
		r.ended(rec.PID)
	}
}

// isWriter reports whether a process is known to write an event.
func (r *Reader) isWriter(pid int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sources {
		if s.writers[pid] {
			return true
		}
	}
	return false
}

// lookAtLeaderless notes which processes have ended since the thread that they began with did. Their last records may be unread.
func (r *Reader) lookAtLeaderless() {
	for pid, since := range r.leaderless {
		switch {
		case since == 0 && !r.processes.hasThreads(pid):
			r.leaderless[pid] = r.record.Monotonic + uint64(time.Since(r.record.Time))
		case since != 0 && since <= r.session.delivered():
			r.ended(pid)
		}
	}
}

// lookForWriters looks which of the processes that wrote events are gone, since records of exits were lost. Only those can be
// missed that /proc has shown before: it may hide processes of other users.
func (r *Reader) lookForWriters() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sources {
		for pid := range s.writers {
			if t := r.processes.known[pid]; t == nil || t.Cgroup == "" {
				continue
			}
			_, err := os.Stat(filepath.Join(r.processes.proc, strconv.Itoa(int(pid))))
			if _, known := r.leaderless[pid]; !known && errors.Is(err, fs.ErrNotExist) {
				r.leaderless[pid] = 0
			}
		}
	}
}

// ended notes that a process has ended, and detaches from events that no other writes, if it should.
func (r *Reader) ended(pid int32) {
	delete(r.leaderless, pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notifyLocked(Notice{Kind: NoticeExited, PID: pid})
	for src, s := range r.sources {
		if !s.writers[pid] {
			continue
		}
		delete(s.writers, pid)
		s.writer = 0
		if len(s.writers) > 0 || !isUserEvents(s.event.System()) || !r.attachedAs(s)[s.name] {
			continue
		}
		r.notifyLocked(Notice{Kind: NoticeEnded, Event: s.name})
		if r.o.DetachAtExit && !r.closed {
			delete(r.attachedAs(s), s.name) // the session may attach to it again once it is detached
			r.background.Add(1)
			go r.release(src, s.event)
		}
	}
}

// release detaches from an event whose programs have exited, so that a program can register it with other fields. The
// session attaches again if the event reappears or stays.
func (r *Reader) release(src *perf.Source, e *tracefs.Event) {
	defer r.background.Done()
	err := r.session.detach(src)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sources[src]; s != nil {
		s.gone = true
	}
	r.notifyLocked(Notice{Kind: NoticeDetached, Event: e.String(), Err: err})
}
