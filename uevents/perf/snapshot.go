package perf

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
)

// Snapshot calls f with each record in the rings that no earlier Snapshot has read, of all events and CPUs in order of
// time. It requires Options.Overwrite. Records are valid during the call of f, which may call all methods of the
// session except Snapshot. If f returns an error, Snapshot returns it, and drops the remaining records.
//
// The kernel writes no records while Snapshot copies the rings, about 100 us for each MiB; records of that time count
// as lost.
func (s *Session) Snapshot(f func(*Record) error) error {
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
	var r Record
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
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case s.reading:
		return errBusy
	}
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.owner.pause(true))
	}
	mono, wall := s.kernel.clocks()
	s.offset = wall - mono
	for _, r := range s.rings {
		r.copyBackward()
	}
	for _, src := range s.sources {
		live, err := src.readCounts()
		errs = append(errs, err)
		total := src.total(live)
		src.before = total.Matched - total.Lost
	}
	for _, r := range s.rings {
		errs = append(errs, r.owner.pause(false))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.ready = s.ready[:0]
	for _, r := range s.rings {
		if s.malformed += r.queue.advance(); r.queue.first != nil {
			s.ready = append(s.ready, &r.queue)
		}
	}
	heap.Init(&s.ready)
	for _, d := range s.byID {
		d.pending, d.source.pending = 0, 0
	}
	for _, r := range s.rings {
		s.countQueued(r.queue.buf)
	}
	for _, d := range s.leaving {
		d.drained = true
	}
	s.reading = true
	return nil
}

// minOverwrite is the smallest size of an overwritten ring.
const minOverwrite = 64 << 10

// unsafePart is the size at the oldest end of an overwritten ring to which an interrupted writer may still write after
// the ring is paused: one record for each context. Records of tracepoints are at most 8 KiB (PERF_MAX_TRACE_SIZE).
const unsafePart = minOverwrite / 4

// copyBackward copies the records since the last call to the queue, oldest first. The kernel writes backward: each
// record precedes the older one, and head, which counts down from 0, is at the newest.
func (r *cpuRing) copyBackward() {
	head := r.ring.head.Load()
	b := r.ring.appendRange(nil, head, min(distance(head, r.seen), uint64(len(r.ring.data)-unsafePart)))
	r.seen = head
	var records []raw
	for len(b) > 0 {
		var record raw
		if record, b = next(b); record == nil {
			break // the rest of an overwritten record
		}
		records = append(records, record)
	}
	r.queue = queue{cpu: r.cpu}
	for _, record := range slices.Backward(records) {
		r.queue.buf = append(r.queue.buf, record...)
	}
}

// nextOfSnapshot decodes the next record. After the last one, it removes descriptors without records.
func (s *Session) nextOfSnapshot(r *Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := s.ready.oldest(); q != nil; q = s.ready.oldest() {
		record := q.first
		s.malformed += s.ready.take()
		if s.accept(record, r) {
			r.CPU, r.Time = q.cpu, time.Unix(0, int64(r.Monotonic)+s.offset)
			return true
		}
	}
	for _, src := range s.sources {
		// Not a sum of differences: a record that is being written may be counted now, and be read by the next
		// snapshot.
		src.overwritten = src.before - min(src.before, src.read+src.duplicates)
	}
	s.forgetRead()
	return false
}
