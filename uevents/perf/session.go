package perf

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// Session has perf events on all CPUs, and the rings that the kernel writes their records into. Its methods may be
// called concurrently, but only one ReadInto or Snapshot runs at a time.
type Session struct {
	dir    *tracefs.Dir
	o      Options
	kernel kernel
	only   map[int32]bool // Options.Processes; nil means all

	attach sync.Mutex // serialises changes of descriptors, which take milliseconds; locked before mu
	// Guarded by attach:
	cpus      []cpu       // that were online when looked at last
	followers []*follower // of Follow
	free      int         // descriptors that the process may still have
	bufSize   int         // of new rings
	stopped   bool
	lostTasks uint64 // by events that were closed

	stop chan struct{} // closed to end watch

	mu sync.Mutex
	// Guarded by mu; sources and rings are changed with attach locked, too.
	closed    bool
	reading   bool
	waiting   bool       // in the kernel, with mu unlocked
	waited    *sync.Cond // signals the end of waiting
	rings     []*cpuRing
	sources   []*Source
	byID      map[uint64]*descriptor
	recent    *descriptor   // the last result of descriptorOf
	leaving   []*descriptor // disabled, with records that are not read
	detached  SourceStats   // of sources that were detached and read
	noLost    bool          // the kernel cannot count lost records by event; attach is locked, too, to change it
	ready     merge
	limit     uint64 // records up to this time are delivered
	offset    int64  // from CLOCK_MONOTONIC to the time since 1970
	last      uint64 // time of the latest record that was delivered
	late      uint64
	malformed uint64
	tasks     uint64 // records of tasks that were read
	deadline  time.Time
	flush     flushState
	stopping  bool // the kernel records nothing any more
	ended     bool // stopping, and all records are read
	scratch   []byte
	cpuErr    error // of the last CPU that came online
}

// flushState is how far a Flush has come.
type flushState uint8

const (
	noFlush flushState = iota
	flushAsked
	flushing // all rings were drained after it was asked
)

// ErrFlushed is returned by [Session.ReadInto] after it delivered all records that were written before
// [Session.Flush] was called.
var ErrFlushed = errors.New("perf: all records that were written before Flush are read")

// Open returns a session without events. fs is the tracefs that Attach and Follow look names up in.
//
// It needs no rights itself. Attach needs CAP_PERFMON, or a kernel.perf_event_paranoid of -1, and the right to
// read the event's id in tracefs. The memory of rings is limited for programs without CAP_IPC_LOCK:
// kernel.perf_event_mlock_kb for each CPU, by default room for one ring of 512 KiB, and beyond it
// RLIMIT_MEMLOCK.
//
// On systems other than Linux the error wraps [errors.ErrUnsupported].
func Open(fs *tracefs.Dir, o *Options) (*Session, error) {
	c, err := o.checked()
	if err != nil {
		return nil, fmt.Errorf("perf session: %w", err)
	}
	if fs == nil {
		return nil, fmt.Errorf("perf session: no tracefs.Dir: %w", errno.EINVAL)
	}
	k, err := newKernel(c.Cgroup)
	if err != nil {
		return nil, fmt.Errorf("perf session: %w", err)
	}
	return open(fs, c, k)
}

// open is Open with a kernel, which it closes on error.
func open(fs *tracefs.Dir, o Options, k kernel) (*Session, error) {
	s := &Session{dir: fs, o: o, kernel: k, bufSize: o.BufferSize, byID: map[uint64]*descriptor{}, stop: make(chan struct{})}
	s.waited = sync.NewCond(&s.mu)
	if o.Processes != nil {
		s.only = make(map[int32]bool, len(o.Processes))
		for _, pid := range o.Processes {
			s.only[int32(pid)] = true
		}
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("perf session: %w", err), s.Close())
	}
	go s.watch()
	return s, nil
}

func (s *Session) start() (err error) {
	s.attach.Lock()
	defer s.attach.Unlock()
	if s.cpus, err = s.kernel.online(); err != nil {
		return fmt.Errorf("looking for CPUs: %w", err)
	}
	have, limit, err := s.kernel.files()
	if err != nil {
		return fmt.Errorf("counting descriptors: %w", err)
	}
	s.free = limit - have
	mono, wall := s.kernel.clocks()
	s.offset = wall - mono
	if s.o.Tasks {
		return s.openRings("")
	}
	return nil
}

// watch looks for new events and CPUs until the session is closed.
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

// Stop ends recording: the kernel writes no records after it returns, and ReadInto returns [io.EOF] after those
// that were written. It is much faster than Close: a tool that is interrupted calls Stop, reads the rest,
// reports Stats, and closes last. It may be called more than once.
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
	s.mu.Lock()
	sources, rings := s.sources, s.rings
	s.mu.Unlock()
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

// Close detaches from all events and releases the rings with what is in them. A ReadInto that waits returns
// [os.ErrClosed], as do all later calls. The kernel takes about 30 ms for each event. Close may be called more
// than once, and from the callbacks of Follow and Snapshot.
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
	s.mu.Lock()
	sources, rings := s.sources, s.rings
	s.mu.Unlock()
	for _, src := range sources {
		disabled, err := src.retire()
		errs = append(errs, err, closeAll(disabled))
	}
	for _, r := range rings {
		lost, err := r.lostTasks()
		s.lostTasks += lost
		errs = append(errs, err, s.closeRing(r))
	}
	errs = append(errs, s.kernel.close())
	s.mu.Lock()
	s.rings, s.ready = nil, nil
	for _, src := range s.sources { // what is in rings and queues will not be read
		src.known, src.pending, src.inRings = 0, 0, 0
		s.forgetIfRead(src)
	}
	s.mu.Unlock()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing a perf session: %w", err)
	}
	return nil
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
