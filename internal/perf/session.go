package perf

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// Session holds perf events on all CPUs, and the rings for their records. Its methods may be called concurrently, but
// only one ReadInto or Snapshot runs at a time.
type Session struct {
	dir    *tracefs.Dir
	o      Options
	kernel kernel

	attach sync.Mutex // serialises changes of descriptors, which take milliseconds; locked before mu
	// Guarded by attach:
	cpus      []cpu             // online at the last poll
	followers []*follower       // registered by Follow
	free      int               // descriptors that the process may still open
	named     map[string]*rings // by AttachOptions.Ring
	stopped   bool
	lostTasks uint64 // of closed events

	again atomic.Uint64 // calls of AskAgain
	stop  chan struct{} // closed to stop watch

	mu sync.Mutex
	// Guarded by mu; changes of sources and rings also hold attach.
	closed    bool
	reading   bool
	waiting   bool       // in the kernel, with mu unlocked
	waited    *sync.Cond // signals the end of waiting
	rings     []*cpuRing // of all names
	sources   []*Source  // that are not completely read
	byID      map[uint64]*descriptor
	recent    *descriptor   // the last result of descriptorOf
	leaving   []*descriptor // disabled, with unread records
	detached  live.Counts   // of sources that were detached and completely read
	kept      int           // number of those that are kept for their losses
	noLost    bool          // the kernel cannot count lost records by event; changes also hold attach
	ready     merge
	limit     uint64 // records up to this time are delivered
	offset    int64  // from CLOCK_MONOTONIC to the time since 1970
	last      uint64 // time of the latest delivered record
	late      uint64
	malformed uint64
	deadline  time.Time
	flush     flushState
	stopping  bool  // the kernel records nothing more
	ended     bool  // stopping, and all records are read
	overran   bool  // records may have been lost since the last Overran
	cpuErr    error // of the last CPU that came online
}

type flushState uint8

const (
	noFlush flushState = iota
	flushAsked
	flushing // all rings were drained after the request
)

// ErrFlushed reports that all records written before [Session.Flush] are read. [Session.ReadInto] returns it after
// these records.
var ErrFlushed = errors.New("perf: all records that were written before Flush are read")

// Open returns a session without events. fs is the tracefs in which Attach and Follow find events.
//
// Open itself needs no permission. Attach needs CAP_PERFMON, or a kernel.perf_event_paranoid of -1, and permission to
// read the event's id in tracefs. Where that sysctl is above 2, kernels of Debian and Ubuntu ask for CAP_SYS_ADMIN in place of
// CAP_PERFMON. Without CAP_IPC_LOCK, the memory of rings is limited to kernel.perf_event_mlock_kb
// for each CPU, by default one ring of 512 KiB, plus RLIMIT_MEMLOCK.
//
// On systems other than Linux the error wraps [errors.ErrUnsupported].
func Open(fs *tracefs.Dir, o *Options) (*Session, error) {
	c := o.withDefaults()
	k, err := newKernel(c.Cgroup)
	if err != nil {
		return nil, fmt.Errorf("perf session: %w", err)
	}
	return open(fs, c, k)
}

// open is Open with a kernel, which it closes on error.
func open(fs *tracefs.Dir, o Options, k kernel) (*Session, error) {
	s := &Session{dir: fs, o: o, kernel: k, named: map[string]*rings{}, byID: map[uint64]*descriptor{}, stop: make(chan struct{})}
	s.waited = sync.NewCond(&s.mu)
	var err error
	if s.cpus, err = k.online(); err != nil {
		err = fmt.Errorf("looking for CPUs: %w", err)
	} else if s.free, err = k.files(); err != nil {
		err = fmt.Errorf("counting descriptors: %w", err)
	} else if o.Tasks {
		err = s.openRings("")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("perf session: %w", err), s.Close())
	}
	go s.watch()
	return s, nil
}

// watch polls for new events and CPUs until the session is closed.
func (s *Session) watch() {
	ticker := time.NewTicker(s.o.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.look()
		}
	}
}

// look polls for new CPUs and events, which the kernel does not report.
func (s *Session) look() {
	s.lookAtCPUs()
	s.follow()
}

// Stop ends recording: after it returns, the kernel writes no records. ReadInto returns the records written before, and
// then [io.EOF]. Stop is much faster than Close: an interrupted tool calls Stop, reads the rest, reports Stats, and
// closes last. Snapshot works after Stop. The events stay enabled, and programs make records, until Close. Stop may be called more
// than once.
func (s *Session) Stop() error {
	s.attach.Lock()
	defer s.attach.Unlock()
	if s.isClosed() {
		return errClosed
	}
	if s.stopped {
		return nil
	}
	s.stopped = true
	var errs []error
	sources, rings := s.lists()
	for _, src := range sources {
		errs = append(errs, src.stop())
	}
	for _, r := range rings {
		if r.tasks != nil {
			errs = append(errs, r.tasks.enable(false))
		}
	}
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	errs = append(errs, s.kernel.wake())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping a perf session: %w", err)
	}
	return nil
}

// Close detaches from all events and frees the rings with their records. A waiting ReadInto and all later calls return
// [os.ErrClosed]. The kernel takes about 30 ms for each event. Close may be called more than once, and from the
// callbacks of Follow and Snapshot.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.stop)
	errs := []error{s.kernel.wake()}
	for s.waiting {
		s.waited.Wait()
	}
	s.mu.Unlock()

	s.attach.Lock()
	defer s.attach.Unlock()
	sources, rings := s.lists()
	for _, src := range sources {
		errs = append(errs, src.end(), src.close())
	}
	for _, r := range rings {
		lost, err := r.lostTasks()
		s.lostTasks += lost
		errs = append(errs, err, s.closeRing(r))
	}
	errs = append(errs, s.kernel.close())
	s.mu.Lock()
	for _, d := range s.leaving { // their records in rings and queues remain unread
		s.forget(d)
	}
	s.rings, s.ready, s.leaving = nil, nil, nil
	s.mu.Unlock()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing a perf session: %w", err)
	}
	return nil
}

// check returns an error if the session attaches to nothing any more.
func (s *Session) check() error {
	switch {
	case s.isClosed():
		return errClosed
	case s.stopped:
		return errStopped
	}
	return nil
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Snapshot calls f with each record in the rings that no earlier Snapshot has read, of all events and CPUs in order of
// time. It requires Options.Overwrite. Records are valid during the call of f, which may call all methods of the
// session except Snapshot. If f returns an error, Snapshot returns it, and drops the remaining records.
//
// Programs write meanwhile, and lose nothing: their new records are read by the next Snapshot. They may be older than
// some that this one has read from other CPUs.
func (s *Session) Snapshot(f func(*live.Record) error) error {
	if !s.o.Overwrite || f == nil {
		return fmt.Errorf("perf session: Snapshot needs Options.Overwrite and a function: %w", errno.EINVAL)
	}
	if err := s.copyRings(); err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	defer func() {
		s.mu.Lock()
		s.reading = false
		s.mu.Unlock()
	}()
	var r live.Record
	var stopped error
	for s.nextOfSnapshot(&r) {
		if stopped == nil {
			stopped = f(&r)
		}
	}
	return stopped
}

// copyRings copies all rings to their queues, and marks the session as being read.
func (s *Session) copyRings() error {
	s.attach.Lock()
	defer s.attach.Unlock()
	sources, _ := s.lists()
	for _, src := range sources { // before the rings: of what is written since then, nothing is overwritten
		if err := src.readCounts(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case s.reading:
		return errBusy
	}
	s.reading = true
	for _, d := range s.byID {
		d.written = d.counts.Matched - d.counts.Lost
	}
	s.drain()
	return nil
}

// copyBackward copies the records since the last call to the queue, oldest first.
func (r *cpuRing) copyBackward() {
	var b []byte
	b, r.seen = r.queue.ring.newest(nil, r.seen)
	var records []raw
	for record, rest := next(b); record != nil; record, rest = next(rest) { // the last one may be partly overwritten
		records = append(records, record)
	}
	for _, record := range slices.Backward(records) {
		r.queue.buf = append(r.queue.buf, record...)
	}
}

// nextOfSnapshot decodes the next record. After the last one, it counts those that were overwritten.
func (s *Session) nextOfSnapshot(r *live.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deliver(r) {
		return true
	}
	for _, d := range s.byID {
		// Not a sum of differences: a record that is being written may be counted now, and be read by the next
		// snapshot.
		d.overwritten = d.written - min(d.written, d.read)
	}
	s.forgetRead()
	return false
}
