package perf

import (
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
// Programs write meanwhile, and lose nothing: their new records are read by the next Snapshot. They may be older than
// some that this one has read from other CPUs.
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
	sources, _ := s.lists()
	var errs []error
	for _, src := range sources { // before the rings are read: what is written since then may come with the next snapshot
		errs = append(errs, src.readCounts())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case s.reading:
		return errBusy
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.lookAtClocks()
	for _, d := range s.byID {
		d.written = d.counts.Matched - d.counts.Lost
	}
	for _, r := range s.rings {
		r.copyBackward()
		s.malformed += s.ready.add(&r.queue)
	}
	s.endLeaving()
	s.reading = true
	return nil
}

// copyBackward copies the records since the last call to the queue, oldest first.
func (r *cpuRing) copyBackward() {
	var b []byte
	b, r.seen = r.ring.newest(nil, r.seen)
	var records []raw
	for len(b) > 0 {
		var record raw
		if record, b = next(b); record == nil {
			break // the rest of an overwritten record
		}
		records = append(records, record)
	}
	q := &r.queue
	q.compact()
	for _, record := range slices.Backward(records) {
		q.buf = append(q.buf, record...)
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
	for _, d := range s.byID {
		// Not a sum of differences: a record that is being written may be counted now, and be read by the next
		// snapshot.
		d.overwritten = d.written - min(d.written, d.read)
	}
	s.forgetRead()
	return false
}
