package perf

import (
	"fmt"
	"slices"

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
func (s *Session) nextOfSnapshot(r *Record) bool {
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
