package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
)

// Reader reads the records of events while programs write them, in order of time, and decodes them. [Open] creates it.
// One goroutine calls Next, NextUndecoded, Events and CheckNotices; the other methods may be called concurrently.
type Reader struct {
	dir      *tracefs.Dir
	o        Options
	source   source        // kernel, memory, or both
	kernel   kernelSession // nil if the kernel's events are not read
	memory   memorySession // nil if shared memory is not read
	selects  sync.Mutex    // serialises Select; locked before mu
	selected atomic.Pointer[selections]

	// Set before events are attached:
	errorRings bool // errors have rings of their own
	most       int  // events of the kernel that may be attached; 0 means any number
	// fewDescriptors reports that most is what the limit of descriptors allows.
	fewDescriptors bool
	noTexts        bool   // the kernel's filters compare numbers only
	limits         bool   // Options.Limit or ProgramLimit is set
	cgroup         string // path of Options.Cgroup, as processes have it

	mu sync.Mutex
	// Guarded by mu:
	events   map[*event]bool   // of whose records some may be unread
	attached map[string]*event // of the kernel, by name; also those that are being attached
	leaving  map[string]bool   // names of those that are being detached
	rests    int               // events that are attached a second time: see divide
	follows  bool              // the session follows user events
	never    map[string]bool   // names of events none of whose records are selected
	opened   bool
	closed   bool
	leftOut  map[string]leftOut // by name, events for which there was no room
	deadline time.Time          // set by the caller
	tickAt   time.Time          // when Next checks the counts again
	resumeAt time.Time          // when Next attaches to events again that have reached Options.Limit or ProgramLimit; zero if there are none

	interrupted atomic.Bool   // Next returns at once; changes hold mu
	taken       atomic.Uint64 // records that are selected
	unselected  atomic.Uint64
	copies      atomic.Uint64
	undecodable atomic.Uint64
	final       atomic.Pointer[live.Stats] // counts of the last look at losses, after io.EOF

	notices    notices
	background sync.WaitGroup

	// Used by Next only:
	record    live.Record
	processes *processes
	originals record.Copies // used by the goroutine that decodes
	// noMainThread are the processes that wrote events and have no main thread, or are exiting, with the time from which
	// on they are known to have exited, or 0.
	noMainThread map[int32]uint64
	lost         losses
	lostTasks    uint64 // records of tasks, at the last look at losses
	reads        int
	drained      bool // io.EOF was seen
}

// tickInterval is the interval of checks for lost records.
const tickInterval = time.Second

// Next waits for the next selected record and decodes it into rec. A record that cannot be decoded is of KindOther, has no
// fields but Raw, and is counted in Stats.
//
// It returns [os.ErrDeadlineExceeded] after the deadline when no record is ready, or, about once a second, when those that
// are ready are not selected; [io.EOF] after Stop when all is read, and [os.ErrClosed] after Close. Options.Notify is
// called before it returns and while it waits.
func (r *Reader) Next(rec *record.Record) error {
	if rec == nil {
		return fmt.Errorf("reader: Next needs a record: %w", fs.ErrInvalid)
	}
	for skipped := false; ; skipped = true {
		rd, process, err := r.read(skipped)
		if err != nil || r.take(rec, rd, process) {
			return err
		}
	}
}

// read waits for the next record of an event. skipped is that the one before was not selected.
func (r *Reader) read(skipped bool) (*reading, *record.Process, error) {
	for ; ; skipped = true {
		now, looked := time.Time{}, false
		if r.reads++; r.reads%256 == 0 {
			now = time.Now()
			looked = r.look(now)
			r.resume(now)
		}
		if r.notices.some.Load() {
			r.deliverNotices()
		}
		if skipped && (looked && r.overdue(now) || r.interrupted.Load()) {
			return nil, nil, os.ErrDeadlineExceeded
		}
		err := r.source.ReadInto(&r.record)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			now := time.Now()
			r.look(now)
			r.resume(now)
			r.deliverNotices()
			if r.overdue(now) {
				return nil, nil, err
			}
			continue
		case errors.Is(err, io.EOF) && !r.drained:
			r.drained = true
			r.lookAtLosses()
			r.deliverNotices()
			return nil, nil, err
		default:
			return nil, nil, err
		}
		if r.record.Kind != live.Sample {
			r.updateTasks()
			continue
		}
		return r.note()
	}
}

// note notes who wrote the record, and returns how it is read, and its process.
func (r *Reader) note() (*reading, *record.Process, error) {
	rec := &r.record
	e := rec.Tag.(*event)
	rd := e.reading.Load() // once, as Select may change it meanwhile
	if rd == nil {
		var err error
		if rd, err = r.readingOf(e); err != nil {
			return nil, nil, err
		}
	}
	e.wrote(rec.PID)
	writer := e.task
	if writer == nil {
		writer = r.processes.get(rec.PID)
		if rec.CgroupID != writer.cgroup && rec.CgroupID != 0 && r.processes.cgroups != nil {
			r.processes.in(writer, rec.CgroupID)
		}
	}
	if r.limits {
		r.limit(e, rec, writer)
	}
	return rd, writer.at(rec.Monotonic, r.processes.contexts), nil
}

// take decodes the record, counts it, and reports whether it is selected.
func (r *Reader) take(rec *record.Record, rd *reading, process *record.Process) bool {
	var err error
	if r.o.Reuse {
		err = rd.decoder.DecodeReuse(r.record.Raw, rec)
	} else {
		err = rd.decoder.Decode(r.record.Raw, rec)
	}
	recorded(rec, &r.record, process)
	if !r.o.Reuse {
		rec.Callchain = slices.Clone(rec.Callchain)
	}
	selected, isCopy := rd.wants(rec)
	r.count(selected, isCopy, err)
	return selected
}

// count counts a decoded record. The compiler inlines it.
func (r *Reader) count(selected, isCopy bool, err error) {
	switch {
	case selected:
		r.taken.Add(1)
	case isCopy:
		r.copies.Add(1)
	default:
		r.unselected.Add(1)
	}
	if err != nil {
		r.undecodable.Add(1)
	}
}

func (r *Reader) deliverNotices() {
	for _, n := range r.notices.take() {
		if r.o.Notify != nil {
			r.o.Notify(n)
		}
	}
}

// SetDeadline sets the time until which Next waits. It also applies to a call in progress. After the deadline, Next
// still returns records that are ready. The zero time means no limit.
func (r *Reader) SetDeadline(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = t
	r.setDeadline()
}

// setDeadline makes the session wait until the caller's deadline or the next check for lost records.
func (r *Reader) setDeadline() {
	at := r.tickAt
	if r.interrupted.Load() {
		at = time.Unix(0, 0)
	} else if !r.deadline.IsZero() && r.deadline.Before(at) {
		at = r.deadline
	}
	if !r.resumeAt.IsZero() && r.resumeAt.Before(at) {
		at = r.resumeAt
	}
	r.source.SetDeadline(at)
}

func (r *Reader) overdue(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.interrupted.Load() || !r.deadline.IsZero() && !now.Before(r.deadline)
}

// AttachProcess attaches at once to the events that a process offers in shared memory, rather than at the next Options.Poll, and also if
// Selection.Processes does not have it. It may be called concurrently.
func (r *Reader) AttachProcess(pid int) {
	if r.memory != nil {
		r.memory.AttachProcess(pid)
	}
}

// Stop ends recording. Next returns the records written before, and then [io.EOF]. It is much faster than Close: an
// interrupted tool calls Stop, reads the rest, reports Stats, and closes last. It may be called more than once.
func (r *Reader) Stop() error { return r.source.Stop() }

// Close detaches from all events, which takes the kernel about 30 ms for each. Next returns [os.ErrClosed]. It may be
// called more than once.
func (r *Reader) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.mu.Unlock()
	err := r.source.Close()
	r.background.Wait()
	return err
}

// Events returns the records that Next returns, each in an Event of its own, which the caller may keep; with
// Options.Reuse all are in one Event. It ends when ctx is done, after Stop when all is read, and after Close. Any other
// error, such as [os.ErrDeadlineExceeded], is the last element.
//
// [Reader.Next] is for callers that act when no record is ready, at a deadline, or that choose the Event to decode into.
func (r *Reader) Events(ctx context.Context) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			r.interrupt(true)
			close(interrupted)
		})
		defer func() {
			if !stop() {
				<-interrupted
				r.interrupt(false)
			}
		}()
		for ev := new(record.Record); ctx.Err() == nil; {
			switch err := r.Next(ev); {
			case err == nil:
				if !yield(ev, nil) {
					return
				}
				if !r.o.Reuse {
					ev = new(record.Record)
				}
			case ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
				return
			default:
				yield(nil, err)
				return
			}
		}
	}
}

// interrupt makes Next return at once, also if it waits, or as usual again.
func (r *Reader) interrupt(now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupted.Store(now)
	r.setDeadline()
}

// Snapshot calls f with each selected record in the rings that no earlier Snapshot has read, in order of time. It
// requires [ReadSnapshot], and replaces Next. Each event is in an Event of its own, which f may keep; with
// Options.Reuse all are in one Event. If f returns an error, Snapshot returns it, and drops the remaining records.
//
// Programs write meanwhile, and lose nothing: the next Snapshot reads their new records.
func (r *Reader) Snapshot(f func(*record.Record) error) error {
	if f == nil {
		return fmt.Errorf("reader: Snapshot needs a function: %w", fs.ErrInvalid)
	}
	r.deliverNotices()
	ev := new(record.Record)
	return r.source.Snapshot(func(rec *live.Record) error {
		r.record = *rec
		if rec.Kind != live.Sample {
			r.updateTasks()
			return nil
		}
		rd, process, err := r.note()
		if err != nil || !r.take(ev, rd, process) {
			return err
		}
		taken := ev
		if !r.o.Reuse {
			ev = new(record.Record)
		}
		return f(taken)
	})
}

// recorded sets what the kernel recorded.
func recorded(ev *record.Record, rec *live.Record, process *record.Process) {
	ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID = rec.Time, rec.Monotonic, rec.CPU, rec.PID, rec.TID
	ev.CgroupID, ev.Callchain, ev.Process = rec.CgroupID, rec.Callchain, process
}
