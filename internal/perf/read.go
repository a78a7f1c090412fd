package perf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
)

var errBusy = fmt.Errorf("perf session: another goroutine reads it: %w", errno.EBUSY)

// ReadInto waits for the next record and decodes it into r. Records of all events and CPUs come in order of time,
// within the limits of Options.Window. ReadInto does not allocate once its buffers have grown to the size of the
// records. The slices in r are valid until the next call.
//
// It returns [os.ErrDeadlineExceeded] after the deadline if no record is ready, [ErrFlushed] after Flush, [io.EOF]
// after Stop when all records are read, and [os.ErrClosed] after Close.
func (s *Session) ReadInto(r *live.Record) error {
	if s.o.Overwrite || r == nil {
		return fmt.Errorf("perf session: ReadInto needs a record, and rings that are overwritten are read by Snapshot: %w", errno.EINVAL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading {
		return errBusy
	}
	s.reading = true
	err := s.readInto(r)
	s.reading = false
	return err
}

// readInto is ReadInto of one goroutine. It unlocks mu while it waits.
func (s *Session) readInto(r *live.Record) error {
	for drained := false; ; drained = true {
		switch {
		case s.closed:
			return errClosed
		case s.deliver(r):
			return nil
		case s.flush == flushing:
			s.flush = noFlush
			return ErrFlushed
		case s.ended:
			return io.EOF
		}
		if drained {
			timeout := s.timeout()
			if timeout < 0 {
				return fmt.Errorf("perf session: %w", os.ErrDeadlineExceeded)
			}
			if err := s.wait(timeout); err != nil {
				return fmt.Errorf("waiting for records: %w", err)
			}
			if s.closed {
				return errClosed
			}
		}
		s.drain()
	}
}

// deliver decodes the oldest record that is not excluded, if it is older than the window.
func (s *Session) deliver(r *live.Record) bool {
	for {
		q := s.ready.oldest()
		if q == nil {
			return false
		}
		record := q.first
		if record == nil { // only now, since the record before was in use
			s.copy(q)
			s.malformed += s.ready.take()
			continue
		}
		if q.time > s.limit {
			return false
		}
		s.malformed += s.ready.take()
		if s.accept(record, r) {
			if r.Monotonic < s.last {
				s.late++
			}
			s.last = max(s.last, r.Monotonic)
			r.CPU, r.Time = q.cpu, time.Unix(0, int64(r.Monotonic)+s.offset)
			return true
		}
	}
}

// accept decodes and counts a record that was taken from a queue. It reports whether to deliver it.
func (s *Session) accept(record raw, r *live.Record) bool {
	var d *descriptor
	switch record.kind() {
	case typeSample:
		if d = s.descriptorOf(record); d == nil {
			s.malformed++
			return false
		}
	case typeComm, typeFork, typeExit, typeCgroup:
	default:
		return false // a count of lost records, which Stats has exactly, or a kind that was not requested
	}
	if !record.decode(&s.o, r) {
		s.malformed++
		return false
	}
	if d == nil {
		return true
	}
	r.Tag = d.source.tag
	d.read++
	if only := d.source.only; only != nil && !only[r.PID] {
		d.excluded++
		return false
	}
	return true
}

// drain looks what the rings have, and moves records to the queues, which frees the rings: all, as far as drainBudget allows. deliver moves
// the others when it has delivered those.
func (s *Session) drain() {
	s.forgetRead()
	mono, wall := s.kernel.clocks() // before the rings are read: records written later have a later time
	s.offset = wall - mono
	s.limit = uint64(max(0, mono-int64(s.o.Window)))
	if s.flush != noFlush || s.stopping || s.o.Overwrite {
		s.limit = math.MaxUint64
	}
	if s.flush == flushAsked {
		s.flush = flushing
	}
	for _, r := range s.rings {
		q := &r.queue
		if s.o.Overwrite {
			q.compact()
			r.copyBackward()
		} else {
			q.look(s.share())
			s.copy(q)
		}
		if q.first == nil {
			s.fill(q)
		}
	}
	for _, d := range s.leaving {
		d.end = min(d.end, d.ring.queue.end())
	}
	if s.stopping && s.ready.oldest() == nil {
		s.ended = true
		s.forgetRead()
	}
}

func (s *Session) share() int { return max(minShare, drainBudget/len(s.rings)) }

func (s *Session) copy(q *queue) {
	if q.copy(s.share()) {
		s.overran = true
	}
}

// fill makes a queue ready that has no record, if there is one.
func (s *Session) fill(q *queue) {
	s.malformed += q.advance()
	for q.first == nil && q.left > 0 { // the record is larger than what was copied
		s.copy(q)
		s.malformed += q.advance()
	}
	if q.first != nil {
		s.ready.add(q)
	}
}

// descriptorOf returns the descriptor of a record, or nil. It is often that of the record before.
func (s *Session) descriptorOf(record raw) *descriptor {
	id := record.id()
	if s.recent == nil || s.recent.id != id {
		s.recent = s.byID[id]
	}
	return s.recent
}

// timeout returns how long to wait for records, or a negative duration after the deadline.
func (s *Session) timeout() time.Duration {
	d := s.o.Latency
	if q := s.ready.oldest(); q != nil {
		mono, _ := s.kernel.clocks()
		due := time.Duration(int64(q.time)-mono) + s.o.Window
		d = min(d, max(due, 0))
	}
	if !s.deadline.IsZero() {
		left := time.Until(s.deadline)
		if left <= 0 {
			return -1
		}
		d = min(d, left)
	}
	return d
}

// wait waits for the kernel with mu unlocked.
func (s *Session) wait(d time.Duration) error {
	s.waiting = true
	s.mu.Unlock()
	d = min(d, time.Hour) // the kernel has 32 bits for the milliseconds
	err := s.kernel.wait(int((d + time.Millisecond - 1) / time.Millisecond))
	s.mu.Lock()
	s.waiting = false
	s.waited.Broadcast()
	return err
}

// SetDeadline sets the time until which ReadInto waits. It also applies to a call in progress. After the deadline,
// ReadInto still returns records that are ready. The zero time means no limit.
func (s *Session) SetDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	_ = s.wakeReader() // writing to an open eventfd does not fail
}

// Flush makes ReadInto return all records written before, without waiting for the end of Options.Window, and then
// ErrFlushed. Records that other CPUs are writing at that moment may come after newer ones. Flush does not wait for
// ReadInto.
func (s *Session) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.flush = flushAsked
	return s.wakeReader()
}

// Delivered returns a time of CLOCK_MONOTONIC in nanoseconds: ReadInto has returned all records that are not younger, but late ones.
func (s *Session) Delivered() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.ready.oldest(); q != nil && q.time <= s.limit {
		return q.time - 1
	}
	return s.limit
}

// wakeReader ends a wait of ReadInto.
func (s *Session) wakeReader() error {
	if s.closed || !s.waiting {
		return nil
	}
	if err := s.kernel.wake(); err != nil {
		return errors.Join(errors.New("waking the reader of a perf session"), err)
	}
	return nil
}
